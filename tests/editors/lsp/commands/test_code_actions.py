"""Code actions as editors ask for them: by kind, by themselves, with the diagnostics of any other server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.editors.lsp.commands.code_actions import MAX_FIXES, MAX_TITLE_CHARS
from tests.editors.lsp.editor import Editor, Setup, connected
from tests.fakes import say

CODE = "import math\n# pygent: make this exact\nr = 2\nx = 3.14 * r * r\n"

INVOKED, AUTOMATIC = 1, 2


def span(start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": start, "character": 0}, "end": {"line": end, "character": 0}}


def problem(line: int = 3, message: str = "pi is not 3.14", **more: object) -> dict[str, Any]:
    return {"range": span(line, line), "message": message, **more}


@pytest.fixture
def source(folder: Path) -> Path:
    path = folder / "app.py"
    path.write_text(CODE)
    return path


async def offered(editor: Editor, path: Path, start: int = 0, end: int = 4, **context: object) -> list[dict[str, Any]]:
    params = {"textDocument": {"uri": path.as_uri()}, "range": span(start, end)}
    return await editor.request("textDocument/codeAction", {**params, "context": {"diagnostics": [], **context}})


def write(path: Path, text: str) -> None:
    path.write_text(text)


def titles(actions: list[dict[str, Any]]) -> list[str]:
    return [each["title"].split(" with pygent")[0] for each in actions]


SELECTION = ["Explain", "Write tests", "Document", "Refactor"]


# Kinds


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (None, ["Fix", "Run pygent comment: make this exact", *SELECTION]),
        ([], ["Fix", "Run pygent comment: make this exact", *SELECTION]),
        ([""], ["Fix", "Run pygent comment: make this exact", *SELECTION]),
        (["", "quickfix", "refactor.extract", "source"], ["Fix", "Run pygent comment: make this exact", *SELECTION]),
        (["quickfix"], ["Fix", "Run pygent comment: make this exact"]),
        ("quickfix", ["Fix", "Run pygent comment: make this exact"]),
        (["refactor"], SELECTION),
        (["refactor.rewrite"], []),
        (["source.fixAll"], []),
        (["source.organizeImports", "source"], []),
        (["quick"], []),
    ],
    ids=str,
)
async def test_only_what_is_wanted_is_offered(folder: Path, source: Path, only: object, expected: list[str]) -> None:
    async with connected(folder) as editor:
        assert titles(await offered(editor, source, only=only, diagnostics=[problem()])) == expected


async def test_an_editor_that_looks_by_itself_is_not_told_that_a_selection_is_one(folder: Path, source: Path) -> None:
    async with connected(folder) as editor:
        found = await offered(editor, source, triggerKind=AUTOMATIC, diagnostics=[problem()])
        assert titles(found) == ["Fix", "Run pygent comment: make this exact"]
        assert await offered(editor, source, 2, 3, triggerKind=AUTOMATIC) == []
        assert titles(await offered(editor, source, 2, 3, triggerKind=INVOKED)) == SELECTION
        assert titles(await offered(editor, source, 2, 3, triggerKind=AUTOMATIC, only=["refactor"])) == SELECTION


async def test_nothing_is_preferred_since_editors_carry_that_out_unasked(folder: Path, source: Path) -> None:
    async with connected(folder) as editor:
        found = await offered(editor, source, diagnostics=[problem()])

    assert [each.get("isPreferred", False) for each in found] == [False] * 6


# Titles


async def test_a_title_is_one_bounded_line_whatever_a_checker_says(folder: Path, source: Path) -> None:
    message = "bad\n\x1b[31mred \u202e" + "x" * 100_000
    async with connected(folder) as editor:
        (fix,) = await offered(editor, source, 3, 3, diagnostics=[problem(message=message)])

    assert fix["title"].startswith("Fix with pygent: bad \\x1b[31mred \\u202exxx")
    assert fix["title"].endswith("x…")
    assert len(fix["title"]) == len("Fix with pygent: ") + MAX_TITLE_CHARS
    assert fix["command"]["title"] == fix["title"]


async def test_each_title_is_there_once_since_editors_choose_by_it(folder: Path, source: Path) -> None:
    found = [problem(2), problem(3), problem(2), problem(3, source="another checker"), problem(0, "other")]
    async with connected(folder) as editor:
        offers = await offered(editor, source, 3, 3, diagnostics=found)

    assert [each["title"] for each in offers] == [
        "Fix with pygent: pi is not 3.14",
        "Fix with pygent: pi is not 3.14 (line 4, column 1)",
        "Fix with pygent: pi is not 3.14 (line 3, column 1)",
        "Fix with pygent: other",
    ]


async def test_of_very_many_diagnostics_the_first_are_offered(folder: Path, source: Path) -> None:
    found = [problem(0, f"problem {number}") for number in range(500)]
    async with connected(folder) as editor:
        assert len(await offered(editor, source, 3, 3, diagnostics=found)) == MAX_FIXES


async def test_a_selection_offers_each_request_in_it_with_the_selected_code(folder: Path, source: Path) -> None:
    write(source, "# pygent: one\nx = 1\n# pygent: two\ny = 2\n# pygent: one\n# pygent: later\n")
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        found = await offered(editor, source, 0, 5, only=["quickfix"])
        await editor.request("workspace/executeCommand", found[1]["command"])
        await editor.until(lambda: editor.core.model.requests)

        assert [each["title"] for each in found] == ["Run pygent comment: one", "Run pygent comment: two"]
        assert found[1]["command"]["arguments"] == ["two", source.as_uri(), 0, 4]
        assert "lines 1 to 5" in editor.core.model.requests[0].messages[-1].text


# Diagnostics of other servers

WHOLE: Mapping[str, Any] = {
    "range": span(3, 3),
    "message": "pi is not 3.14",
    "severity": 2,
    "code": "E1",
    "codeDescription": {"href": "https://rules.example/E1"},
    "source": "checker",
    "tags": [1],
    "relatedInformation": [{"location": {"uri": "file:///b.py", "range": span(1, 2)}, "message": "declared here"}],
    "data": {"jsonrpc": "2.0", "fix": [{"sub_key": None}]},
}


async def test_a_diagnostic_travels_whole(folder: Path, source: Path) -> None:
    async with connected(folder) as editor:
        (fix,) = await offered(editor, source, 3, 3, diagnostics=[WHOLE])

    assert fix["command"]["arguments"] == [source.as_uri(), WHOLE]
    assert fix["diagnostics"] == [WHOLE]


@pytest.mark.parametrize(
    "odd",
    [
        {"severity": 9},
        {"severity": None},
        {"tags": [99]},
        {"tags": None},
        {"code": {"value": "E1", "target": "https://rules.example"}},
        {"code": 1.5},
        {"source": 7},
        {"codeDescription": None},
        {"codeDescription": "https://rules.example"},
        {"relatedInformation": [{"message": "where?"}]},
        {"relatedInformation": {}},
        {"message": {"kind": "markdown", "value": "pi is not 3.14"}},
        {"range": {"start": {"line": 3, "character": -1}, "end": {"line": 3, "character": 1e30}}},
        {"range": None},
        {"unheard": "of"},
    ],
    ids=str,
)
async def test_whatever_is_odd_about_a_diagnostic_costs_only_that(
    folder: Path, source: Path, odd: dict[str, Any]
) -> None:
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        fix, other = await offered(editor, source, 3, 3, diagnostics=[{**problem(), **odd}, problem(2, "other"), 7])
        await editor.request("workspace/executeCommand", fix["command"])
        await editor.until(lambda: editor.core.model.requests)

        assert (fix["title"], other["title"]) == ("Fix with pygent: pi is not 3.14", "Fix with pygent: other")
        assert "line 4: pi is not 3.14" in editor.core.model.requests[0].messages[-1].text


async def test_a_context_that_says_nothing_is_one(folder: Path, source: Path) -> None:
    async with connected(folder) as editor:
        for context in ({"diagnostics": None}, {"only": None, "triggerKind": 7}, {"diagnostics": 7, "only": 7}):
            assert titles(await offered(editor, source, 2, 3, **context)) == SELECTION


# Resolving


async def test_what_needs_no_resolving_is_not_offered_for_it_and_comes_back_as_it_is(
    folder: Path, source: Path
) -> None:
    async with connected(folder) as editor:
        capabilities = editor.initialize_result["capabilities"]
        (fix,) = await offered(editor, source, 3, 3, diagnostics=[WHOLE])
        (lens,) = await editor.request("textDocument/codeLens", {"textDocument": {"uri": source.as_uri()}})

        assert capabilities["codeActionProvider"]["resolveProvider"] is False
        assert capabilities["codeLensProvider"]["resolveProvider"] is False
        for method, sent in (("codeAction/resolve", fix), ("codeLens/resolve", lens)):
            mine = {**sent, "__of_the_client": [1], "diagnostics": "odd"}
            assert await editor.request(method, mine) == mine
