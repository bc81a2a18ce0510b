"""What a session was in memory it is again when it is taken up from the disk, whatever was done with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.tools.tasks import plan
from tests.fakes import Call, Gate, bounded, say
from tests.sessions.journal.kept import daemon
from tests.sessions.journal.test_disk_trouble import no_file_above
from tests.sessions.subscribers import Reader

PLANNING = (
    say("", Call(name="plan", arguments={"entries": [{"content": "look", "status": "in_progress"}]})),
    say("Planned."),
)


def all_of(session: Session) -> Mapping[str, object]:
    """What must be the same."""
    return {
        "messages": list(session.messages),
        "plan": session.services.memory.plan.entries,
        "usage": session.usage,
        "last_turn_usage": session.last_turn_usage,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "last_seq": session.last_seq,
        "name": session.name,
    }


async def test_a_conversation_that_was_emptied_has_no_plan_later_either(tmp_path: Path) -> None:
    async with daemon(tmp_path, PLANNING, tools=[plan]) as kept:
        session = kept.new()
        await kept.say(session)
        assert [each.content for each in session.services.memory.plan.entries] == ["look"]
        session.clear()
        assert session.services.memory.plan.entries == ()
        before = all_of(session)

    async with daemon(tmp_path) as again:
        assert all_of(await again.sessions.hold(session.id)) == before


async def test_when_it_was_used_last_is_the_same_moment_in_memory_and_on_the_disk(tmp_path: Path) -> None:
    journals = JournalFolder(tmp_path)
    async with daemon(tmp_path, [*PLANNING, say("More.")], tools=[plan]) as kept:
        session = kept.new()
        moments = [(session.updated_at, journals.recall(session.id).updated_at)]
        for prompt in ("plan it", "/status", "go on"):
            await kept.say(session, prompt)
            moments.append((session.updated_at, journals.recall(session.id).updated_at))
        session.rename("another")
        moments.append((session.updated_at, journals.recall(session.id).updated_at))
        session.clear()
        before = all_of(session)

    assert [in_memory for in_memory, _ in moments] == [on_disk for _, on_disk in moments]
    assert [each for each, _ in moments] == sorted({each for each, _ in moments}), "each is later"
    async with daemon(tmp_path) as again:
        assert all_of(await again.sessions.hold(session.id)) == before
        assert journals.recall(session.id).updated_at == before["updated_at"], "to be looked at is no use"


async def test_a_turn_that_runs_has_used_the_session_also_where_it_is_killed(tmp_path: Path) -> None:
    gate = Gate()
    async with daemon(tmp_path, [say("one"), [gate]]) as kept:
        session = kept.new()
        await kept.say(session)
        before = session.updated_at
        running = session.start_turn(TurnRequest(parts=("two",)), Reader())
        await bounded(gate.reached())
        await session.services.memory.settle()
        on_disk = JournalFolder(tmp_path).recall(session.id).updated_at
        assert on_disk == session.updated_at > before
        running.cancel()


async def test_closing_a_session_that_cannot_be_written_loses_nothing(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one"), say("two")]) as kept:
        session = kept.new()
        await kept.say(session)
        with no_file_above((tmp_path / f"{session.id}.jsonl").stat().st_size):
            await kept.say(session)
            await kept.sessions.close_one(session.id)
            assert await kept.sessions.hold(session.id) is session
        before = all_of(session)

    async with daemon(tmp_path) as again:
        assert all_of(await again.sessions.hold(session.id)) == before


async def test_the_id_of_a_turn_stays_taken_though_its_words_are_no_part_of_the_conversation(tmp_path: Path) -> None:
    command = TurnRequest(parts=("/status",), turn_id="mine")
    async with daemon(tmp_path) as kept:
        session = kept.new()
        running = session.start_turn(command, Reader())
        assert running.task is not None
        await bounded(running.task)
        assert not session.messages

    async with daemon(tmp_path) as again:
        with pytest.raises(SessionError) as refused:
            (await again.sessions.hold(session.id)).start_turn(command, Reader())
        assert refused.value.kind == "turn_id_taken"
