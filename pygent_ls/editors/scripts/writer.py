"""Lines on their way out, written by a thread: a reader who is slow, or stands still, holds up no cancel and no end."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from threading import Thread
from typing import Any

from pygent_ls.sessions.stream import MAX_PENDING_CHARS


class LineWriter:
    """Writes JSON lines to a descriptor, in their order; all its methods belong to the event loop's thread."""

    def __init__(self, descriptor: int, on_lost: Callable[[OSError], None]) -> None:
        """`on_lost` is told once, in the event loop, when nobody can be written to any more."""
        self._descriptor = descriptor
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._n_waiting = 0
        self._has_room = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._has_room.set()
        self._is_empty.set()
        self.is_lost = False
        Thread(target=self._write_all, name="line-writer", daemon=True).start()

    def write(self, line: Mapping[str, Any]) -> None:
        """Have a line written. It is ASCII: no reader takes a character of a text for the end of a line."""
        if self.is_lost:
            return
        data = json.dumps(line).encode("ascii") + b"\n"
        self._n_waiting += len(data)
        self._is_empty.clear()
        if self.is_congested:
            self._has_room.clear()
        self._queue.put(data)

    @property
    def is_congested(self) -> bool:
        """Whether far too much waits to be read."""
        return self._n_waiting > MAX_PENDING_CHARS

    async def has_room(self) -> None:
        """Return when it is no longer congested, or lost."""
        await self._has_room.wait()

    async def written(self) -> None:
        """Return when everything was taken, or it is lost."""
        await self._is_empty.wait()

    def close(self) -> None:
        """Nothing more will be written."""
        self._queue.put(None)

    def _write_all(self) -> None:
        while (data := self._queue.get()) is not None:
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(self._descriptor, left) :]
            except OSError as error:
                self._tell(self._lose, error)
                return
            if not self._tell(self._took, len(data)):
                return

    def _tell(self, what: Callable[..., None], *arguments: object) -> bool:
        try:
            self._loop.call_soon_threadsafe(what, *arguments)
        except RuntimeError:  # the event loop is over
            return False
        return True

    def _took(self, n_bytes: int) -> None:
        self._n_waiting -= n_bytes
        if not self.is_congested:
            self._has_room.set()
        if not self._n_waiting:
            self._is_empty.set()

    def _lose(self, error: OSError) -> None:
        self.is_lost = True
        self._has_room.set()
        self._is_empty.set()
        self._on_lost(error)
