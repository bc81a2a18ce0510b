"""What a client tells beside its documents, and what becomes of it: the tool `diagnostics`, and the background."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.ports.editor_context import MAX_FILES
from tests.editors.lsp.editor import CAPABILITIES, Editor, Setup, WireError, connected
from tests.fakes import Call, say

CHANGED = "pygent/context/didChange"

WITH_UPDATES: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"contextUpdates": True}}}


def place(line: int, character: int = 0) -> dict[str, Any]:
    where = {"line": line, "character": character}
    return {"start": where, "end": where}


def diagnostic(line: int = 0, character: int = 0, message: str = "bad", **more: Any) -> dict[str, Any]:
    return {"range": place(line, character), "message": message, "severity": 1, **more}


def diagnostics(path: str | None = None) -> Call:
    return Call(name="diagnostics", arguments={} if path is None else {"path": path})


async def read(editor: Editor) -> str:
    """What the tool tells when the model calls it in a turn of its own."""
    await editor.turn()
    return editor.tool_results[-1]


def asking(*calls: Call) -> Setup:
    return Setup(script=[step for call in calls or (diagnostics(),) for step in (say("", call), say("ok"))])


def tell(editor: Editor, uri: str, *items: object, **more: object) -> None:
    editor.tell(CHANGED, {"diagnostics": [{"uri": uri, "items": list(items), **more}]})


async def test_the_model_reads_what_the_client_told(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("a\nb\n")
    (folder / "b.py").write_text("b\n")
    setup = asking(diagnostics(), diagnostics("src"), diagnostics("b.py"), diagnostics("c.py"))
    async with connected(folder, setup, capabilities=WITH_UPDATES) as editor:
        tell(editor, (folder / "b.py").as_uri())
        tell(
            editor,
            (folder / "src" / "a.py").as_uri(),
            diagnostic(1, 0, "no b", severity=2, source="pyright", code={"value": "reportX", "target": "https://x"}),
            diagnostic(0, 0, "no a", severity=None),
        )

        of_a = "src/a.py\n  1:1 error: no a\n  2:1 warning: no b [pyright reportX]"
        assert (
            await read(editor)
            == f"1 error, 1 warning in 1 file, as reported by the editor.\n{of_a}\nb.py\n  no problems"
        )
        assert await read(editor) == f"1 error, 1 warning in 1 file, as reported by the editor.\n{of_a}"
        assert await read(editor) == "No problems in 0 files, as reported by the editor.\nb.py\n  no problems"
        assert "reported nothing about c.py" in await read(editor)


@pytest.mark.parametrize(
    ("capabilities", "said"),
    [(CAPABILITIES, "do not pass the diagnostics"), (WITH_UPDATES, "there may be no problems")],
    ids=["plain", "plugin"],
)
async def test_where_nothing_was_told_the_model_reads_why_and_what_would_work(
    folder: Path, capabilities: Mapping[str, Any], said: str
) -> None:
    async with connected(folder, asking(), capabilities=capabilities) as editor:
        told = await read(editor)

        assert said in told
        assert "run_tests" in told


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 8), ("utf-16", 5)])
async def test_columns_count_characters_whatever_the_client_counts(folder: Path, encoding: str, character: int) -> None:
    (folder / "a.py").write_text("# é\U0001f600x\n")
    capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
    async with connected(folder, asking(), capabilities=capabilities) as editor:
        tell(editor, (folder / "a.py").as_uri(), diagnostic(0, character))

        assert "  1:5 error: bad" in await read(editor)


async def test_places_beyond_the_text_are_its_end(folder: Path) -> None:
    (folder / "a.py").write_text("ab\n")
    async with connected(folder, asking()) as editor:
        tell(editor, (folder / "a.py").as_uri(), diagnostic(0, 99), diagnostic(99, 99), diagnostic(0, 10**15))

        assert "  1:3 error: bad\n  1:3 error: bad\n  100:1 error: bad" in await read(editor)


async def test_what_was_told_before_the_document_changed_is_marked(folder: Path) -> None:
    (folder / "a.py").write_text("one\n")
    async with connected(folder, asking(*[diagnostics()] * 5)) as editor:
        uri = editor.documents.open(folder / "a.py")
        tell(editor, uri, diagnostic())
        assert "changed since" not in await read(editor)

        editor.documents.save(uri)
        assert "changed since" not in await read(editor), "saving changes nothing"

        editor.documents.type_over(uri, "two\n")
        assert "changed since" in await read(editor)

        tell(editor, uri, diagnostic(), version=1)
        assert "changed since" in await read(editor), "told for a version before"

        tell(editor, uri, diagnostic(), version=2)
        assert "changed since" not in await read(editor)


async def test_what_was_told_of_a_closed_file_holds_until_it_is_changed(folder: Path) -> None:
    (folder / "a.py").write_text("one\n")
    async with connected(folder, asking(*[diagnostics()] * 4)) as editor:
        tell(editor, (folder / "a.py").as_uri(), diagnostic())
        assert "changed since" not in await read(editor)
        uri = editor.documents.open(folder / "a.py")
        assert "changed since" not in await read(editor)
        editor.documents.type_over(uri, "two\n")
        assert "changed since" in await read(editor)
        editor.documents.close(uri)
        (folder / "a.py").write_text("three\n")
        assert "changed since" in await read(editor)


async def test_what_an_edit_made_old_is_marked(folder: Path) -> None:
    (folder / "a.py").write_text("one\n")
    edit = Call(name="edit_file", arguments={"path": "a.py", "old": "one", "new": "two"})
    script = [say("", edit), say("", diagnostics()), say("ok")]
    async with connected(folder, Setup(script=script)) as editor:
        tell(editor, editor.documents.open(folder / "a.py"), diagnostic())
        await editor.turn()

        assert "changed since" in editor.tool_results[1]


async def test_a_file_is_told_of_anew_and_null_takes_everything_back(folder: Path) -> None:
    uri = (folder / "a.py").as_uri()
    async with connected(folder, asking(diagnostics(), diagnostics())) as editor:
        tell(editor, uri, diagnostic(message="first"))
        tell(editor, uri, diagnostic(message="second"))
        told = await read(editor)
        assert ("first" in told, "second" in told) == (False, True)

        editor.tell(CHANGED, {"diagnostics": None})
        assert await read(editor) == "No problems in 0 files, as reported by the editor."


# Other ways to tell


async def test_the_context_of_a_turn_and_its_blocks_tell_too(folder: Path) -> None:
    (folder / "a.py").write_text("one\n")
    a, b = (folder / "a.py").as_uri(), (folder / "b.py").as_uri()
    async with connected(folder, asking()) as editor:
        prompt = [{"type": "text", "text": "go"}, {"type": "diagnostics", "uri": a, "items": [diagnostic()]}]
        await editor.turn(prompt, context={"diagnostics": [{"uri": b, "items": [diagnostic(message="worse")]}]})

        told = editor.tool_results[0]
        assert "a.py (the editor reported only these; there may be more)\n  1:1 error: bad" in told
        assert "b.py\n  1:1 error: worse" in told


async def test_a_plain_editors_code_actions_tell_of_the_diagnostics_that_they_are_about(folder: Path) -> None:
    (folder / "a.py").write_text("one\ntwo\n")
    uri = (folder / "a.py").as_uri()
    async with connected(folder, asking()) as editor:
        for line in (1, 0, 1):
            given = {"textDocument": {"uri": uri}, "range": place(line)}
            about = {"diagnostics": [diagnostic(line, message=f"bad {line}")]}
            await editor.request("textDocument/codeAction", {**given, "context": about})

        told = await read(editor)
        assert told.splitlines()[0] == "2 errors in 1 file, as reported by the editor."
        assert "there may be more" in told


async def test_what_is_told_of_some_diagnostics_does_not_drop_the_others(folder: Path) -> None:
    (folder / "a.py").write_text("one\ntwo\n")
    uri = (folder / "a.py").as_uri()
    async with connected(folder, asking()) as editor:
        tell(editor, uri, diagnostic(0), diagnostic(1))
        given = {"textDocument": {"uri": uri}, "range": place(1), "context": {"diagnostics": [diagnostic(1)]}}
        await editor.request("textDocument/codeAction", given)

        assert await read(editor) == (
            "2 errors in 1 file, as reported by the editor.\na.py\n  1:1 error: bad\n  2:1 error: bad"
        )


# The background


async def test_where_the_user_is_stands_at_the_end_of_the_next_request_and_in_no_prompt(folder: Path) -> None:
    (folder / "a.py").write_text("one\ntwo\n")
    uri = (folder / "a.py").as_uri()
    where = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
    async with connected(folder, Setup(script=[say("ok"), say("ok")]), capabilities=WITH_UPDATES) as editor:
        editor.tell(CHANGED, {"activeUri": uri, "selection": {"uri": uri, "range": where}, "visibleUris": [uri]})
        result = await editor.turn("hello")
        editor.tell(CHANGED, {"activeUri": "untitled:1", "selection": None})
        await editor.turn("again", sessionId=result["sessionId"])

        first, second = editor.core.model.requests
        assert first.messages[0].text.startswith("hello")
        for said in ("Active file: a.py", "Selected: a.py, lines 1 to 2", "Visible files: a.py", "not a request"):
            assert said in first.messages[-1].text
        assert second.messages[0].text == "hello"
        assert "Active file" not in second.messages[-1].text
        assert "Visible files: a.py" in second.messages[-1].text
        assert editor.events()[0]["prompt"] == "hello"


async def test_a_client_that_tells_nothing_has_no_background(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        await editor.turn("hello")

        assert editor.core.model.requests[0].messages[-1].text == "hello"


async def test_a_selection_of_nothing_is_a_cursor(folder: Path) -> None:
    uri = (folder / "a.py").as_uri()
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        editor.tell(CHANGED, {"activeUri": uri, "selection": {"uri": uri, "range": place(3, 4)}})
        await editor.turn("hello")

        assert "Selected" not in editor.core.model.requests[0].messages[-1].text


# Whatever comes


async def test_what_is_kept_is_bounded(folder: Path) -> None:
    async with connected(folder) as editor:
        files = [{"uri": f"file:///x/{n}.py", "items": [diagnostic()] * 3} for n in range(MAX_FILES + 50)]
        editor.tell(CHANGED, {"diagnostics": files, "visibleUris": [file["uri"] for file in files]})

        told = editor.server.connection.told
        problems = await told.problems()
        assert problems is not None
        assert len(problems) == MAX_FILES
        assert problems[0].path.name == f"{MAX_FILES + 49}.py", "the newest first"
        assert len(told.view.visible) <= 100


@pytest.mark.parametrize(
    "params",
    [
        {"activeUri": 1},
        {"visibleUris": ["file:///a", None]},
        {"selection": {"uri": "file:///a"}},
        {"diagnostics": [{"uri": "file:///a", "items": [{"message": "secret words"}]}]},
        {"diagnostics": {"file:///a": []}},
    ],
    ids=json.dumps,
)
async def test_a_wrong_notification_is_left_out_whole_and_the_log_says_what_is_wrong(
    folder: Path, params: Mapping[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(folder) as editor:
        with caplog.at_level(logging.WARNING):
            editor.tell(CHANGED, {"visibleUris": ["file:///b"], **params})
            await editor.request("pygent/status")

        (line,) = [record.getMessage() for record in caplog.records if CHANGED in record.getMessage()]
        assert f"-32602): {next(iter(params))}" in line
        assert "secret words" not in line
        assert editor.server.connection.told.view.visible == ()
        assert not editor.server.connection.told.is_live
        assert [frame for frame in editor.frames if "error" in frame] == []


async def test_as_a_request_it_is_refused(folder: Path) -> None:
    async with connected(folder) as editor:
        with pytest.raises(WireError) as raised:
            await editor.request(CHANGED, {})
        assert raised.value.code == -32600


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
uris = st.sampled_from(["file:///w/a.py", "file:///w/%00", "untitled:1", "file://host/x", "", "::"]) | json_values
numbers = st.integers(-1, 3) | st.sampled_from([0.0, 1.5, 10**30]) | json_values
positions = st.fixed_dictionaries({"line": numbers, "character": numbers}) | json_values
ranges = st.fixed_dictionaries({"start": positions, "end": positions}) | json_values
items = st.fixed_dictionaries(
    {"range": ranges, "message": st.text(max_size=5) | json_values},
    optional={"severity": numbers, "source": json_values, "code": json_values},
)
told_files: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"uri": uris, "items": st.lists(items, max_size=3)}, optional={"version": numbers}
)
members: dict[str, st.SearchStrategy[Any]] = {
    "activeUri": uris,
    "selection": st.fixed_dictionaries({"uri": uris, "range": ranges}) | json_values,
    "visibleUris": st.lists(uris, max_size=3) | json_values,
    "diagnostics": st.lists(told_files, max_size=2) | json_values,
}
contexts = st.fixed_dictionaries({}, optional=members)


def test_whatever_a_client_tells_the_daemon_goes_on(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("told").resolve() / "project"
    folder.mkdir()

    with asyncio.Runner() as runner:
        connection = connected(folder)
        editor = runner.run(connection.__aenter__())

        async def take(params: object) -> None:
            editor.send({"jsonrpc": "2.0", "method": CHANGED, "params": params})
            told = editor.server.connection.told
            told.counts()
            await told.problems()
            assert (await editor.request("pygent/status"))["sessions"] == 0

        @given(params=contexts | json_values)
        def check(params: object) -> None:
            runner.run(take(params))

        check()
        runner.run(connection.__aexit__(None, None, None))
