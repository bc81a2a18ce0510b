"""Lines of standard input as they come, read by a thread: a read in the event loop's own would outlast a signal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from threading import Thread

READ_BYTES = 65_536
"""What a pipe holds on Linux."""

MAX_LINE_BYTES = 100_000_000
"""A line with a dozen of the largest pictures that models take has a tenth of that."""


async def lines_of(descriptor: int) -> AsyncGenerator[bytes]:
    """Each line, without its end; one that is too long comes cut. Ends with the input, and with a read that fails."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(line: bytes | None) -> bool:
        try:
            loop.call_soon_threadsafe(queue.put_nowait, line)
        except RuntimeError:  # the event loop is over
            return False
        return True

    def read() -> None:
        rest: list[bytes] = []
        n_rest = 0
        while piece := _read(descriptor):
            *whole, last = piece.split(b"\n")
            for line in whole:
                if not put(b"".join((*rest, line))):
                    return
                rest, n_rest = [], 0
            if n_rest < MAX_LINE_BYTES:
                rest.append(last)
                n_rest += len(last)
        if any(rest):
            put(b"".join(rest))
        put(None)

    Thread(target=read, name="line-reader", daemon=True).start()
    while (line := await queue.get()) is not None:
        yield line


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, READ_BYTES)
    except OSError:
        return b""
