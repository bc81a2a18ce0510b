"""Watching a session: the events behind a number, and those to come, whoever has it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.files import Journal, Line, MemoryJournal, Piece, lines_of, read_file
from pygent_ls.sessions.journal.folder import JournalFolder, unknown
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.store import Sessions
from pygent_ls.sessions.stream import SessionEvent, Subscriber

POLL_S = 0.1
"""Between two looks at a journal that another daemon may write. A look is a `stat`; events wait half of it."""

SMALL_BYTES = 32_000
"""Of a journal that are read in the event loop: some milliseconds. More is read in a thread."""

BATCH_BYTES = 256_000
"""Of a journal whose events travel together: as much as may wait for an editor before it counts as slow."""

Ended = Literal["closed", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """How it ended by itself: the session was closed here, or is gone."""

    last_seq: int
    ended: Ended


class Attachment:
    """One reader of one session's journal. It reads on when what it gave was read, and keeps nothing meanwhile."""

    def __init__(self, sessions: Sessions, session_id: str, since_seq: int, reader: Subscriber) -> None:
        """Only events with a higher number than `since_seq` are told."""
        from pygent_ls.sessions.journal.tailing import Tail  # with it comes pydantic

        self._sessions = sessions
        self._id = session_id
        self._tail = Tail(since_seq)
        self._reader = reader

    @property
    def last_seq(self) -> int:
        """The last event that the reader was given, or had already."""
        return self._tail.last_seq

    async def follow(self) -> Attached:
        """Tell the reader what has happened and what happens, until the session is closed here, or gone.

        Raises `SessionError`: `unknown_session`, `unreadable_session`.
        """
        try:
            return await self._follow()
        except OSError as error:
            raise SessionError(
                f"The session {self._id!r} cannot be read: {error.strerror}.", kind="unreadable_session"
            ) from None

    async def _follow(self) -> Attached:
        while True:
            live, journals = self._sessions.live(self._id), self._sessions.journals
            if live is not None:
                live.journal.n_watchers += 1
                try:
                    await self._follow_here(live)
                finally:
                    live.journal.n_watchers -= 1
                return Attached(last_seq=self.last_seq, ended="deleted" if live.is_deleted else "closed")
            path = None if journals is None else journals.path(self._id)
            if journals is None or path is None:
                raise unknown(self._id)
            if await self._follow_file(journals, path):
                return Attached(last_seq=self.last_seq, ended="deleted")

    async def _follow_here(self, session: Session) -> None:
        """Until its journal is closed."""
        journal, size = session.journal, -1
        while journal.size != size:  # where it grows no more it is closed
            size = journal.size
            try:
                await self._read_on(journal.read, journal)
            except FileNotFoundError:
                return
            self._tail.forget_the_future()
            await journal.grown(size)

    async def _follow_file(self, journals: JournalFolder, path: Path) -> bool:
        """Until it is gone, which is True, or this daemon has the session. Raises as `follow` does."""
        from pygent_ls.sessions.journal.tailing import ending

        inode, size, is_at_end = 0, -1, False
        while self._sessions.live(self._id) is None:
            try:
                about = await asyncio.to_thread(path.stat)
                if about.st_ino != (inode := inode or about.st_ino):
                    return True
                if about.st_size != size:
                    size, is_at_end = about.st_size, False
                    await self._read_on(partial(read_file, path))
                if not is_at_end:
                    last = await asyncio.to_thread(ending, journals, self._id, self._tail)
                    is_at_end = last is not None
                    await self._tell(last or ())
                    self._tail.forget_the_future()
            except FileNotFoundError:
                if size < 0:
                    raise unknown(self._id) from None
                return True
            if self._sessions.live(self._id) is None:
                await asyncio.sleep(POLL_S)
        return False

    async def _read_on(self, read: Callable[[int], Piece], journal: Journal | None = None) -> None:
        """Tell what there is, to its end."""
        lines: Iterator[Line] | None = None
        is_all = False
        while not is_all:
            lines = lines or lines_of(read, self._tail.offset)
            if isinstance(journal, MemoryJournal) or (journal and journal.size - self._tail.offset <= SMALL_BYTES):
                events, is_all = self._tail.take(lines, SMALL_BYTES)
                await asyncio.sleep(0)
            else:
                events, is_all = await asyncio.to_thread(self._tail.take, lines, BATCH_BYTES)
            if await self._tell(events):
                lines = None  # what was read of the journal is not kept while nobody wants it

    async def _tell(self, events: Sequence[SessionEvent]) -> bool:
        """Give the reader its next events; whether it had to be waited for."""
        if events:
            self._reader.deliver(events)
        if not self._reader.congested:
            return False
        await self._reader.drained()
        return True
