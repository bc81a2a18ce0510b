"""All sessions are listed and found: those in memory, kept or not, and those of daemons before and beside this one."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.index.session_list import Page, SessionFilter
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.turns.request import TurnRequest
from tests.fakes import FOLDER, Gate, bounded, say
from tests.sessions.journal.kept import Kept, daemon
from tests.sessions.subscribers import Reader


async def page_of(kept: Kept, wanted: SessionFilter | None = None) -> Page:
    return await bounded(kept.sessions.page(wanted or SessionFilter()))


async def ids(kept: Kept, wanted: SessionFilter | None = None) -> list[str]:
    return [each.id for each in (await page_of(kept, wanted)).sessions]


async def found(kept: Kept, query: str) -> list[tuple[str, str]]:
    """Session and snippet of what is found."""
    return [(each.session_id, each.snippet) for each in await bounded(kept.sessions.search(query, 20))]


async def test_a_session_is_listed_and_found_by_the_daemons_that_come_after(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("The zygote question is settled.")]) as kept:
        session = kept.new()
        await kept.say(session, "tell me")
        (live,) = (await page_of(kept)).sessions

    async with daemon(tmp_path) as kept:
        (past,) = (await page_of(kept)).sessions
        assert past == replace(live, updated_at=past.updated_at)  # it is that of the last record
        assert past.n_messages == 2
        assert await found(kept, "zygote tell") == [(session.id, "tell me The zygote question is settled.")]
        assert kept.sessions.all() == []  # the list does not load it


async def test_what_another_daemon_does_is_seen_while_it_does_it(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one"), say("the zygote")]) as other, daemon(tmp_path) as kept:
        session = other.new()
        await other.say(session, "first")
        before = await found(kept, "zygote")
        await other.say(session, "second")
        session.rename("Biology")

        assert (before, await found(kept, "zygote")) == ([], [(session.id, "second the zygote")])
        (entry,) = (await page_of(kept)).sessions
        assert (entry.name, entry.n_messages, entry.is_interrupted) == ("Biology", 4, False)
        assert await ids(kept, SessionFilter(query="biol")) == [session.id]


async def test_of_a_session_in_memory_it_is_told_what_it_is_now(tmp_path: Path) -> None:
    gate = Gate()
    async with daemon(tmp_path, [[gate]]) as kept:
        session, other = kept.new(), kept.new()
        running = session.start_turn(TurnRequest(parts=("look for plums",)), Reader())
        await bounded(gate.reached())

        assert (await page_of(kept)).sessions == [SessionEntry.of(each) for each in (session, other)]
        assert await ids(kept, SessionFilter(query="plums")) == [session.id]
        running.cancel()


@pytest.mark.parametrize("persist", [True, False])
async def test_sessions_in_memory_alone_are_listed_and_found_and_end_with_the_daemon(
    tmp_path: Path, *, persist: bool
) -> None:
    root = tmp_path / "sessions"
    async with daemon(root, [say("The zygote is settled."), say("Other.")], persist=persist) as kept:
        session, other = kept.new(), kept.new()
        await kept.say(session, "tell me")
        first = await found(kept, "zygote")
        await kept.say(other, "zygote, too")

        assert first == [(session.id, "tell me The zygote is settled.")]
        assert {each for each, _ in await found(kept, "zygote")} == {session.id, other.id}
        assert await ids(kept, SessionFilter(query="settled")) == [session.id]
        await kept.sessions.delete(session.id)
        assert (await found(kept, "settled"), await ids(kept)) == ([], [other.id])

    async with daemon(root) as kept:
        assert await ids(kept) == ([other.id] if persist else [])
    assert root.exists() is persist


async def test_a_deleted_session_is_not_found(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("the zygote")]) as kept:
        session = kept.new()
        await kept.say(session)

    async with daemon(tmp_path) as kept:
        assert await ids(kept) == [session.id]
        await bounded(kept.sessions.delete(session.id))

        assert (await ids(kept), await found(kept, "zygote")) == ([], [])


async def test_a_session_in_which_nothing_was_said_is_left_out_where_that_is_wanted_unless_it_was_named(
    tmp_path: Path,
) -> None:
    async with daemon(tmp_path, [say("yes")]) as kept:
        unused, named, used = kept.new(), kept.new(), kept.new()
        named.rename("For tomorrow")
        await kept.say(used)
        used.take_conversation(())
        assert set(await ids(kept, SessionFilter(used=True))) == {unused.id, named.id, used.id}  # they are open

    async with daemon(tmp_path) as kept:
        assert set(await ids(kept)) == {unused.id, named.id, used.id}
        assert set(await ids(kept, SessionFilter(used=True))) == {named.id, used.id}


async def test_a_turn_that_was_cut_off_is_seen_in_the_list_until_somebody_goes_on(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("Looking at plums.")]) as kept:
        session = kept.new()
        await kept.say(session)
    path = tmp_path / f"{session.id}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    end = next(at for at, line in enumerate(lines) if b'"type":"finished"' in line)
    path.write_bytes(b"".join(lines[:end]))

    async with daemon(tmp_path, [say("on")]) as kept:
        before = (await page_of(kept)).sessions
        loaded = await bounded(kept.sessions.look_at(session.id))
        await kept.say(await kept.sessions.hold(session.id))
        after = (await page_of(kept)).sessions

    assert [(each.is_interrupted, each.n_messages) for each in before] == [(True, len(loaded.messages))]
    assert [each.is_interrupted for each in after] == [False]


async def test_pages_hold_each_session_once_while_some_are_used(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("one")] * 4) as kept:
        old = [kept.sessions.new(NewSession(name=f"old {number}")) for number in range(3)]
    async with daemon(tmp_path, [say("one")] * 4) as kept:
        new = [kept.sessions.new(NewSession(name=f"new {number}")) for number in range(3)]
        newest_first = [each.id for each in reversed([*old, *new])]

        first = await page_of(kept, SessionFilter(limit=2))
        new[1].rename("used")
        second = await page_of(kept, SessionFilter(limit=2, cursor=first.cursor))
        third = await page_of(kept, SessionFilter(limit=2, cursor=second.cursor))

        assert [each.id for page in (first, second, third) for each in page.sessions] == newest_first
        assert (first.cursor is None, second.cursor is None, third.cursor) == (False, False, None)
        assert (await ids(kept))[0] == new[1].id


async def test_a_list_is_of_a_folder_or_of_all(tmp_path: Path) -> None:
    async with daemon(tmp_path) as kept:
        here = kept.new()
        there = kept.sessions.new(NewSession(working_directory=Path("/elsewhere")))
        live = await ids(kept, SessionFilter(folder=FOLDER)), await ids(kept, SessionFilter(folder=Path("/elsewhere")))
    async with daemon(tmp_path) as kept:
        past = await ids(kept, SessionFilter(folder=FOLDER)), await ids(kept, SessionFilter(folder=Path("/elsewhere")))

        assert live == past == ([here.id], [there.id])
        assert await ids(kept) == [there.id, here.id]


@pytest.mark.parametrize("cursor", ["", "zz", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z ../x"])
async def test_a_cursor_that_no_list_came_with_is_an_error(tmp_path: Path, cursor: str) -> None:
    async with daemon(tmp_path) as kept:
        with pytest.raises(SessionError, match="nextCursor") as raised:
            await kept.sessions.page(SessionFilter(cursor=cursor))
        assert raised.value.kind == "invalid_cursor"
