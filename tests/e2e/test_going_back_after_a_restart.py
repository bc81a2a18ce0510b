"""Files and conversation go back, and forth again, in the daemons that come after the one that kept them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.lsp_client import EditorClient, editor_client

SCRIPT: tuple[Mapping[str, Any], ...] = (
    {"tool_calls": [{"name": "create_file", "input": {"path": "new.txt", "content": "fresh\n"}}]},
    {"text": "It is there."},
    {"text": "Once more."},
)


def scripted(folder: Path, *answers: Mapping[str, Any]) -> dict[str, str]:
    script = folder.parent / "script.jsonl"
    script.write_text("\n".join(map(json.dumps, answers)))
    return {"PYGENT_MODEL": f"scripted:{script}"}


async def said(editor: EditorClient, session_id: str) -> list[str]:
    """What was said, but for calls and their results."""
    loaded = await editor.ask("pygent/session/load", {"sessionId": session_id})
    texts = [block.get("text", "") for message in loaded["messages"] for block in message["content"]]
    return [text for text in texts if text]


async def sent(editor: EditorClient, session_id: str) -> str:
    """What the next request would hold of the conversation."""
    report = (await editor.turn("/context", sessionId=session_id))["text"]
    return next(line for line in report.splitlines() if line.startswith("- conversation:"))


async def points(editor: EditorClient, session_id: str) -> list[dict[str, Any]]:
    return (await editor.ask("pygent/checkpoint/list", {"sessionId": session_id}))["checkpoints"]


async def restore(editor: EditorClient, checkpoint_id: str) -> Any:
    wanted = {"checkpointId": checkpoint_id, "files": True, "conversation": True}
    return await editor.ask("pygent/checkpoint/restore", wanted)


async def test_a_turn_is_taken_back_in_the_next_daemon_and_brought_again_in_the_one_after_it(folder: Path) -> None:
    environment = scripted(folder, *SCRIPT)
    new = folder / "new.txt"
    async with editor_client(folder, environment) as editor:
        session_id = (await editor.turn("make it"))["sessionId"]
        whole = await said(editor, session_id)

    async with editor_client(folder, environment) as editor:
        undone = await editor.turn("/undo", sessionId=session_id)
        assert undone["text"].startswith("Undid the last turn.")
        assert not new.exists()
        assert await said(editor, session_id) == []

    async with editor_client(folder, environment) as editor:
        redone = await editor.turn("/redo", sessionId=session_id)
        assert redone["text"].startswith("Restored the turn.")
        assert new.read_text() == "fresh\n"
        assert await said(editor, session_id) == whole == ["make it", "It is there."]

    async with editor_client(folder, environment) as editor:
        again = await editor.turn("/redo", sessionId=session_id)
        assert "There is nothing to redo: nothing was undone since the last turn." in again["text"]


async def test_a_checkpoint_of_another_daemon_brings_the_conversation_back_and_so_does_its_undo(folder: Path) -> None:
    environment = scripted(folder, *SCRIPT)
    async with editor_client(folder, environment) as editor:
        session_id = (await editor.turn("make it"))["sessionId"]

    async with editor_client(folder, environment) as editor:
        (point,) = await points(editor, session_id)
        back = await restore(editor, point["checkpointId"])
        assert [uri.rpartition("/")[2] for uri in back["restored"]] == ["new.txt"]
        assert await said(editor, session_id) == []

    async with editor_client(folder, environment) as editor:
        await restore(editor, back["undoCheckpointId"])
        assert (folder / "new.txt").exists()
        assert await said(editor, session_id) == ["make it", "It is there."]


async def test_the_command_takes_back_the_last_turn_of_the_folder(folder: Path) -> None:
    environment = scripted(folder, *SCRIPT)
    async with editor_client(folder, environment) as editor:
        asked = await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.ask", "arguments": ["make it"]})
        await editor.answered()
        session_id = asked["sessionId"]

    async with editor_client(folder, environment) as editor:
        await editor.ask_lsp("workspace/executeCommand", {"command": "pygent.undo", "arguments": []})
        assert not (folder / "new.txt").exists()
        assert editor.messages == ["Restored: new.txt."]
        assert await said(editor, session_id) == []


async def test_a_compaction_still_counts_after_a_turn_was_taken_back_and_brought_again_and_a_restart(
    folder: Path,
) -> None:
    answers = [{"text": f"Answer {n}. " + "It goes on. " * 50} for n in range(3)]
    summary = {"text": "A short summary."}
    async with editor_client(folder, scripted(folder, *answers[:2], summary, answers[2])) as editor:
        session_id = (await editor.turn("first"))["sessionId"]
        await editor.turn("second", sessionId=session_id)
        await editor.ask("pygent/session/compact", {"sessionId": session_id})
        await editor.turn("third", sessionId=session_id)
        before = await sent(editor, session_id)
        await editor.turn("/undo", sessionId=session_id)
        await editor.turn("/undo", sessionId=session_id)

    for command in ("/redo", "/redo"):
        async with editor_client(folder, scripted(folder, *answers)) as editor:
            await editor.turn(command, sessionId=session_id)

    async with editor_client(folder, scripted(folder, *answers)) as editor:
        assert await sent(editor, session_id) == before
        assert "3 of them are summarized" in before


async def test_the_context_that_a_resumed_session_reports_holds_the_system_prompt_and_the_tools(folder: Path) -> None:
    async def around(editor: EditorClient, session_id: str) -> str:
        report = (await editor.turn("/context", sessionId=session_id))["text"]
        return next(line for line in report.splitlines() if line.startswith("- system prompt and tools:"))

    environment = scripted(folder, *SCRIPT)
    async with editor_client(folder, environment) as editor:
        session_id = (await editor.turn("make it"))["sessionId"]
        before = await around(editor, session_id)

    async with editor_client(folder, environment) as editor:
        assert await around(editor, session_id) == before
