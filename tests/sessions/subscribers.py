"""Subscribers that behave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pygent_ls.sessions.event_stream import SessionEvent
from tests.fakes import bounded


class Reader:
    """Takes what it is given; while `busy` it is congested, as an editor that does not read."""

    def __init__(self) -> None:
        self.batches: list[list[SessionEvent]] = []
        self._free = asyncio.Event()
        self._free.set()
        self._more = asyncio.Event()
        self._asked = asyncio.Event()

    @property
    def congested(self) -> bool:
        """Implement `Subscriber`."""
        self._asked.set()
        return not self._free.is_set()

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        """Implement `Subscriber`."""
        self.batches.append(list(events))
        self._more.set()

    async def drained(self) -> None:
        """Implement `Subscriber`."""
        await self._free.wait()

    # What a test does

    def stop_reading(self) -> None:
        """Stop reading: the subscriber is congested."""
        self._free.clear()

    def read_on(self) -> None:
        """Read everything, and continue."""
        self._free.set()

    @property
    def events(self) -> list[SessionEvent]:
        """Everything that came."""
        return [event for batch in self.batches for event in batch]

    @property
    def types(self) -> list[str]:
        """Their types, as the wire names them."""
        return [each.event.type for each in self.events]

    async def asked(self) -> None:
        """Wait until the stream wants to know again whether it reads."""
        self._asked.clear()
        await bounded(self._asked.wait())

    async def until(self, n_events: int) -> None:
        """Wait until that many events have come."""
        await self._until(lambda: len(self.events) >= n_events)

    async def until_type(self, name: str, n_events: int = 1) -> None:
        """Wait until that many of a type have come."""
        await self._until(lambda: self.types.count(name) >= n_events)

    async def _until(self, true: Callable[[], bool]) -> None:
        async def wait() -> None:
            while not true():
                self._more.clear()
                await self._more.wait()

        await bounded(wait())
