"""Time limits of requests to a server, which do not count the time that the user takes to answer its questions."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager


class TimeLimits:
    """Limits of the requests to one server that are open."""

    def __init__(self) -> None:
        self._open: set[asyncio.Timeout] = set()
        self._n_questions = 0
        self._left_s: dict[asyncio.Timeout, float] = {}
        """Limits that are stopped, with the seconds that are left."""

    @contextmanager
    def counting(self, limit: asyncio.Timeout) -> Generator[None]:
        """Let this limit, which has been entered, stop while the user is asked."""
        self._open.add(limit)
        try:
            yield
        finally:
            self._open.discard(limit)

    @contextmanager
    def stopped(self) -> Generator[None]:
        """Stop all limits until the user has answered everything that the server asks."""
        now = asyncio.get_running_loop().time
        self._n_questions += 1
        for limit in self._open:
            if (when := limit.when()) is not None:
                self._left_s[limit] = when - now()
                limit.reschedule(None)
        try:
            yield
        finally:
            self._n_questions -= 1
            if not self._n_questions:
                for limit in self._open & self._left_s.keys():
                    limit.reschedule(now() + self._left_s[limit])
                self._left_s.clear()
