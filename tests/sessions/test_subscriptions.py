"""A session is watched: what happened and what happens, each event once, whoever has the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.events import TextDelta
from pygent_ls.agent.messages import now
from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.files import MemoryJournal, Piece, lines_of
from pygent_ls.sessions.journal.records import Told, line_of
from pygent_ls.sessions.journal.tail import Tail
from pygent_ls.sessions.subscriptions import BATCH_BYTES, Attached, Attachment
from pygent_ls.sessions.turns.request import TurnRequest
from tests.fakes import Call, Gate, bounded, say
from tests.sessions.journal.kept import Kept, daemon, one_eventful_turn
from tests.sessions.subscribers import Reader


@asynccontextmanager
async def attached(
    kept: Kept, session_id: str, since_seq: int = 0, reader: Reader | None = None
) -> AsyncGenerator[tuple[Reader, asyncio.Task[Attached]]]:
    """A reader of a session; it leaves at the end."""
    reader = reader or Reader()
    task = asyncio.create_task(Attachment(kept.sessions, session_id, since_seq, reader).follow())
    try:
        yield reader, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def seqs(reader: Reader) -> list[int]:
    return [each.seq for each in reader.events]


def to(n: int, first: int = 1) -> list[int]:
    return list(range(first, n + 1))


@pytest.mark.parametrize("persist", [True, False], ids=["kept", "in memory"])
async def test_what_happened_is_told_and_what_happens_too_to_as_many_as_want_to_know(
    tmp_path: Path, *, persist: bool
) -> None:
    gate = Gate()
    script = [say("one", thinking="hm"), [gate, *say("two")], say("three")]
    async with daemon(tmp_path, script, persist=persist) as kept:
        session, own = kept.new(), Reader()
        await kept.say(session, "first", own)
        running = session.start_turn(TurnRequest(parts=("second",)), own)
        await gate.reached()
        seen = session.last_seq
        async with attached(kept, session.id) as (all_, _), attached(kept, session.id, seen) as (later, _):
            await all_.until(seen)
            gate.open()
            assert running.task is not None
            await bounded(running.task)
            await kept.say(session, "third", own)
            await all_.until(session.last_seq)
            await later.until(session.last_seq - seen)

            assert all_.events == own.events
            assert later.events == own.events[seen:]


async def test_a_session_that_nobody_has_is_told_from_its_journal(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one")]) as first:
        session, own = first.new(), Reader()
        await first.say(session, "go", own)

    async with daemon(tmp_path) as second, attached(second, session.id) as (reader, _):
        await reader.until(len(own.events))

        assert reader.events == own.events
        assert second.sessions.live(session.id) is None


async def cut_off(root: Path) -> tuple[str, int]:
    """A session whose daemon was killed in a turn; its last event."""
    session_id, data = await one_eventful_turn(root)
    lines = data.split(b"\n")
    place = next(at for at, line in enumerate(lines) if b'"type":"tool_call"' in line)
    (root / f"{session_id}.jsonl").write_bytes(b"\n".join([*lines[: place + 1], lines[place + 1][:20]]))
    told = [line for line in lines[: place + 1] if b'"type":"event"' in line]
    return session_id, len(told)


async def test_a_turn_that_was_cut_off_is_told_closed_and_each_event_once_when_somebody_goes_on(tmp_path: Path) -> None:
    session_id, n_told = await cut_off(tmp_path)
    async with daemon(tmp_path, [say("on")]) as kept, attached(kept, session_id) as (reader, _):
        await reader.until_type("finished")
        closed = seqs(reader)
        n_bytes = (tmp_path / f"{session_id}.jsonl").stat().st_size
        session = await kept.sessions.hold(session_id)
        await kept.say(session)
        await reader.until(session.last_seq)

        assert closed == to(len(closed))
        assert len(closed) > n_told
        assert reader.types[n_told : len(closed)].count("interrupted") == 1
        assert (tmp_path / f"{session_id}.jsonl").stat().st_size > n_bytes
        assert seqs(reader) == to(session.last_seq)


async def test_what_another_daemon_writes_is_followed_also_when_the_session_comes_here(tmp_path: Path) -> None:
    gate = Gate()
    script = [say("", Call(name="nothing", arguments={})), [gate, *say("done")]]
    async with daemon(tmp_path, [say("one")]) as here, daemon(tmp_path, script) as there:
        session, own = there.new(), Reader()
        running = session.start_turn(TurnRequest(parts=("go",)), own)
        await gate.reached()
        async with attached(here, session.id) as (reader, _):
            await reader.until(session.last_seq)
            assert "interrupted" not in reader.types
            gate.open()
            assert running.task is not None
            await bounded(running.task)
            await reader.until(session.last_seq)
            await there.sessions.close_one(session.id)
            mine = await here.sessions.hold(session.id)
            await here.say(mine, "on", own)
            await reader.until(mine.last_seq)

            assert reader.events == own.events


async def test_a_slow_reader_slows_nobody_and_is_told_all_once_it_reads(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one"), say("two")]) as kept:
        session, slow, own = kept.new(), Reader(), Reader()
        await kept.say(session, "first", own)
        slow.stop_reading()
        async with attached(kept, session.id, reader=slow) as (_, task):
            await slow.until(len(own.events))
            await kept.say(session, "second", own)
            assert len(slow.events) < len(own.events)
            slow.read_on()
            await slow.until(session.last_seq)

            assert slow.events == own.events
            assert not task.done()


async def test_a_long_journal_comes_in_batches(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("x" * 100_000) for _ in range(8)]) as first:
        session = first.new()
        for _ in range(8):
            await first.say(session)
        n_events = session.last_seq
    async with daemon(tmp_path) as kept, attached(kept, session.id) as (reader, _):
        await reader.until(n_events)

    assert (tmp_path / f"{session.id}.jsonl").stat().st_size > 4 * BATCH_BYTES
    assert len(reader.batches) > 4
    assert seqs(reader) == to(n_events)


async def test_it_ends_when_the_session_is_closed_here_and_says_where_to_go_on(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one")]) as kept:
        session = kept.new()
        await kept.say(session)
        async with attached(kept, session.id) as (reader, task):
            await reader.until(1)
            await kept.sessions.close_one(session.id)

            assert await bounded(task) == Attached(last_seq=session.last_seq, ended="closed")
            assert seqs(reader) == to(session.last_seq)


@pytest.mark.parametrize("persist", [True, False], ids=["kept", "in memory"])
async def test_it_ends_when_the_session_is_deleted(tmp_path: Path, *, persist: bool) -> None:
    async with daemon(tmp_path, [say("one")], persist=persist) as kept:
        session = kept.new()
        await kept.say(session)
        async with attached(kept, session.id) as (reader, task):
            await reader.until(session.last_seq)
            await kept.sessions.delete(session.id)

            assert await bounded(task) == Attached(last_seq=session.last_seq, ended="deleted")


async def test_it_ends_when_another_daemon_deletes_the_session(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one")]) as there, daemon(tmp_path) as here:
        session = there.new()
        await there.say(session)
        async with attached(here, session.id) as (reader, task):
            await reader.until(session.last_seq)
            await there.sessions.delete(session.id)

            assert await bounded(task) == Attached(last_seq=session.last_seq, ended="deleted")


@pytest.mark.parametrize("session_id", ["no-such", "../etc", ""])
async def test_a_session_that_there_is_not_is_said_to_be_unknown(tmp_path: Path, session_id: str) -> None:
    async with daemon(tmp_path) as kept:
        with pytest.raises(SessionError) as caught:
            await bounded(Attachment(kept.sessions, session_id, 0, Reader()).follow())

    assert caught.value.kind == "unknown_session"


async def test_a_journal_that_cannot_be_read_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").mkdir()
    async with daemon(tmp_path) as kept:
        with pytest.raises(SessionError, match="cannot be read: Is a directory") as caught:
            await bounded(Attachment(kept.sessions, "s1", 0, Reader()).follow())

    assert caught.value.kind == "unreadable_session"


async def test_whoever_knows_of_events_that_were_lost_is_told_those_that_come_in_their_place(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one"), say("two")]) as kept:
        session = kept.new()
        await kept.say(session)
        seen = session.last_seq
        knowing, reading = Reader(), Reader()
        async with attached(kept, session.id, 10_000, knowing), attached(kept, session.id, 0, reading):
            await reading.until(seen)
            await kept.say(session)
            await knowing.until(session.last_seq - seen)

            assert seqs(knowing) == to(session.last_seq, seen + 1)


async def test_a_damaged_journal_is_told_as_far_as_it_can_be(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one")]) as first:
        session = first.new()
        await first.say(session)
        n_events = session.last_seq
    path = tmp_path / f"{session.id}.jsonl"
    lines = path.read_bytes().split(b"\n")
    damaged = [at for at, line in enumerate(lines) if b'"type":"event"' in line][2]
    lines[damaged] = b'{"v":1,"type":"event","seq":3,"turn'
    lines[1:1] = [b"", b"null", b'{"v":2,"type":"event","seq":2}', b'{"v":1,"type":"later"}', b"\xff"]
    path.write_bytes(b"\n".join(lines)[:-1])
    async with daemon(tmp_path) as kept, attached(kept, session.id) as (reader, _):
        await reader.until(n_events - 1)

    assert seqs(reader) == [each for each in to(n_events) if each != 3]


def event(seq: int, content: str = "x") -> SessionEvent:
    delta = TextDelta(item_id="i", content=content)
    return SessionEvent(event=delta, seq=seq, turn_id="t", iteration=1, total_tokens=0, timestamp=now())


@given(st.lists(st.lists(st.integers(1, 12), max_size=8), max_size=8), st.integers(0, 12), st.integers(1, 400))
def test_however_a_journal_grows_each_event_is_taken_once_and_in_order(
    writes: list[list[int]], since: int, max_bytes: int
) -> None:
    journal, tail, found = MemoryJournal(), Tail(since), list[int]()
    for seqs_ in writes:
        journal.append([Told(event=event(each)) for each in seqs_])
        is_all = False
        while not is_all:
            events, is_all = tail.take(lines_of(journal.read, tail.offset), max_bytes)
            found += [each.seq for each in events]

    expected: list[int] = []
    for seq in (each for write in writes for each in write):
        if seq > max([since, *expected]):
            expected.append(seq)
    assert found == expected


@given(junk=st.binary(max_size=200), cut=st.integers(0, 200), has_end=st.booleans())
def test_no_bytes_are_an_exception_and_what_is_whole_behind_them_is_taken(
    junk: bytes, cut: int, *, has_end: bool
) -> None:
    line = line_of(Told(event=event(7, "é\u2028\ud800")))
    data = junk + b"\n" + line + (b"" if has_end else line[: cut % len(line)])

    def read(offset: int) -> Piece:
        return Piece(offset, data[offset : offset + 50])

    tail = Tail(0)
    events, is_all = tail.take(lines_of(read), 10_000)

    assert is_all
    assert [each.seq for each in events][-1:] == [7]
    assert tail.offset == len(junk) + 1 + len(line)
