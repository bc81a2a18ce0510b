"""Lines of standard input as they come, read by a thread: a read in the event loop's own would outlast a signal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from threading import Thread

READ_BYTES = 65_536
"""What a pipe holds on Linux."""

MAX_LINE_BYTES = 100_000_000
"""A line with a dozen of the largest pictures that models take has a tenth of that."""


async def lines_of(descriptor: int) -> AsyncGenerator[bytes]:
    """Each line, without its end; one that is too long comes cut. Ends with the input, and with a read that fails."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[list[bytes] | None] = asyncio.Queue()

    def read() -> None:
        try:
            for lines in _read_together(descriptor):
                loop.call_soon_threadsafe(queue.put_nowait, lines)
            loop.call_soon_threadsafe(queue.put_nowait, None)
        except RuntimeError:  # the event loop is over
            return

    Thread(target=read, name="line-reader", daemon=True).start()
    while (lines := await queue.get()) is not None:
        for line in lines:  # what came together is taken together
            yield line


def _read_together(descriptor: int) -> Iterator[list[bytes]]:
    """The lines that end in each piece of the input."""
    rest: list[bytes] = []
    n_rest = 0
    while piece := _read(descriptor):
        first, *others = piece.split(b"\n")
        if n_rest < MAX_LINE_BYTES:
            rest.append(first)
            n_rest += len(first)
        if others:
            yield [b"".join(rest), *others[:-1]]
            rest, n_rest = [others[-1]], len(others[-1])
    if any(rest):
        yield [b"".join(rest)]


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, READ_BYTES)
    except OSError:
        return b""
