"""Watching a session: replays the events after a given number and follows new ones, whichever daemon owns it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import SessionEvent, Subscriber
from pygent_ls.sessions.journal.files import Journal, JournalLine, MemoryJournal, Piece, lines_of, read_file
from pygent_ls.sessions.journal.folder import JournalFolder, unknown
from pygent_ls.sessions.journal.tail import Tail, ending
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.store import Sessions

POLL_S = 0.1
"""Interval between two checks of a journal that another daemon may write. A check is a `stat`; on average an event
waits half of it."""

SMALL_BYTES = 32_000
"""Maximum number of journal bytes read in the event loop, which takes some milliseconds. More is read in a thread."""

BATCH_BYTES = 256_000
"""Number of journal bytes whose events are sent together."""

Ended = Literal["closed", "deleted"]

Recap = Callable[[Sequence[SessionEvent]], None]
"""Takes events that the reader already has."""


class Attached(Struct, frozen=True, kw_only=True):
    """How following ended: the session was closed here or deleted."""

    last_seq: int
    ended: Ended


class Attachment:
    """One reader of one session's journal. It reads on once its events were taken, and buffers nothing meanwhile."""

    def __init__(
        self, sessions: Sessions, session_id: str, since_seq: int, reader: Subscriber, recap: Recap | None = None
    ) -> None:
        """Deliver only events with a number above `since_seq`. With `recap`, it gets the other events before, and the
        reader gets an empty batch if `since_seq` is beyond the last event."""
        self._sessions = sessions
        self._id = session_id
        self._since_seq = since_seq
        self._tail = Tail(0 if recap else since_seq)
        self._reader = reader
        self._recap = recap

    @property
    def last_seq(self) -> int:
        """Number of the last event that the reader was given or already had."""
        return max(self._tail.last_seq, self._since_seq)

    async def follow(self) -> Attached:
        """Deliver past and new events to the reader until the session is closed here or deleted.

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
        """Follow a session of this daemon until its journal is closed."""
        journal, size = session.journal, -1
        while journal.size != size:  # a journal that no longer grows is closed
            size = journal.size
            try:
                await self._read_on(journal.read, journal)
            except FileNotFoundError:
                return
            self._forget_the_future()
            await journal.grown(size)

    async def _follow_file(self, journals: JournalFolder, path: Path) -> bool:
        """Follow a journal file. Return True once it is gone, False once this daemon owns the session. Raises like
        `follow`."""
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
                    self._forget_the_future()
            except FileNotFoundError:
                if size < 0:
                    raise unknown(self._id) from None
                return True
            if self._sessions.live(self._id) is None:
                await asyncio.sleep(POLL_S)
        return False

    async def _read_on(self, read: Callable[[int], Piece], journal: Journal | None = None) -> None:
        """Deliver everything up to the end of the journal."""
        lines: Iterator[JournalLine] | None = None
        is_all = False
        while not is_all:
            lines = lines or lines_of(read, self._tail.offset)
            if isinstance(journal, MemoryJournal) or (journal and journal.size - self._tail.offset <= SMALL_BYTES):
                events, is_all = self._tail.take(lines, SMALL_BYTES)
                await asyncio.sleep(0)
            else:
                events, is_all = await asyncio.to_thread(self._tail.take, lines, BATCH_BYTES)
            if await self._tell(events):
                lines = None  # release what was read of the journal while the reader is behind

    def _forget_the_future(self) -> None:
        self._tail.forget_the_future()
        if self._since_seq > self._tail.last_seq:
            self._since_seq = self._tail.last_seq
            if self._recap:
                self._reader.deliver(())

    async def _tell(self, events: Sequence[SessionEvent]) -> bool:
        """Give the reader its next events; return whether it had to be waited for."""
        if self._recap and events and events[0].seq <= self._since_seq:
            self._recap([each for each in events if each.seq <= self._since_seq])
            events = [each for each in events if each.seq > self._since_seq]
        if events:
            self._reader.deliver(events)
        if not self._reader.congested:
            return False
        await self._reader.drained()
        return True
