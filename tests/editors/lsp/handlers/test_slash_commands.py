"""Slash commands over the wire: listed, answered as a turn, and in commands of clients without a plugin."""

from __future__ import annotations

from pathlib import Path

from tests.editors.lsp.editor import Setup, connected
from tests.fakes import Call, say


async def test_undo_is_a_turn_that_asks_no_model_and_is_listed(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    call = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
    setup = Setup(script=[say("", call), say("done"), say("on")], mode="trust", checkpoints=True)
    async with connected(folder, setup) as editor:
        document = editor.documents.open(folder / "a.txt")
        session = {"sessionId": (await editor.turn())["sessionId"]}
        assert editor.documents.text(document) == "two\n"

        result = await editor.turn("/undo", partialResultToken="undo", workDoneToken="work", **session)
        listed = await editor.request("pygent/commands/list", {})

        assert editor.documents.text(document) == "one\n"
        assert result["stopReason"] == "end_turn"
        assert "Restored: `a.txt`" in result["text"]
        assert (result["iterations"], result["usage"]["totalTokens"]) == (0, 0)
        assert editor.types("undo") == ["turn_started", "text_delta", "text", "finished"]
        assert [each["kind"] for each in editor.progress("work")] == ["begin", "end"]
        assert {each["name"]: each["source"] for each in listed["commands"]}["undo"] == "built-in"
        assert all(each["description"] for each in listed["commands"])
        assert (await editor.turn("go on", **session))["text"] == "on"


async def test_a_command_that_there_is_not_is_a_result_with_the_list(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("never")])) as editor:
        result = await editor.turn("/udno")

        assert result["stopReason"] == "error"
        assert "Did you mean `/undo`?" in result["text"]
        assert result["error"]["type"] == "invalid_request"
        assert not result["error"]["retryable"]
