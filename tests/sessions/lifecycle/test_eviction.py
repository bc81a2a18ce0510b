"""However many sessions a daemon has had, it has few in memory; none is missed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import SessionError
from pygent_ls.sessions.lifecycle.eviction import MAX_LIVE
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.subscriptions import Attachment
from pygent_ls.sessions.turns.request import TurnRequest
from tests.agent.abilities import named, waiting
from tests.fakes import Call, FakeApprover, Gate, bounded, say
from tests.sessions.journal.kept import Kept, daemon
from tests.sessions.subscribers import Reader

HELLO = say("Hello.")


def descriptors() -> int:
    """Files that this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def _fill(kept: Kept, n: int = MAX_LIVE + 10) -> list[str]:
    """Make so many more sessions, and let them end which are let go."""
    made = [kept.new().id for _ in range(n)]
    await asyncio.gather(*(kept.sessions.look_at(each) for each in made))
    return made


async def test_a_daemon_holds_few_of_its_sessions_and_finds_the_others_again(tmp_path: Path) -> None:
    n_sessions = 3 * MAX_LIVE
    async with daemon(tmp_path, [HELLO] * (n_sessions + 2)) as kept:
        before = descriptors()
        said: dict[str, str] = {}
        for number in range(n_sessions):
            session = kept.new()
            session.rename(f"number {number}")
            await kept.say(session, f"prompt {number}")
            said[session.id] = f"prompt {number}"

        assert len(kept.sessions.all()) <= MAX_LIVE + 1
        assert descriptors() - before <= MAX_LIVE + 3

        first = next(iter(said))
        assert kept.sessions.live(first) is None
        session = await kept.sessions.hold(first)
        assert [each.text for each in session.messages] == ["prompt 0", "Hello."]
        assert session.name == "number 0"
        last_seq = session.last_seq
        reader = Reader()
        assert (await kept.say(session, "again", reader)).text == "Hello."
        assert reader.events[0].seq == last_seq + 1
        assert "notice" not in reader.types
        assert len(kept.sessions.all()) <= MAX_LIVE + 1


async def test_who_wants_a_session_that_is_being_let_go_has_it(tmp_path: Path) -> None:
    async with daemon(tmp_path, [HELLO] * 9) as kept:
        session = kept.new()
        await kept.say(session, "first")

        for _ in range(5):
            closing = asyncio.ensure_future(kept.sessions.close_one(session.id))
            await asyncio.sleep(0)
            again = await bounded(kept.sessions.hold(session.id))
            await closing
            assert again is not session
            assert again.messages == session.messages
            session = again
        assert (await kept.say(session)).text == "Hello."


async def test_while_a_session_is_slow_to_be_let_go_the_others_can_be_used(tmp_path: Path) -> None:
    working, ending = Gate(), Gate()

    async def clinging(_: ToolContext) -> str:
        try:
            await working.pass_through()
        finally:
            await ending.pass_through()
        return "done"

    script = [say("", Call(name="cling", arguments={})), HELLO]
    async with daemon(tmp_path, script, tools=[named("cling", clinging)]) as kept:
        other, slow = kept.new(), kept.new()
        slow.start_turn(TurnRequest(parts=("go",)), Reader())
        await working.reached()
        closing = asyncio.ensure_future(kept.sessions.close_one(slow.id))
        await ending.reached()
        wanted = asyncio.ensure_future(kept.sessions.hold(slow.id))
        await asyncio.sleep(0)

        assert await bounded(kept.sessions.hold(other.id)) is other

        assert not wanted.done()
        ending.open()
        await bounded(closing)
        assert (await bounded(wanted)).messages == slow.messages


async def test_who_wants_a_session_that_is_being_deleted_finds_none(tmp_path: Path) -> None:
    async with daemon(tmp_path, [HELLO] * 9) as kept:
        for _ in range(5):
            session = kept.new()
            await kept.say(session)
            deleting = asyncio.ensure_future(kept.sessions.delete(session.id))
            await asyncio.sleep(0)

            with pytest.raises(SessionError) as raised:
                await bounded(kept.sessions.hold(session.id))

            assert raised.value.kind == "unknown_session"
            assert await bounded(deleting)


async def test_a_session_in_which_something_works_stays(tmp_path: Path) -> None:
    gate = Gate()
    wait = waiting("wait", gate)
    async with daemon(tmp_path, [say("", Call(name="wait", arguments={})), HELLO], tools=[wait]) as kept:
        session = kept.new()
        running = session.start_turn(TurnRequest(parts=("go",)), Reader())
        await gate.reached()

        await _fill(kept)

        assert kept.sessions.live(session.id) is session
        gate.open()
        assert running.task is not None
        assert (await bounded(running.task)).text == "Hello."


async def test_a_session_for_which_the_user_allowed_something_stays_and_asks_no_more(tmp_path: Path) -> None:
    async def change(_: ToolContext) -> str:
        return "changed"

    tools = [named("change", change, risk=ToolRisk.MEDIUM, read_only=False)]
    call = say("", Call(name="change", arguments={}))
    approver = FakeApprover("allow_session")
    async with daemon(tmp_path, [call, HELLO, call, HELLO], approver=approver, tools=tools) as kept:
        session = kept.new()
        await kept.say(session)

        await _fill(kept)

        assert kept.sessions.live(session.id) is session
        await kept.say(session)
        assert len(approver.requests) == 1


@pytest.mark.parametrize("reads", [True, False], ids=["reads", "reads slowly"])
async def test_a_session_that_somebody_watches_stays(tmp_path: Path, *, reads: bool) -> None:
    async with daemon(tmp_path, [HELLO]) as kept:
        session, reader = kept.new(), Reader()
        await kept.say(session)
        if not reads:
            reader.stop_reading()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(Attachment(kept.sessions, session.id, 0, reader).follow())
            await reader.until(session.last_seq)
            await asyncio.sleep(0)

            await _fill(kept)

            assert kept.sessions.live(session.id) is session
            watching.cancel()
        await _fill(kept)
        assert kept.sessions.live(session.id) is None


async def test_a_session_that_is_nowhere_but_in_memory_stays(tmp_path: Path) -> None:
    async with daemon(tmp_path, persist=False) as kept:
        sessions: list[Session] = [kept.new() for _ in range(MAX_LIVE + 20)]

        assert kept.sessions.all() == sessions
