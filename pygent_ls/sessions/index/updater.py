"""Updates the index from the journals. What was read before is not read again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterator

from msgspec import Struct

from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.index.sources import Source, Stamp
from pygent_ls.sessions.index.tables import Mark, Tables
from pygent_ls.sessions.journal.files import JournalLine

BATCH_BYTES = 2_000_000
"""Number of bytes of a journal read at once."""

BUDGET_S = 0.5
"""Maximum seconds of one transaction. Afterwards other processes waiting for the index get their turn and find what was
done so far. A commit waits for the disk, so one per session would take most of the time."""


def catch_up(tables: Tables, source: Source, *, is_ending: Callable[[], bool]) -> bool:
    """Read what is new; return False if there is more, or the program is ending. Blocking.

    Raises `sqlite3.Error`, and ValueError, KeyError or TypeError for rows that this program did not write.
    """
    until = time.monotonic() + BUDGET_S
    for _ in _CatchingUp(tables, source).work():
        if is_ending() or time.monotonic() > until:
            tables.commit()
            return False
    tables.commit()
    return True


class _CatchingUp(Struct):
    tables: Tables
    source: Source

    def work(self) -> Iterator[None]:
        """Update the index step by step. Yields after each step, when the transaction may be committed."""
        stamps, marks = self.source.stamps(), self.tables.marks()
        for session_id in marks.keys() - stamps.keys():
            self.tables.begin()
            self.tables.forget(marks[session_id].number)
        oldest_first = sorted(stamps.items(), key=lambda each: each[1].mtime_ns)  # so that turns are numbered by time
        for session_id, stamp in oldest_first:
            mark = marks.get(session_id)
            with contextlib.suppress(OSError):  # it has been removed
                if mark is None or mark.stamp != stamp:
                    mark = yield from self._read(session_id, stamp, mark)
                if mark.is_open and mark.closed_at != stamp.size:
                    self._close(session_id, mark)
                    yield

    def _read(self, session_id: str, stamp: Stamp, mark: Mark | None) -> Generator[None, None, Mark]:
        """Read what was appended to a journal, or all of it if the file was replaced."""
        if mark is not None and not self._goes_on(session_id, stamp, mark):
            self.tables.begin()
            self.tables.forget(mark.number)
            mark = None
        for batch in _batches(self.source.lines(session_id, mark.read_to if mark else 0)):
            self.tables.begin()
            mark = mark or self.tables.add(session_id, stamp)
            mark = self._taken_in(session_id, stamp, mark, batch)
            yield
        self.tables.begin()
        mark = mark or self.tables.add(session_id, stamp)
        mark = mark._replace(stamp=stamp, is_open=mark.is_open or mark.read_to != stamp.size)
        self.tables.keep(mark)
        yield
        return mark

    def _goes_on(self, session_id: str, stamp: Stamp, mark: Mark) -> bool:
        """Whether it is the journal that was read before, with more at the end."""
        if mark.stamp.inode != stamp.inode or stamp.size <= mark.stamp.size:
            return False
        return self.source.tail(session_id, mark.read_to) == mark.tail

    def _taken_in(self, session_id: str, stamp: Stamp, mark: Mark, batch: list[JournalLine]) -> Mark:
        read_to = batch[-1].end
        tail = self.source.tail(session_id, read_to)
        facts = self.tables.facts(mark.number)
        self.tables.change(mark.number, facts.add(batch))
        after = mark._replace(
            stamp=stamp._replace(size=read_to),
            read_to=read_to,
            tail=tail,
            is_open=not facts.are_whole,
            closed_at=-1,
        )
        self.tables.learn(mark.number, facts)
        self.tables.keep(after)
        self.tables.list_as(mark.number, facts.entry(session_id))
        return after

    def _close(self, session_id: str, mark: Mark) -> None:
        """Replay the whole journal for the session's entry, unless a daemon owns the session."""
        try:
            recalled = self.source.recalled(session_id)
        except SessionError:
            entry = None
        else:
            if recalled is None:
                return
            entry = SessionEntry.of(recalled, is_interrupted=recalled.is_interrupted)
        self.tables.begin()
        self.tables.list_as(mark.number, entry)
        self.tables.keep(mark._replace(closed_at=mark.stamp.size))


def _batches(lines: Iterator[JournalLine]) -> Iterator[list[JournalLine]]:
    """Yield the complete lines in batches of at least `BATCH_BYTES`."""
    batch: list[JournalLine] = []
    n_bytes = 0
    for line in lines:
        if line.is_whole:
            batch.append(line)
            n_bytes += len(line.data)
        if n_bytes >= BATCH_BYTES:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch
