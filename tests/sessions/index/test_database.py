"""The index's file: whatever becomes of it, and whoever else uses it, what is found is what the journals say."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.database import connect
from pygent_ls.sessions.index.index import Index
from pygent_ls.sessions.index.sources import FolderSource
from pygent_ls.sessions.journal.files import JournalLine
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.replay import Recalled
from tests.fakes import WAIT_S, bounded
from tests.sessions.index.journals import Writing, written
from tests.sessions.index.rig import Indexed, indexed

TURNS = (("tell me", "the zygote question"), ("go on", "it is settled"))


class Watched(FolderSource):
    """The journals of a folder; records from which offset they are read, and can be made to wait."""

    def __init__(self, journals: JournalFolder) -> None:
        super().__init__(journals)
        self.read_from: list[int] = []
        self.read_whole: list[str] = []
        self.is_read = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()

    def lines(self, session_id: str, offset: int) -> Iterator[JournalLine]:
        """Implement `Source`."""
        self.read_from.append(offset)
        self.is_read.set()
        self.goes_on.wait(WAIT_S)
        return super().lines(session_id, offset)

    def recalled(self, session_id: str) -> Recalled | None:
        """Implement `Source`."""
        self.read_whole.append(session_id)
        return super().recalled(session_id)


async def test_the_index_is_for_its_owner_alone(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        written(rig.journals, "one", *TURNS)
        await rig.listed()

    assert files_in(tmp_path, "index*") == {"index.lock": 0o600, "index.sqlite3": 0o600, "index.sqlite3-journal": 0o600}


async def test_nothing_is_made_where_no_session_was_kept(tmp_path: Path) -> None:
    async with indexed(tmp_path / "sessions") as rig:
        assert (await rig.listed(), await rig.found("zygote")) == ({}, [])

    assert files_in(tmp_path, "*") == {}


def files_in(folder: Path, pattern: str) -> dict[str, int]:
    """Their modes, by name."""
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.glob(pattern)}


async def test_only_what_was_appended_is_read_by_the_next_daemon_too(tmp_path: Path) -> None:
    session = Writing(JournalFolder(tmp_path), "one")
    session.turn(*TURNS[0])
    size = session.journal.size
    async with indexed(tmp_path) as rig:
        await rig.listed()
    session.turn(*TURNS[1])
    session.close()

    async with indexed(tmp_path) as rig:
        rig.source = watched = Watched(rig.journals)

        assert await rig.found("settled") == [("one", "turn-2")]
        assert await rig.found("zygote") == [("one", "turn-1")]
        assert watched.read_from == [size]


async def test_only_what_was_cut_off_is_read_whole_and_once(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        rig.source = watched = Watched(rig.journals)
        written(rig.journals, "whole", *TURNS)
        free, cut = Writing(rig.journals, "free"), Writing(rig.journals, "cut")
        for session in (free, cut):
            session.begin("go")
        free.finish(is_free=True)
        free.close()
        cut.close()
        for _ in range(3):
            await rig.listed()

        assert watched.read_whole == ["cut"]


@given(at=st.floats(0, 1, exclude_max=True), noise=st.binary(min_size=1, max_size=5000), is_open=st.booleans())
def test_an_index_of_which_any_bytes_are_others_is_made_anew(at: float, noise: bytes, is_open: bool) -> None:
    async def story(folder: Path) -> None:
        async with indexed(folder) as rig, indexed(folder) as other:
            written(rig.journals, "one", *TURNS)
            before = await rig.listed()
            if is_open:
                await other.listed()
            overwrite(folder / "index.sqlite3", at, noise)

            assert await other.listed() == before
            assert await rig.found("zygote") == await other.found("zygote") == [("one", "turn-1")]

    with TemporaryDirectory() as folder:
        asyncio.run(story(Path(folder)))


def overwrite(path: Path, at: float, noise: bytes) -> None:
    data = path.read_bytes()
    begin = int(at * len(data))
    path.write_bytes(data[:begin] + noise + data[begin + len(noise) :])


@given(at=st.floats(0, 1, exclude_max=True), noise=st.binary(min_size=1, max_size=5000))
def test_an_index_that_is_broken_though_nobody_seems_to_have_touched_it_is_no_error(at: float, noise: bytes) -> None:
    async def story(folder: Path) -> None:
        async with indexed(folder) as rig:
            written(rig.journals, "one", *TURNS)
            await rig.listed()
        overwrite(folder / "index.sqlite3", at, noise)
        about = (folder / "index.sqlite3").stat()
        (folder / "index.lock").write_text(f"{about.st_size} {about.st_mtime_ns} {about.st_ino}\n")
        async with indexed(folder) as rig:
            await rig.listed()
            await rig.found("zygote")

    with TemporaryDirectory() as folder:
        asyncio.run(story(Path(folder)))


class Counting(sqlite3.Connection):
    """Counts its transactions, each of which waits for the disk at its end."""

    n_commits = 0

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """Forward to `sqlite3.Connection`."""
        if sql == "COMMIT":
            Counting.n_commits += 1
        return super().execute(sql, *values)


def counting(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Counting)


async def test_a_missing_index_is_made_in_few_transactions(tmp_path: Path) -> None:
    journals = JournalFolder(tmp_path)
    for number in range(60):
        written(journals, f"s{number}", ("tell me", "word " * 10_000))
    Counting.n_commits = 0
    async with indexed(tmp_path, counting) as rig:
        assert len(await rig.listed()) == 60

    assert Counting.n_commits < 30


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE version SET version = '0'",
        "DROP TABLE version",
        "DROP TABLE messages",
        "DROP TABLE words",
        "UPDATE sessions SET facts = '{}', size = 1",
        "UPDATE sessions SET entry = 'x'",
    ],
)
async def test_an_index_of_another_form_is_made_anew(tmp_path: Path, change: str) -> None:
    written(JournalFolder(tmp_path), "one", *TURNS)
    async with indexed(tmp_path) as rig:
        before = await rig.listed()
    database = sqlite3.connect(tmp_path / "index.sqlite3")
    database.execute(change)
    database.commit()
    database.close()
    (tmp_path / "index.lock").write_bytes(b"busy\n")  # as if we had written that, and not ended

    async with indexed(tmp_path) as rig:
        assert await rig.listed() == before
        assert await rig.found("zygote") == [("one", "turn-1")]


async def test_an_index_that_is_taken_away_is_made_anew_by_each_daemon_that_has_it_open(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig, indexed(tmp_path) as other:
        written(rig.journals, "one", *TURNS)
        before = await rig.listed()
        await other.listed()
        (tmp_path / "index.sqlite3").unlink()

        assert await other.listed() == before
        assert await rig.listed() == before
        assert (tmp_path / "index.sqlite3").exists()


async def test_several_daemons_use_it_at_once_while_sessions_are_written(tmp_path: Path) -> None:
    journals = JournalFolder(tmp_path)
    daemons = [Indexed(tmp_path) for _ in range(4)]
    sessions = [Writing(journals, f"session{number}") for number in range(3)]
    for _ in range(5):
        for session in sessions:
            session.turn(*TURNS[0])
        await bounded(asyncio.gather(*(daemon.listed() for daemon in daemons)))
    found = await bounded(asyncio.gather(*(daemon.found("zygote", 100) for daemon in daemons)))
    for session in sessions:
        session.close()
    for daemon in daemons:
        await bounded(daemon.index.close())

    assert [len(set(each)) for each in found] == [15] * 4


def without_fts5(path: str) -> sqlite3.Connection:
    """As an SQLite that was built without it."""

    def allow(action: int, *_: object) -> int:
        return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_CREATE_VTABLE else sqlite3.SQLITE_OK

    database = connect(path)
    database.set_authorizer(allow)
    return database


def on_a_full_disk(path: str) -> sqlite3.Connection:
    """As one that has no room for the database's second page."""
    database = connect(path)
    if path != ":memory:":
        database.execute("PRAGMA max_page_count = 1")
    return database


async def test_without_fts5_sessions_are_listed_and_found_from_memory_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with indexed(tmp_path, without_fts5) as rig:
        written(rig.journals, "one", *TURNS, name="Biology")

        assert list(await rig.listed()) == ["one"]
        assert await rig.found("zygote question") == [("one", "turn-1")]
        assert await rig.found("biology settled") == [("one", "turn-2")]
        assert await rig.sessions_with("zygote") == {"one"}
        assert await rig.found("nothing") == []

    assert not (tmp_path / "index.sqlite3").exists()
    assert told(caplog) == [
        f"The index of sessions cannot be kept in {tmp_path / 'index.sqlite3'}, and is made in memory, which takes "
        "longer: the SQLite of this Python comes without FTS5."
    ]


@pytest.mark.parametrize("what", ["index.sqlite3", "index.lock"])
async def test_where_the_index_cannot_be_written_it_is_in_memory_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    (tmp_path / what).mkdir()
    async with indexed(tmp_path) as rig:
        written(rig.journals, "one", *TURNS)
        session = Writing(rig.journals, "two")
        first = await rig.found("zygote")
        session.turn(*TURNS[0])
        second = await rig.found("zygote")
        warned = len(told(caplog))
        (tmp_path / what).rmdir()
        session.turn(*TURNS[0])
        third = await rig.found("zygote")
        session.close()

    assert (len(first), len(second), len(third), warned) == (1, 2, 3, 1)
    assert (tmp_path / "index.sqlite3").is_file()


async def test_on_a_full_disk_sessions_are_found_from_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with indexed(tmp_path, on_a_full_disk) as rig:
        written(rig.journals, "one", *TURNS)

        assert await rig.found("zygote") == [("one", "turn-1")]

    assert [each.rpartition(": ")[2] for each in told(caplog)] == ["database or disk is full."]


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


async def test_a_daemon_that_ends_waits_for_nothing_that_is_looked_for(tmp_path: Path) -> None:
    rig = Indexed(tmp_path)
    written(rig.journals, "one", *TURNS)
    rig.source = watched = Watched(rig.journals)
    watched.goes_on.clear()
    asking = asyncio.ensure_future(rig.found("zygote"))
    await bounded(asyncio.to_thread(watched.is_read.wait))

    ending = asyncio.ensure_future(rig.index.close())
    await bounded(asyncio.to_thread(_until_ending, rig.index))
    watched.goes_on.set()
    await bounded(ending)

    for each in (asking, asyncio.ensure_future(rig.found("zygote"))):
        with pytest.raises(SessionError, match="The program ends") as raised:
            await bounded(each)
        assert raised.value.kind == "ending"


def _until_ending(index: Index) -> None:
    index.is_ending.wait(WAIT_S)
