"""A turn that is cancelled while its edit is under way, and edits of which only a part is made: what stands is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.editor import NO_ANSWER, Asked, Editor, Setup, WireError, connected
from tests.fakes import WAIT_S, Call, bounded, say

APPLY = "workspace/applyEdit"

EDIT = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})

PATCH = "".join(f"--- a/{name}.txt\n+++ b/{name}.txt\n@@ -1 +1 @@\n-one\n+two\n" for name in "ab")


def calling(call: Call) -> Setup:
    return Setup(script=[say("", call), say("done")], mode="trust", checkpoints=True)


async def cancelled(editor: Editor, meanwhile: Callable[[Asked], object]) -> dict[str, Any]:
    """The result of a turn that is cancelled while its edit is asked for; it ends long before an answer is given up."""
    editor.server.endpoint.patience = Patience(answer_s=10 * WAIT_S, proof_s=10 * WAIT_S)
    editor.handlers[APPLY] = lambda _: NO_ANSWER
    turn = editor.begin_turn()
    asked = await editor.asks(APPLY)
    editor.cancel(editor.last_id)
    meanwhile(asked)
    with pytest.raises(WireError) as raised:
        await bounded(turn)
    return raised.value.data


async def test_an_edit_that_is_made_while_the_turn_is_cancelled_is_told_of_and_can_be_taken_back(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(EDIT)) as editor:
        uri = editor.documents.open(folder / "a.txt")

        result = await cancelled(editor, lambda asked: editor.answer(asked, editor.documents.apply(asked.params)))

        assert result["stopReason"] == "cancelled"
        assert result["filesChanged"] == [{"uri": uri, "kind": "edit", "added": 1, "removed": 1}]
        (told,) = [event for event in editor.events() if event["type"] == "tool_result"]
        assert (told["isError"], [change["uri"] for change in told["changes"]]) == (False, [uri])
        editor.handlers[APPLY] = editor.documents.apply
        (point,) = (await editor.request("pygent/checkpoint/list", {"sessionId": result["sessionId"]}))["checkpoints"]
        params = {"checkpointId": point["checkpointId"], "files": True, "conversation": True}
        assert (await editor.request("pygent/checkpoint/restore", params))["restored"] == [uri]
        assert editor.documents.text(uri) == "one\n"


async def test_an_edit_counts_though_the_editor_never_says_that_it_made_it(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(EDIT)) as editor:
        uri = editor.documents.open(folder / "a.txt")

        result = await cancelled(editor, lambda asked: editor.documents.apply(asked.params))

        assert [change["uri"] for change in result["filesChanged"]] == [uri]


async def test_an_editor_that_does_nothing_does_not_hold_the_end_of_the_turn(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(EDIT)) as editor:
        editor.documents.open(folder / "a.txt")

        result = await cancelled(editor, lambda _: None)

        assert result["filesChanged"] == []
        assert len(editor.notifications("$/cancelRequest")) == 1


async def test_the_part_of_an_edit_that_was_made_is_told_of_where_the_rest_was_dropped(folder: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("one\n")
    async with connected(folder, calling(Call(name="apply_patch", arguments={"patch": PATCH}))) as editor:
        editor.server.endpoint.patience = Patience(answer_s=0.1, proof_s=0.1)
        uris = [editor.documents.open(folder / name) for name in ("a.txt", "b.txt")]

        def drop_the_second(params: Any) -> object:
            first, _ = params["edit"]["documentChanges"]
            editor.documents.apply({"edit": {"documentChanges": [first]}})
            return {"applied": True}

        editor.handlers[APPLY] = drop_the_second
        result = await editor.turn()

        (said,) = editor.tool_results
        assert "b.txt now holds:\n```\none" in said
        assert [change["uri"] for change in result["filesChanged"]] == uris[:1]
