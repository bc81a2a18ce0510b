"""Output written by a thread, so that a slow or stopped reader blocks neither cancellation nor shutdown."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TextIO

from pygent_ls.sessions.event_stream import MAX_PENDING_CHARS

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputWriter:
    """Writes to descriptors in call order. All methods must be called in the event loop's thread."""

    def __init__(self, on_lost: Callable[[int, OSError], None]) -> None:
        """`on_lost` is called in the event loop, once for each descriptor that can no longer be written to."""
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[int, bytes] | None] = SimpleQueue()
        self._lost: set[int] = set()
        self._n_waiting = 0
        self._has_room = asyncio.Event()
        self._is_empty = asyncio.Event()
        self._has_room.set()
        self._is_empty.set()
        Thread(target=self._write_all, name="outlet", daemon=True).start()

    def write(self, descriptor: int, data: bytes) -> None:
        """Queue data; data for a lost descriptor is discarded."""
        if descriptor in self._lost or not data:
            return
        self._n_waiting += len(data)
        self._is_empty.clear()
        if self.is_congested:
            self._has_room.clear()
        self._queue.put((descriptor, data))

    def stream(self, onto: TextIO) -> TextIO:
        """Return a text stream that writes through this outlet; `onto` itself must not be written to any more."""
        errors = onto.errors or "strict"
        return io.TextIOWrapper(_Raw(self, onto.fileno()), encoding=onto.encoding, errors=errors, write_through=True)  # pyright: ignore[reportArgumentType] - a raw stream suffices without buffering

    @property
    def is_congested(self) -> bool:
        """Whether too much data waits to be read."""
        return self._n_waiting > MAX_PENDING_CHARS

    @property
    def is_empty(self) -> bool:
        """Whether all data was written or lost."""
        return not self._n_waiting

    async def has_room(self) -> None:
        """Return when it is no longer congested."""
        await self._has_room.wait()

    async def written(self) -> None:
        """Return when all data was written or lost."""
        while self._n_waiting:  # reporting a loss writes, too
            await self._is_empty.wait()

    def close(self) -> None:
        """Stop the thread once the queued data is written."""
        self._queue.put(None)

    def _write_all(self) -> None:
        lost: set[int] = set()
        while (item := self._queue.get()) is not None:
            descriptor, data = item
            error = None if descriptor in lost else _write(descriptor, data)
            if error is not None:
                lost.add(descriptor)
            try:
                self._loop.call_soon_threadsafe(self._took, descriptor, len(data), error)
            except RuntimeError:  # the event loop is closed
                return

    def _took(self, descriptor: int, n_bytes: int, error: OSError | None) -> None:
        self._n_waiting -= n_bytes
        if not self.is_congested:
            self._has_room.set()
        if not self._n_waiting:
            self._is_empty.set()
        if error is not None:
            self._lost.add(descriptor)
            self._on_lost(descriptor, error)


def _write(descriptor: int, data: bytes) -> OSError | None:
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    except OSError as error:
        return error
    return None


class _Raw(io.RawIOBase):
    """The raw stream below a text stream."""

    def __init__(self, outlet: OutputWriter, descriptor: int) -> None:
        self._outlet = outlet
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: ReadableBuffer, /) -> int:
        taken = bytes(data)
        self._outlet.write(self._descriptor, taken)
        return len(taken)
