"""Checkpoints over the wire: open documents follow, what the user did is spared, the last turn can be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.chat_document.conversation import answered
from tests.editors.lsp.editor import Editor, Setup, connected
from tests.fakes import Call, Gate, Step, bounded, say


def edit(path: str, old: str, new: str) -> Call:
    return Call(name="edit_file", arguments={"path": path, "old": old, "new": new})


def create(path: str) -> Call:
    return Call(name="create_file", arguments={"path": path, "content": "fresh\n"})


def shell(command: str) -> Call:
    return Call(name="shell", arguments={"command": command})


def calling(*calls: Call) -> Setup:
    script: list[list[Step]] = [*(say("", call) for call in calls), say("done"), say("again")]
    return Setup(script=script, mode="trust", checkpoints=True)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def points(editor: Editor, session_id: str) -> list[dict[str, Any]]:
    return (await editor.request("pygent/checkpoint/list", {"sessionId": session_id}))["checkpoints"]


async def restore(editor: Editor, checkpoint_id: str, *, conversation: bool = False, **more: object) -> Any:
    params = {"checkpointId": checkpoint_id, "files": True, "conversation": conversation, **more}
    return await editor.request("pygent/checkpoint/restore", params)


async def test_files_go_back_in_the_editor_and_on_the_disk(folder: Path) -> None:
    (folder / "open.txt").write_text("one\n")
    (folder / "closed.txt").write_text("one\n")
    calls = shell("echo s > s.txt"), edit("open.txt", "one", "two"), edit("closed.txt", "one", "two"), create("new.txt")
    async with connected(folder, calling(*calls)) as editor:
        uri = editor.documents.open(folder / "open.txt")
        session_id = (await editor.turn())["sessionId"]
        first, after = await points(editor, session_id)
        n_edits = len(editor.requests("workspace/applyEdit"))

        diff = await editor.request("pygent/checkpoint/diff", {"checkpointId": first["checkpointId"]})
        result = await restore(editor, first["checkpointId"])

        assert first["label"].startswith("Before ")
        assert after["label"].startswith("After ")
        assert [each["uri"].rpartition("/")[2] for each in diff["files"]] == [
            "closed.txt",
            "new.txt",
            "open.txt",
            "s.txt",
        ]
        assert [each.rpartition("/")[2] for each in result["restored"]] == [
            "closed.txt",
            "new.txt",
            "open.txt",
            "s.txt",
        ]
        assert result["skipped"] == []
        assert editor.documents.text(uri) == "one\n"
        assert len(editor.requests("workspace/applyEdit")) == n_edits + 1
        assert names_in(folder) == ["closed.txt", "open.txt"]
        assert (folder / "closed.txt").read_text() == "one\n"
        assert (await points(editor, session_id))[-1]["checkpointId"] == result["undoCheckpointId"]


async def test_the_list_of_a_session_that_has_changed_nothing_is_empty(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("done")], checkpoints=True)) as editor:
        session_id = (await editor.turn())["sessionId"]

        listed = await editor.request("pygent/checkpoint/list", {"sessionId": session_id})

        assert listed == {"checkpoints": [], "undone": []}


async def test_the_list_names_the_files_of_a_turn_that_were_taken_back(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    first = [say("", edit("a.txt", "one", "two")), say("done")]
    second = [say("", edit("a.txt", "two", "three"), create("new.txt")), say("again")]
    async with connected(folder, Setup(script=[*first, *second], mode="trust", checkpoints=True)) as editor:
        uri = editor.documents.open(folder / "a.txt")
        session_id = (await editor.turn(turnId="t1"))["sessionId"]
        await editor.turn(turnId="t2", sessionId=session_id)
        both = sorted([uri, (folder / "new.txt").as_uri()])

        async def undone() -> dict[str, list[str]]:
            listed = (await editor.request("pygent/checkpoint/list", {"sessionId": session_id}))["undone"]
            return {each["turnId"]: sorted(each["uris"]) for each in listed}

        before_first, before_second = await points(editor, session_id)
        assert await undone() == {}
        back = await restore(editor, before_second["checkpointId"])
        assert await undone() == {"t2": both}
        await restore(editor, back["undoCheckpointId"])
        assert await undone() == {}
        editor.documents.type_over(uri, "three, and mine\n")
        await restore(editor, before_first["checkpointId"])
        assert await undone() == {"t2": [(folder / "new.txt").as_uri()]}, "what the user changed since stands on it"


async def test_what_was_not_saved_then_comes_back_and_what_is_typed_since_is_spared(folder: Path) -> None:
    (folder / "a.txt").write_text("saved\n")
    async with connected(folder, calling(edit("a.txt", "typed", "agent"))) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.documents.type_over(uri, "typed\n")
        session_id = (await editor.turn())["sessionId"]
        (point,) = await points(editor, session_id)
        editor.documents.type_over(uri, "agent, and mine\n")

        spared = await restore(editor, point["checkpointId"])
        assert editor.documents.text(uri) == "agent, and mine\n"
        assert spared["skipped"] == [{"uri": uri, "reason": "it was changed after the agent's last write"}]

        await restore(editor, point["checkpointId"], force=True)
        assert editor.documents.text(uri) == "typed\n"


async def test_saving_what_the_agent_wrote_is_no_change_of_the_users(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(edit("a.txt", "one", "two"))) as editor:
        uri = editor.documents.open(folder / "a.txt")
        session_id = (await editor.turn())["sessionId"]
        editor.documents.save(uri)

        result = await restore(editor, (await points(editor, session_id))[0]["checkpointId"])

        assert result["restored"] == [uri]
        assert editor.documents.text(uri) == "one\n"


async def test_the_conversation_goes_back_to_before_the_turn(folder: Path) -> None:
    async with connected(folder, calling(create("new.txt"))) as editor:
        session_id = (await editor.turn("MANGO"))["sessionId"]
        (point,) = await points(editor, session_id)
        await restore(editor, point["checkpointId"], conversation=True)

        await editor.turn("next", sessionId=session_id)

        assert [message.text for message in editor.core.model.requests[-1].messages] == ["next"]


async def test_a_running_turn_refuses_it(folder: Path) -> None:
    gate = Gate()
    setup = Setup(script=[say("", create("new.txt")), [gate, *say("done")]], mode="trust", checkpoints=True)
    async with connected(folder, setup) as editor:
        session_id = (await editor.request("pygent/session/new"))["sessionId"]
        turn = editor.begin_turn(sessionId=session_id)
        await gate.reached()
        (point,) = await points(editor, session_id)

        params = {"checkpointId": point["checkpointId"], "files": True, "conversation": False}
        error = await editor.error("pygent/checkpoint/restore", params)
        gate.open()
        await bounded(turn)

        assert (error.code, error.data) == (-32602, {"kind": "turn_running"})
        assert (folder / "new.txt").exists()


async def test_unknown_checkpoints_are_named(folder: Path) -> None:
    async with connected(folder, calling()) as editor:
        error = await editor.error("pygent/checkpoint/diff", {"checkpointId": "none"})

    assert (error.code, error.data) == (-32602, {"kind": "unknown_checkpoint"})


async def undo(editor: Editor) -> Any:
    return await editor.request("workspace/executeCommand", {"command": "pygent.undo", "arguments": []})


async def test_undo_takes_back_the_last_turn_of_the_commands_and_says_what_it_left(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    calls = edit("a.txt", "one", "two"), create("new.txt")
    async with connected(folder, calling(*calls)) as editor:
        await editor.request("workspace/executeCommand", {"command": "pygent.ask", "arguments": ["go"]})
        await answered(editor)
        (folder / "new.txt").write_text("mine\n")

        result = await undo(editor)

        assert result["restored"] == [(folder / "a.txt").as_uri()]
        assert (folder / "a.txt").read_text() == "one\n"
        assert editor.notifications("window/showMessage")[-1]["message"] == (
            "Restored: a.txt.\nNot restored: new.txt: it was changed after the agent's last write."
        )
        error = await editor.error("workspace/executeCommand", {"command": "pygent.undo", "arguments": []})
        assert error.data == {"kind": "nothing_to_undo"}


async def test_after_a_restart_files_still_go_back_and_the_conversation_is_said_to_be_gone(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(edit("a.txt", "one", "two"))) as editor:
        session_id = (await editor.turn())["sessionId"]
        (point,) = await points(editor, session_id)

    async with connected(folder, calling()) as editor:
        assert (await points(editor, session_id)) == [point]
        wanted = {"checkpointId": point["checkpointId"], "files": True, "conversation": True}
        error = await editor.error("pygent/checkpoint/restore", wanted)
        diff = await editor.request("pygent/checkpoint/diff", {"checkpointId": point["checkpointId"]})
        result = await restore(editor, point["checkpointId"])

        assert error.data == {"kind": "session_not_loaded"}
        assert "+two" in diff["files"][0]["patch"]
        assert [uri.rpartition("/")[2] for uri in result["restored"]] == ["a.txt"]
        assert (folder / "a.txt").read_text() == "one\n"
        assert (await points(editor, session_id))[-1]["checkpointId"] == result["undoCheckpointId"]


async def test_of_a_restore_that_the_editor_made_in_part_each_file_is_named_as_it_is(folder: Path) -> None:
    for name in "ab":
        (folder / f"{name}.txt").write_text("one\n")
    async with connected(folder, calling(edit("a.txt", "one", "two"), edit("b.txt", "one", "two"))) as editor:
        editor.server.endpoint.patience = Patience(answer_s=0.5, proof_s=0.1)
        uris = [editor.documents.open(folder / f"{name}.txt") for name in "ab"]
        session_id = (await editor.turn())["sessionId"]
        (point,) = await points(editor, session_id)

        def drop_the_second(params: Any) -> object:
            first, _ = params["edit"]["documentChanges"]
            return editor.documents.apply({"edit": {"documentChanges": [first]}})

        editor.handlers["workspace/applyEdit"] = drop_the_second
        result = await restore(editor, point["checkpointId"])
        editor.handlers["workspace/applyEdit"] = editor.documents.apply
        undone = await restore(editor, result["undoCheckpointId"])

        assert result["restored"] == uris[:1]
        assert [each["uri"] for each in result["skipped"]] == uris[1:]
        assert (undone["restored"], undone["skipped"]) == (uris[:1], [])
        assert [editor.documents.text(uri) for uri in uris] == ["two\n", "two\n"]
