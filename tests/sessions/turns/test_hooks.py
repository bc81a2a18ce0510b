"""When a session starts and ends, for its hooks."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.agent.messages import user_message
from pygent_ls.agent.ports.hooks import HookEvent, HookInput, HookOutcome
from pygent_ls.sessions.lifecycle.eviction import MAX_LIVE
from tests.agent.abilities import edit_file
from tests.fakes import Call, FakeApprover, Gate, bounded, say
from tests.hooks import FakeHooks
from tests.sessions.conversation import Conversation, conversation
from tests.sessions.journal.kept import daemon

EVENTS: tuple[HookEvent, ...] = ("session_start", "session_end")


def hooked(n_turns: int = 3) -> tuple[Conversation, FakeHooks]:
    hooks = FakeHooks(dict.fromkeys(EVENTS, HookOutcome()))
    return conversation([say("ok")] * n_turns, hooks=hooks), hooks


def told(hooks: FakeHooks) -> list[tuple[str, str | None]]:
    return [(each.event, each.source or each.reason) for each in hooks.given]


async def test_a_session_starts_with_its_first_turn_and_ends_once_it_is_closed() -> None:
    made, hooks = hooked()
    await made.turn()
    await made.turn()
    await made.session.close()
    assert told(hooks) == [("session_start", "startup"), ("session_end", "close")]


async def test_a_session_that_is_gone_on_with_after_it_was_closed_resumes() -> None:
    made, hooks = hooked()
    await made.turn()
    await made.session.close()
    await made.session.close()
    await made.turn()
    assert told(hooks) == [("session_start", "startup"), ("session_end", "close"), ("session_start", "resume")]


async def test_a_session_without_a_turn_neither_starts_nor_ends() -> None:
    made, hooks = hooked()
    await made.session.close()
    assert told(hooks) == []


async def test_a_conversation_that_is_emptied_or_loaded_starts_anew() -> None:
    made, hooks = hooked()
    await made.turn()
    made.session.take_conversation(())
    await made.turn()
    made.session.take_conversation([user_message("from before")])
    await made.turn()
    assert told(hooks) == [("session_start", "startup"), ("session_start", "clear"), ("session_start", "resume")]


async def test_a_session_that_begins_with_a_conversation_resumes_it() -> None:
    made, hooks = hooked()
    made.session.take_conversation([user_message("from before")])
    await made.turn()
    assert told(hooks) == [("session_start", "resume")]


async def test_a_hook_that_hangs_does_not_keep_a_session_open() -> None:
    made, hooks = hooked()
    await made.turn()
    hooks.gates["session_end"] = Gate()
    await bounded(made.session.close())
    assert told(hooks)[-1] == ("session_end", "close")


async def test_a_command_starts_no_session() -> None:
    made, hooks = hooked()
    await made.turn("/help")
    assert told(hooks) == []


async def test_a_turn_that_is_cancelled_while_the_session_starts_has_started_it() -> None:
    made, hooks = hooked()
    gate = hooks.gates["session_start"] = Gate()
    turn, _ = made.start()
    await gate.reached()
    made.session.cancel()
    assert (await turn.result()).stop_reason == "cancelled"
    await made.turn()
    assert told(hooks) == [("session_start", "startup")]


async def test_what_a_hook_formats_after_an_edit_goes_back_with_the_turn(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    file = folder / "a.py"
    file.write_text("x=1\n")

    def formats(_: HookInput) -> HookOutcome:
        file.write_text(file.read_text().replace("=", " = "))
        return HookOutcome()

    edit = Call(name="edit_file", arguments={"path": "a.py", "old": "x=1", "new": "x=2"})
    made = conversation(
        [say("", edit), say("done")],
        edit_file,
        folder=folder,
        approver=FakeApprover("allow_once"),
        hooks=FakeHooks({"post_tool_use": formats}),
    )
    await made.turn()
    assert file.read_text() == "x = 2\n"

    undone = await made.session.undo()
    assert (file.read_text(), undone.skipped) == ("x=1\n", [])


async def test_the_end_has_its_reason(tmp_path: Path) -> None:
    hooks = FakeHooks(dict.fromkeys(EVENTS, HookOutcome()))
    async with daemon(tmp_path, [say("ok")] * (MAX_LIVE + 5), hooks=hooks) as kept:
        closed, deleted, idle = kept.new(), kept.new(), kept.new()
        for session in (closed, deleted, idle):
            await kept.say(session)
        await kept.sessions.close_one(closed.id)
        await kept.sessions.delete(deleted.id)
        last = [kept.new() for _ in range(MAX_LIVE)][-1]
        await kept.sessions.look_at(idle.id)
        await kept.say(last)

    ends = [(each.session_id, each.reason) for each in hooks.given if each.event == "session_end"]
    assert ends == [(closed.id, "close"), (deleted.id, "delete"), (idle.id, "idle"), (last.id, "exit")]
