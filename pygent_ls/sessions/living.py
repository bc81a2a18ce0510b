"""The sessions that one process has in memory, and the front ends that use them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from pygent_ls.sessions.checkpoints import Checkpoints
from pygent_ls.sessions.journal.files import MemoryJournal
from pygent_ls.sessions.listing import Listing
from pygent_ls.sessions.resting import Resting, most_live

if TYPE_CHECKING:
    from pygent_ls.sessions.session import Session
    from pygent_ls.sessions.store import Sessions

ADOPTED_AT_ONCE = 4
"""More than a front end makes of its own meanwhile, so that what was left behind becomes less."""


class LiveSessions:
    """One object a process. Each front end sees them through `Sessions` of its own.

    A session is where it was used last: it goes to another front end when a turn of that one begins, or when it is
    used there while nothing runs in it.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, Session] = {}
        self.listing = Listing(self.by_id)
        self.resting = Resting(self.by_id, limit=most_live())
        self._alone_with: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Of the sessions that are taken up or deleted now, and wait for nothing that happens to another."""
        self._homes: list[Sessions] = []
        self._left: deque[Session] = deque()
        """Those that were where there is no front end any more."""
        self._is_closing = False

    def join(self, home: Sessions) -> None:
        """A front end comes."""
        self._homes.append(home)

    async def leave(self, home: Sessions) -> None:
        """A front end goes: its turns are cancelled and waited for, its sessions stay for the others."""
        if home in self._homes:
            self._homes.remove(home)
        turns = [turn for session in self.by_id.values() for turn in session.turns if turn.home is home]
        for turn in reversed(turns):
            turn.cancel()
        await asyncio.gather(*(turn.task for turn in turns if turn.task), return_exceptions=True)
        self._left.extend(each for each in self.by_id.values() if each.home is home)
        while self._left and self._homes and not self._is_closing:
            self.adopt(self._homes[-1])
            await asyncio.sleep(0)  # each takes a millisecond or more

    def alone_with(self, session_id: str) -> asyncio.Lock:
        """Held while a session is read from the disk, or goes to the trash."""
        return self._alone_with.setdefault(session_id, asyncio.Lock())

    def is_wanted(self, session_id: str) -> bool:
        """Whether somebody has that lock, or waits for it."""
        return session_id in self._alone_with

    def tell(self, session_id: str, what: str) -> None:
        """Tell every front end what has happened to a session."""
        self.resting.used(session_id)
        for home in self._homes:
            home.told(session_id, what)

    async def close(self) -> None:
        """Cancel every turn and wait for them. What is kept on the disk stays there, for others to go on with."""
        self._is_closing = True
        sessions = list(self.by_id.values())
        try:
            closing = [session.close("exit") for session in sessions]
            await asyncio.gather(*closing, self.resting.close(), self.listing.close())
            for each in sessions:
                each.journal.close()
        finally:  # also where a program took all the time that there is
            await asyncio.gather(*map(forget_unkept, sessions))

    def adopt(self, home: Sessions) -> None:
        """Some of the sessions whose front end has left go to this one, so that they do not hold what is gone."""
        for _ in range(min(ADOPTED_AT_ONCE, len(self._left))):
            session = self._left.popleft()
            if session.home not in self._homes and self.by_id.get(session.id) is session:
                session.visit(home)


async def forget_unkept(session: Session) -> None:
    """A session that was not kept has ended: nothing is to be left of it."""
    if isinstance(session.journal, MemoryJournal):
        await session.around.outputs.clear()
        if isinstance(session.around.checkpointer, Checkpoints):
            await session.around.checkpointer.forget()
