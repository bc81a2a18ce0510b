"""Prompts that are commands: the session answers them, and no model is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.agent.context.attachments import FilePart
from pygent_ls.agent.events import Finished, Text, TurnStarted
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.sessions.commands.registry import SlashCommands, built_in
from pygent_ls.sessions.turns.request import TurnRequest
from tests.agent.abilities import edit_file, saying
from tests.fakes import Call, Gate, Step, bounded, say
from tests.sessions.conversation import Conversation, conversation
from tests.sessions.subscribers import Reader


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    (made / "a.txt").write_text("one\n")
    (made / "b.txt").write_text("one\n")
    return made


def edit(name: str, old: str, new: str) -> list[Step]:
    return say("", Call(name="edit_file", arguments={"path": name, "old": old, "new": new}))


def talk_in(folder: Path, *script: list[Step]) -> Conversation:
    return conversation(script, edit_file, mode="trust", folder=folder)


async def test_undo_takes_back_the_last_turn_says_so_and_asks_no_model(folder: Path) -> None:
    talk = talk_in(folder, say("hello"), edit("a.txt", "one", "two"), edit("b.txt", "one", "two"), say("done"))
    await talk.turn("first")
    await talk.turn("second")
    n_requests = len(talk.model.requests)

    turn, reader = talk.start("  /undo\n")
    result = await turn.result()

    assert (folder / "a.txt").read_text() == (folder / "b.txt").read_text() == "one\n"
    assert [message.text for message in talk.session.messages] == ["first", "hello"]
    assert (result.stop_reason, result.error, result.iterations) == ("end_turn", None, 0)
    assert result.text == ("Undid the last turn.\nRestored: `a.txt`, `b.txt`.\n`/redo` restores it.")
    assert len(talk.model.requests) == n_requests
    assert reader.types == ["turn_started", "text_delta", "text", "finished"]
    assert reader.events[0].event == TurnStarted(prompt="  /undo\n", model="fake/model", mode="trust", agent="default")
    assert [each.event.content for each in reader.events if isinstance(each.event, Text)] == [result.text]


async def test_what_the_user_has_changed_since_stays_and_is_named_with_the_reason(folder: Path) -> None:
    talk = talk_in(folder, edit("a.txt", "one", "two"), edit("b.txt", "one", "two"), say("done"))
    await talk.turn()
    (folder / "b.txt").write_text("mine\n")
    (folder / "c.txt").write_text("mine\n")

    text = (await talk.turn("/undo")).text

    assert (folder / "b.txt").read_text() == "mine\n"
    assert text.splitlines()[1:4] == [
        "Restored: `a.txt`.",
        "Not restored: `b.txt`: it was changed after the agent's last write.",
        "Not restored: `c.txt`: it may have been changed by you or another program, not by the agent.",
    ]


async def test_redo_brings_again_what_undo_took_as_often_as_it_did(folder: Path) -> None:
    talk = talk_in(folder, edit("a.txt", "one", "two"), say("x"), edit("a.txt", "two", "three"), say("y"))
    await talk.turn("first")
    await talk.turn("second")
    everything = list(talk.session.messages)

    contents = [(folder / "a.txt").read_text()]
    for command in ("/undo", "/undo", "/redo", "/redo"):
        assert (await talk.turn(command)).stop_reason == "end_turn"
        contents.append((folder / "a.txt").read_text())

    assert contents == ["three\n", "two\n", "one\n", "two\n", "three\n"]
    assert talk.session.messages == everything
    assert max(each.label.count("Before restoring") for each in talk.session.checkpoints) == 1
    assert (await talk.turn("/redo")).text == "There is nothing to redo: nothing was undone since the last turn."


async def test_a_turn_that_comes_after_an_undo_ends_what_could_be_brought_again(folder: Path) -> None:
    talk = talk_in(folder, edit("a.txt", "one", "two"), say("x"), say("y"))
    await talk.turn()
    await talk.turn("/undo")
    await talk.turn("on")

    failed = await talk.turn("/redo")

    assert failed.stop_reason == "error"
    assert (folder / "a.txt").read_text() == "one\n"


async def test_where_there_is_nothing_to_take_back_that_is_an_error_that_is_told(folder: Path) -> None:
    talk = talk_in(folder, say("x"))

    turn, reader = talk.start("/undo")
    result = await turn.result()

    assert (result.stop_reason, result.text) == ("error", "There is no turn to undo.")
    assert result.error is not None
    assert not result.error.retryable
    assert reader.types == ["turn_started", "text_delta", "text", "finished"]
    assert [each.event.stop_reason for each in reader.events if isinstance(each.event, Finished)] == ["error"]
    assert talk.session.messages == []


async def test_without_git_what_tools_changed_goes_back_and_it_is_said_that_commands_do_not(folder: Path) -> None:
    make = saying("make", "made", risk=ToolRisk.MEDIUM, read_only=False, runs_programs=True)
    script = [edit("a.txt", "one", "two"), say("x"), say("", Call(name="make", arguments={})), say("y")]
    talk = conversation(script, edit_file, make, mode="trust", folder=folder, has_git=False)
    await talk.turn("first")
    await talk.turn("second")

    texts = [(await talk.turn("/undo")).text for _ in range(2)]

    assert "No files were restored.\nNot all file changes of this turn could be recorded." in texts[0]
    assert "Restored: `a.txt`." in texts[1]
    assert (folder / "a.txt").read_text() == "one\n"
    assert talk.session.messages == []
    await talk.turn("/redo")
    assert talk.session.messages[0].text == "first"
    assert (folder / "a.txt").read_text() == "two\n"


async def test_an_undo_that_is_asked_for_while_a_turn_runs_waits_for_its_end(folder: Path) -> None:
    gate = Gate()
    talk = talk_in(folder, edit("a.txt", "one", "two"), [gate, *say("done")])
    first, _ = talk.start()
    await gate.reached()

    undo, reader = talk.start("/undo")
    await reader.until(1)
    gate.open()
    await first.result()
    await undo.result()

    assert reader.types[0] == "turn_queued"
    assert (folder / "a.txt").read_text() == "one\n"


async def test_diff_shows_what_the_last_turn_changed_and_checkpoints_are_listed(folder: Path) -> None:
    talk = talk_in(folder, edit("a.txt", "one", "two"), say("x"))
    assert (await talk.turn("/checkpoint")).text.startswith("There are no checkpoints yet")
    assert (await talk.turn("/diff")).stop_reason == "error"
    await talk.turn()

    diff = (await talk.turn("/diff")).text
    points = (await talk.turn("/checkpoint")).text

    assert "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n```" in diff
    assert points.splitlines()[1].endswith(f"`{talk.session.checkpoints[0].id}` Before Edit a.txt")


async def test_help_lists_every_command(folder: Path) -> None:
    text = (await talk_in(folder).turn("/help")).text

    assert [line for line in text.splitlines() if line.startswith("- `/")] == [
        f"- `/{each.name}`: {each.description}" for each in built_in().values()
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "undo",
        "please /undo",
        "/etc",
        "/etc/hosts",
        "/usr/bin/env what is it?",
        "/tmp is full, why?",
        "/s at the end means what?",
        "/",
        "//",
        "/ undo",
        "/.hidden",
        "/1",
        "/undo.txt",
        "/undo/x",
        "",
    ],
)
async def test_prose_and_paths_are_for_the_model(folder: Path, prompt: str) -> None:
    session = talk_in(folder).session

    assert await SlashCommands().asked_in(prompt, session) is None


@pytest.mark.parametrize(("prompt", "says"), [("/udno", "Did you mean `/undo`?"), ("/frobnicate", "`/help`")])
async def test_a_command_that_there_is_not_is_answered_with_those_that_there_are(
    folder: Path, prompt: str, says: str
) -> None:
    talk = talk_in(folder, say("never"))

    result = await talk.turn(prompt)

    assert result.stop_reason == "error"
    assert says in result.text
    assert all(f"- `/{name}`" in result.text for name in built_in())
    assert talk.model.requests == []


async def test_a_command_that_takes_nothing_stands_alone_and_in_any_case(folder: Path) -> None:
    talk = talk_in(folder, edit("a.txt", "one", "two"), say("x"))
    await talk.turn()

    refused = await talk.turn("/undo the last edit")
    done = await talk.turn("/UNDO")

    assert (refused.stop_reason, refused.text) == (
        "error",
        ("The only accepted argument is `--rest`.\nUsage: `/undo [--rest]`"),
    )
    assert done.stop_reason == "end_turn"
    assert talk.session.messages == []


async def test_a_command_with_a_file_beside_it_is_for_the_model(folder: Path) -> None:
    talk = talk_in(folder, say("read"))
    parts = ("/undo", FilePart(path=folder / "a.txt"))

    turn = talk.session.start_turn(TurnRequest(parts=parts), Reader())
    assert turn.task is not None
    result = await bounded(turn.task)

    assert result.text == "read"
    assert (await talk.turn("/cost")).text.startswith("- last turn: 120 tokens")
