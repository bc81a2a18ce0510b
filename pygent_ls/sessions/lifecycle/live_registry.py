"""Registry of the sessions in memory, shared by the front ends of one process."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from pygent_ls.sessions.index.session_list import SessionList
from pygent_ls.sessions.journal.files import MemoryJournal
from pygent_ls.sessions.lifecycle.eviction import Eviction, most_live
from pygent_ls.sessions.turns.turn import SessionOwner

if TYPE_CHECKING:
    from pygent_ls.sessions.session import Session

ADOPTED_AT_ONCE = 4
"""Maximum number of orphaned sessions taken over at once. It exceeds what a front end creates meanwhile, so their
number falls."""


class LiveSessions:
    """Registry of live sessions, one per process. Each front end uses it through its own `Sessions`.

    A session belongs to the front end that used it last. It is transferred to another one when a turn of that one
    begins, or when it is used there while nothing runs in it.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, Session] = {}
        self.listing = SessionList(self.by_id)
        self.resting = Eviction(self.by_id, limit=most_live())
        self._alone_with: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Locks by session id, held while a session is loaded or deleted and waits for no other session."""
        self._owners: list[SessionOwner] = []
        self._orphans: deque[Session] = deque()
        """Sessions whose front end has disconnected."""
        self._is_closing = False

    def join(self, owner: SessionOwner) -> None:
        """Add a front end."""
        self._owners.append(owner)

    async def leave(self, owner: SessionOwner) -> None:
        """Remove a front end: cancel its turns and wait for them. Its sessions stay for the others."""
        if owner in self._owners:
            self._owners.remove(owner)
        turns = [turn for session in self.by_id.values() for turn in session.turns if turn.owner is owner]
        for turn in reversed(turns):
            turn.cancel()
        await asyncio.gather(*(turn.task for turn in turns if turn.task), return_exceptions=True)
        self._orphans.extend(each for each in self.by_id.values() if each.owner is owner)
        while self._orphans and self._owners and not self._is_closing:
            self.transfer_orphans(self._owners[-1])
            await asyncio.sleep(0)  # each takes a millisecond or more

    def alone_with(self, session_id: str) -> asyncio.Lock:
        """Return the lock that is held while a session is loaded from the disk or moved to the trash."""
        return self._alone_with.setdefault(session_id, asyncio.Lock())

    def is_wanted(self, session_id: str) -> bool:
        """Whether that lock is held or waited for."""
        return session_id in self._alone_with

    def tell(self, session_id: str, what: str) -> None:
        """Notify every front end of a change to a session."""
        self.resting.used(session_id)
        for owner in self._owners:
            owner.on_change(session_id, what)

    async def close(self) -> None:
        """Cancel every turn and wait for them. Stored sessions stay on the disk and can be resumed."""
        self._is_closing = True
        sessions = list(self.by_id.values())
        try:
            closing = [session.close("exit") for session in sessions]
            await asyncio.gather(*closing, self.resting.close(), self.listing.close())
            for each in sessions:
                each.journal.close()
        finally:  # even if a process took all the available time
            await asyncio.gather(*map(forget_unkept, sessions))

    def transfer_orphans(self, owner: SessionOwner) -> None:
        """Transfer some orphaned sessions to this front end, so that they do not hold references to the old one."""
        for _ in range(min(ADOPTED_AT_ONCE, len(self._orphans))):
            session = self._orphans.popleft()
            if session.owner not in self._owners and self.by_id.get(session.id) is session:
                session.transfer_to(owner)


async def forget_unkept(session: Session) -> None:
    """Delete what is left of a session that was not stored, once it has ended."""
    if isinstance(session.journal, MemoryJournal):
        await session.services.memory.outputs.clear()
        await session.restorer.forget()
