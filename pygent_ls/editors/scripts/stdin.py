"""Lines of standard input, read by a thread. A read in the event loop's executor would block the exit after a
signal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from threading import Thread

READ_BYTES = 65_536
"""Size of a pipe buffer on Linux."""

MAX_LINE_BYTES = 100_000_000
"""Maximum line length: ten times a line with a dozen of the largest images that models accept."""


async def lines_of(descriptor: int) -> AsyncGenerator[bytes]:
    """Yield each line without its line ending; a line that is too long is cut. Ends at the end of input or with a
    failed read."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[list[bytes] | None] = asyncio.Queue()

    def read() -> None:
        try:
            for lines in _read_together(descriptor):
                loop.call_soon_threadsafe(queue.put_nowait, lines)
            loop.call_soon_threadsafe(queue.put_nowait, None)
        except RuntimeError:  # the event loop is closed
            return

    Thread(target=read, name="line-reader", daemon=True).start()
    while (lines := await queue.get()) is not None:
        for line in lines:  # lines that arrive together are delivered together
            yield line


def _read_together(descriptor: int) -> Iterator[list[bytes]]:
    """Yield the lines that end in each chunk of the input."""
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
