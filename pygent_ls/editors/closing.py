"""The end of what a front end was given: in bounded time, whatever its turns, programs and hooks do."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol

CLOSING_S = 2.3
"""For turns, hooks and their child processes to end: SIGTERM is followed by SIGKILL after 2 s, and all shall be gone in
3."""


class Closable(Protocol):
    """What of a `Core` ends."""

    async def close(self) -> None:
        """Cancel every turn, run the hooks of the end, and wait for all of it."""
        ...

    def kill_processes(self) -> None:
        """End every child process group at once."""
        ...


async def close(core: Closable, limit_s: float = CLOSING_S) -> None:
    """Close it; what has not ended within the limit is cancelled, and ends with its processes.

    These are killed then, and not only once the cancel was heard: whoever waits for one to end may hear of no second.
    """
    killing = asyncio.get_running_loop().call_later(limit_s, core.kill_processes)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await core.close()
    finally:
        killing.cancel()
        core.kill_processes()
