"""One undo step for each file and tool call, which touches nothing but the lines that change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.editor import Setup, connected
from tests.fakes import Call, say

LINES = [f"line {number}\n" for number in range(300)]
CHANGED = {17: "seventeen\n", 150: "", 151: "", 290: "line 290\nmore\n"}
"""What becomes of which lines."""


def after() -> list[str]:
    return [CHANGED.get(number, line) for number, line in enumerate(LINES)]


def edits() -> list[dict[str, str]]:
    """As edit tools are given them."""
    return [
        {"old": "line 17\n", "new": "seventeen\n"},
        {"old": "line 150\nline 151\n", "new": ""},
        {"old": "line 290\n", "new": "line 290\nmore\n"},
    ]


def patch(*names: str) -> str:
    hunks = (
        "@@ -17,3 +17,3 @@\n line 16\n-line 17\n+seventeen\n line 18\n"
        "@@ -150,4 +150,2 @@\n line 149\n-line 150\n-line 151\n line 152\n"
        "@@ -291,2 +289,3 @@\n line 290\n+more\n line 291\n"
    )
    return "".join(f"--- a/{name}\n+++ b/{name}\n{hunks}" for name in names)


CALLS = {
    "multi_edit": (Call(name="multi_edit", arguments={"path": "a.txt", "edits": edits()}), ["a.txt"]),
    "apply_patch": (
        Call(name="apply_patch", arguments={"patch": patch("a.txt", "b.txt", "c.txt")}),
        ["a.txt", "b.txt", "c.txt"],
    ),
    "create_file": (
        Call(name="create_file", arguments={"path": "a.txt", "content": "".join(after()), "overwrite": True}),
        ["a.txt"],
    ),
}


def touched_lines(edit: Mapping[str, Any]) -> set[int]:
    """The lines of which an edit replaces a character; none for an insertion between two lines."""
    start, end = edit["range"]["start"], edit["range"]["end"]
    last = end["line"] if end["character"] else end["line"] - 1
    return set(range(start["line"], last + 1))


@pytest.mark.parametrize("rejects", [False, True], ids=["kept", "taken back"])
@pytest.mark.parametrize("tool", CALLS)
async def test_a_tool_call_is_one_edit_with_one_step_a_file_and_marks_elsewhere_stay(
    folder: Path, tool: str, *, rejects: bool
) -> None:
    call, names = CALLS[tool]
    for name in names:
        (folder / name).write_text("".join(LINES))
    capabilities = {
        "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
        "experimental": {"pygent": {"reviewRequest": rejects}},
    }
    setup = Setup(script=[say("", call), say("done")], mode="trust")
    async with connected(folder, setup, capabilities=capabilities) as editor:
        uris = [editor.documents.open(folder / name) for name in names]
        editor.handlers["pygent/review/request"] = lambda params: {
            "hunks": [
                {"hunkId": hunk["hunkId"], "accepted": False} for file in params["files"] for hunk in file["hunks"]
            ]
        }

        await editor.turn()

        requests = [each.params["edit"]["documentChanges"] for each in editor.requests("workspace/applyEdit")]
        assert [[change["textDocument"]["uri"] for change in changes] for changes in requests] == [uris] * (1 + rejects)
        for change in requests[0]:
            assert set().union(*map(touched_lines, change["edits"])) <= set(CHANGED)
            assert len(change["edits"]) == 3
        text = "".join(LINES if rejects else after())
        assert [editor.documents.text(uri) for uri in uris] == [text] * len(uris)
        if rejects:
            n_back = [sum(len(each["newText"]) for each in change["edits"]) for change in requests[1]]
            assert all(n < 40 for n in n_back), n_back
