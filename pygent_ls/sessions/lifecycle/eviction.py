"""Eviction of sessions that have not been used for long. They stay on the disk and are loaded again when needed."""

from __future__ import annotations

import asyncio
import resource
from typing import TYPE_CHECKING

from pygent_ls.agent.ports.hooks import HookEnd
from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.files import FileJournal

if TYPE_CHECKING:
    from pygent_ls.sessions.session import Session

MAX_LIVE = 64
"""Maximum number of sessions in memory, except those that must stay. Each needs a descriptor, and some 100 kB if it is
short."""


OF_DESCRIPTORS = 8
"""Divisor of the process's descriptor limit: sessions in memory use at most that share of it."""


def most_live() -> int:
    """Return the maximum number of sessions in memory, given the process's descriptor limit."""
    n_descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if n_descriptors == resource.RLIM_INFINITY:
        return MAX_LIVE
    return max(1, min(MAX_LIVE, n_descriptors // OF_DESCRIPTORS))


class Eviction:
    """Evicts the least recently used sessions, and owns the tasks that close them.

    Eviction loses what also ends with the daemon: files that the model has read count as unread, and results stored for
    the next call are dropped. The user's decisions are not lost: a session with a rule of "Allow for this session"
    stays, because that rule is only in memory.
    """

    def __init__(self, by_id: dict[str, Session], *, limit: int = MAX_LIVE) -> None:
        """Evict from `by_id`, all sessions in memory. Evicted sessions are removed from it at once."""
        self._by_id = by_id
        self._limit = limit
        self._used: dict[str, None] = {}
        """Session ids, the most recently used last."""
        self._going: dict[str, asyncio.Task[None]] = {}

    def used(self, session_id: str) -> None:
        """Mark the session as used; evict others if there are too many."""
        self._used.pop(session_id, None)
        if session_id not in self._by_id:
            return
        n_too_many = len(self._by_id) - self._limit
        for other in list(self._used) if n_too_many > 0 else ():
            session = self._by_id.get(other)
            if session is None:
                del self._used[other]
            elif n_too_many > 0 and rests(session):
                self.let_go(session, "idle")
                n_too_many -= 1
        self._used[session_id] = None

    def let_go(self, session: Session, reason: HookEnd) -> asyncio.Task[None]:
        """Close a session that is on the disk. From now on, whoever needs it waits for that and then loads it."""
        del self._by_id[session.id]
        self._used.pop(session.id, None)
        task = self._going[session.id] = asyncio.create_task(self._close(session, reason))
        return task

    async def gone(self, session_id: str) -> None:
        """Return when the session is not being evicted."""
        if task := self._going.get(session_id):
            await asyncio.wait([task])

    async def close(self) -> None:
        """Return when no session is being evicted."""
        if self._going:
            await asyncio.wait(list(self._going.values()))

    async def _close(self, session: Session, reason: HookEnd) -> None:
        try:
            await session.close(reason)
        finally:
            session.journal.close()
            del self._going[session.id]


def rests(session: Session) -> bool:
    """Whether nothing works in the session, nothing watches it, and everything worth keeping is on the disk."""
    journal = session.journal
    if not isinstance(journal, FileJournal) or journal.n_watchers or journal.has_failed:
        return False
    if session.side_questions.open:
        return False
    if session.permissions.has_session_rules or session.services.environment.processes.background.has_any(session.id):
        return False
    try:
        session.check_idle()
    except SessionError:
        return False
    return True
