"""A disk that is full, or cannot be written, costs no turn: the user is told, and all is written when there is room."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.replay import Recalled
from tests.agent.abilities import named, saying
from tests.fakes import Call, say
from tests.sessions.journal.kept import Kept, check_whole_story, daemon, events_in, files_in
from tests.sessions.subscribers import Reader


@contextmanager
def no_file_above(n_bytes: int) -> Generator[None]:
    """The system lets this process write no file beyond that size; what a full disk does, to one file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("room", [0, 1, 100, 777, 2_000])
async def test_a_turn_goes_on_when_the_disk_is_full_and_is_written_when_there_is_room(
    tmp_path: Path, room: int
) -> None:
    looks = [saying(f"look_{n}", "seen " * 50) for n in range(4)]
    script = [
        say("Before."),
        *[say(f"Looking {n}.", Call(name=f"look_{n}", arguments={})) for n in range(4)],
        say("Done in the end."),
        say("After."),
    ]
    async with daemon(tmp_path, script, tools=looks) as kept:
        session = kept.new()
        path = tmp_path / f"{session.id}.jsonl"
        await kept.say(session, "one")
        before = path.read_bytes()
        reader = Reader()
        with no_file_above(len(before) + room):
            assert (await kept.say(session, "two", reader)).text == "Done in the end."
            assert len(path.read_bytes()) <= len(before) + room
        notices = [each.event.content for each in reader.events if each.event.type == "notice"]
        assert [each for each in notices if "cannot be written to disk" in each] == notices
        assert len(notices) == 1, "once"
        assert (await kept.say(session, "three")).text == "After."
        messages, last_seq = list(session.messages), session.last_seq

    assert path.read_bytes().startswith(before)
    async with daemon(tmp_path) as again:
        found = await again.sessions.look_at(session.id)
    assert isinstance(found, Recalled)
    assert list(found.messages) == messages
    assert found.last_seq == last_seq
    assert found.notices == ()
    check_whole_story(events_in(path.read_bytes()))


async def test_a_disk_that_is_full_when_a_session_is_made_keeps_it_in_memory_and_leaves_nothing(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("Hello.")]) as kept:
        with no_file_above(10):
            session = kept.new()
        reader = Reader()

        assert (await kept.say(session, "hi", reader)).text == "Hello."

        assert files_in(tmp_path) == []
        notices = [each.event.content for each in reader.events if each.event.type == "notice"]
        assert ["only in memory" in each for each in notices] == [True]


async def test_a_folder_that_cannot_be_made_costs_no_session(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("this is a file")
    async with daemon(tmp_path / "state" / "sessions", [say("Hello.")]) as kept:
        session = kept.new()
        reader = Reader()

        assert (await kept.say(session, "hi", reader)).text == "Hello."
        assert ["notice" in each for each in reader.types].count(True) == 1


async def test_a_folder_that_is_gone_is_made_again_for_the_next_session(tmp_path: Path) -> None:
    root = tmp_path / "a" / "sessions"
    async with daemon(root, [say("Hello.")]) as kept:
        session = kept.new()
        await kept.say(session)

        assert (root / f"{session.id}.jsonl").stat().st_mode & 0o777 == 0o600
        assert root.stat().st_mode & 0o777 == 0o700


@contextmanager
def removed(state: Path) -> Generator[None]:
    """The folder is gone, and stays so."""
    shutil.rmtree(state)
    yield


@contextmanager
def moved_away(state: Path) -> Generator[None]:
    """The folder has another name; what stands there stays as it is."""
    elsewhere = state.with_name("elsewhere")
    state.rename(elsewhere)
    before = {each: each.read_bytes() for each in elsewhere.rglob("*.jsonl")}
    yield
    assert {each: each.read_bytes() for each in elsewhere.rglob("*.jsonl")} == before


@contextmanager
def put_back_from_a_backup(state: Path) -> Generator[None]:
    """The folder was removed, and is there again as it was before the last turn."""
    shutil.rmtree(state)
    state.with_name("backup").rename(state)
    yield


@contextmanager
def cut_short_when_it_was_put_back(state: Path) -> Generator[None]:
    """Put the folder back from a backup whose copy was cut short by a full disk."""
    shutil.rmtree(state)
    state.with_name("backup").rename(state)
    (journal,) = state.rglob("*.jsonl")
    os.truncate(journal, journal.stat().st_size // 2)
    yield


@pytest.mark.parametrize("trouble", [removed, moved_away, put_back_from_a_backup, cut_short_when_it_was_put_back])
async def test_a_session_whose_folder_is_lost_is_written_again_whole(
    tmp_path: Path, trouble: Callable[[Path], AbstractContextManager[None]]
) -> None:
    root = tmp_path / "state" / "sessions"
    async with daemon(root, [say("One."), say("Two."), say("Three.")]) as kept:
        session = kept.new()
        await kept.say(session, "first")
        shutil.copytree(tmp_path / "state", tmp_path / "backup")
        await kept.say(session, "second")
        with trouble(tmp_path / "state"):
            reader = Reader()
            await kept.say(session, "third", reader)
        assert "notice" not in reader.types
        messages, last_seq = list(session.messages), session.last_seq
        path = root / f"{session.id}.jsonl"
        assert events_in(path.read_bytes()) == events_in(session.journal.read(0).data)
        async with daemon(root) as other:
            with pytest.raises(SessionError, match="in use by another"):
                await other.sessions.hold(session.id)

    async with daemon(root) as again:
        found = await again.sessions.look_at(session.id)
    assert isinstance(found, Recalled)
    assert (list(found.messages), found.last_seq, found.notices) == (messages, last_seq, ())
    check_whole_story(events_in(path.read_bytes()))
    assert path.stat().st_mode & 0o777 == 0o600
    assert root.stat().st_mode & 0o777 == 0o700


async def test_a_session_whose_folder_is_lost_while_nothing_happens_is_written_again_when_it_is_closed(
    tmp_path: Path,
) -> None:
    root = tmp_path / "state" / "sessions"
    async with daemon(root, [say("One."), say("Two.")]) as kept:
        session = kept.new()
        await kept.say(session, "first")
        shutil.rmtree(root)
        attached = await kept.sessions.export(session.id, "html")
        await kept.sessions.close_one(session.id)
        assert "first" in attached
        assert (await kept.say(await kept.sessions.hold(session.id), "second")).text == "Two."

    async with daemon(root) as again:
        assert len((await again.sessions.look_at(session.id)).messages) == 4


async def test_a_file_in_the_place_of_a_journal_is_left_alone_and_the_user_is_told_in_the_turn(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    async with daemon(root, [say("One."), say("Two."), say("Three.")]) as kept:
        session = kept.new()
        await kept.say(session, "first")  # a moment ago, so that the next turn's events travel together
        path = root / f"{session.id}.jsonl"
        path.unlink()
        path.write_text("another's words")
        reader = Reader()
        await kept.say(session, "second", reader)
        assert path.read_text() == "another's words"
        notices = [each.event.content for each in reader.events if each.event.type == "notice"]
        assert ["another file is in the place of its journal" in each for each in notices] == [True]
        assert reader.types[-1] == "finished"

        path.unlink()
        await kept.say(session, "third")
    async with daemon(root) as again:
        assert len((await again.sessions.look_at(session.id)).messages) == 6


async def test_a_session_that_is_not_kept_leaves_nothing_on_the_disk_and_can_do_all_else(tmp_path: Path) -> None:
    root = tmp_path / "state" / "sessions"

    async def write_nothing(context: ToolContext) -> str:
        return "changed"

    tools = [named("change", write_nothing, risk=ToolRisk.MEDIUM, read_only=False)]
    script = [say("", Call(name="change", arguments={})), say("First words."), say("Of the fork.")]
    async with daemon(root, script, persist=False, tools=tools) as kept:
        session = kept.new()
        await kept.say(session)
        fork = await kept.sessions.fork(session.id)
        await kept.say(fork)
        assert (await kept.sessions.look_at(session.id)).last_seq == session.last_seq
        assert events_in(session.journal.read(0).data)[0].event.type == "turn_started"
        await kept.sessions.close_one(fork.id)
        assert await kept.sessions.hold(fork.id) is fork, "closing ends what works in it, not the session"
        await kept.sessions.delete(fork.id)

    assert files_in(tmp_path) == []


def test_nobody_else_may_read_a_journal(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        session = Kept(tmp_path / "sessions").new()
        path = tmp_path / "sessions" / f"{session.id}.jsonl"
        modes = [path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777]
        session.journal.close()
    finally:
        os.umask(before)

    assert modes == [0o600, 0o700]
