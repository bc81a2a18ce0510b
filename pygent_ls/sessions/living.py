"""The sessions that one process has in memory, and the front ends that use them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pygent_ls.sessions.journal.files import MemoryJournal
from pygent_ls.sessions.listing import Listing
from pygent_ls.sessions.resting import Resting

if TYPE_CHECKING:
    from pygent_ls.sessions.session import Session
    from pygent_ls.sessions.store import Sessions


class LiveSessions:
    """One object a process. Each front end sees them through `Sessions` of its own.

    A session is where it was used last: it goes to another front end when a turn of that one begins, or when it is
    used there while nothing runs in it.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, Session] = {}
        self.listing = Listing(self.by_id)
        self.resting = Resting(self.by_id)
        self.taking_up = asyncio.Lock()
        """Held while one is read from the disk."""
        self._homes: list[Sessions] = []
        self._is_closing = False

    def join(self, home: Sessions) -> None:
        """A front end comes; those that another one has left are its own now."""
        self._homes.append(home)
        self._adopt()

    async def leave(self, home: Sessions) -> None:
        """A front end goes: its turns are cancelled and waited for, its sessions stay for the others."""
        if home in self._homes:
            self._homes.remove(home)
        turns = [turn for session in self.by_id.values() for turn in session.turns if turn.home is home]
        for turn in reversed(turns):
            turn.cancel()
        await asyncio.gather(*(turn.task for turn in turns if turn.task), return_exceptions=True)
        self._adopt()

    def tell(self, session_id: str, what: str) -> None:
        """Tell every front end what has happened to a session."""
        self.resting.used(session_id)
        for home in self._homes:
            home.told(session_id, what)

    async def close(self) -> None:
        """Cancel every turn and wait for them. What is kept on the disk stays there, for others to go on with."""
        self._is_closing = True
        sessions = list(self.by_id.values())
        await asyncio.gather(*(session.close() for session in sessions), self.resting.close(), self.listing.close())
        for each in sessions:
            each.journal.close()
        await asyncio.gather(
            *(each.around.outputs.clear() for each in sessions if isinstance(each.journal, MemoryJournal))
        )

    def _adopt(self) -> None:
        """A front end that has left is not held by the sessions that it leaves."""
        if self._homes and not self._is_closing:
            for session in self.by_id.values():
                if session.home not in self._homes:
                    session.visit(self._homes[-1])
