"""Pipes to processes that are talked to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


@asynccontextmanager
async def writer_to(descriptor: int) -> AsyncGenerator[asyncio.StreamWriter]:
    """Yield what writes to a pipe without blocking; the descriptor is closed at the end."""
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    try:
        yield asyncio.StreamWriter(transport, protocol, None, loop)
    finally:
        if not transport.is_closing():  # it closes itself with its other end
            transport.abort()
