"""Sessions that nobody has used for long are let go: they are on the disk, and are found there when they are wanted."""

from __future__ import annotations

import asyncio
import resource
from typing import TYPE_CHECKING

from pygent_ls.agent.hooks import HookEnd
from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.files import FileJournal

if TYPE_CHECKING:
    from pygent_ls.sessions.session import Session

MAX_LIVE = 64
"""Sessions that are in memory, but for those that must be. Each has a descriptor, and some 100 kB when it is short."""


OF_DESCRIPTORS = 8
"""The part of the descriptors that a process may have which sessions in memory take at most: an eighth."""


def most_live() -> int:
    """How many sessions there may be in memory, by what the system allows this process."""
    n_descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if n_descriptors == resource.RLIM_INFINITY:
        return MAX_LIVE
    return max(1, min(MAX_LIVE, n_descriptors // OF_DESCRIPTORS))


class Resting:
    """Lets sessions go, the one first that was used longest ago. It owns the tasks that close them.

    What is let go of is what ends with a daemon, too: what the model has read counts as not read, and results that were
    kept for the next call are not. What the user said is not among it: a session with a rule of "Allow for this
    session" stays, since that rule is nowhere but in memory.
    """

    def __init__(self, by_id: dict[str, Session], *, limit: int = MAX_LIVE) -> None:
        """`by_id` has all that are in memory; those that are let go are taken out of it at once."""
        self._by_id = by_id
        self._limit = limit
        self._used: dict[str, None] = {}
        """The ids of the sessions, the one that was used last at the end."""
        self._going: dict[str, asyncio.Task[None]] = {}

    def used(self, session_id: str) -> None:
        """That session was used now; where there are too many, others are let go."""
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
        """Close a session that is on the disk; from now on who wants it waits for that, and finds it there."""
        del self._by_id[session.id]
        self._used.pop(session.id, None)
        task = self._going[session.id] = asyncio.create_task(self._close(session, reason))
        return task

    async def gone(self, session_id: str) -> None:
        """Return when the session is not being let go of."""
        if task := self._going.get(session_id):
            await asyncio.wait([task])

    async def close(self) -> None:
        """Return when no session is being let go of."""
        if self._going:
            await asyncio.wait(list(self._going.values()))

    async def _close(self, session: Session, reason: HookEnd) -> None:
        try:
            await session.close(reason)
        finally:
            session.journal.close()
            del self._going[session.id]


def rests(session: Session) -> bool:
    """Whether nothing works in it, nobody watches it, and all that counts of it is on the disk."""
    journal = session.journal
    if not isinstance(journal, FileJournal) or journal.n_watchers or journal.has_failed:
        return False
    if session.permissions.has_session_rules or session.around.processes.background.has_any(session.id):
        return False
    try:
        session.check_idle()
    except SessionError:
        return False
    return True
