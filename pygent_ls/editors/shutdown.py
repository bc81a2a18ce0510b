"""Shutdown of a front end's core in bounded time, whatever its turns, processes and hooks do."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol

CLOSING_S = 2.3
"""Time limit for turns, hooks and their child processes to end. SIGTERM is followed by SIGKILL after 2 s, and
everything must have ended within 3 s."""


class Closable(Protocol):
    """The part of a `Core` that shuts it down."""

    async def close(self) -> None:
        """Cancel every turn, run the session-end hooks, and wait until both have ended."""
        ...

    def kill_processes(self) -> None:
        """Kill every child process group at once."""
        ...


async def close(core: Closable, limit_s: float = CLOSING_S) -> None:
    """Close the core. After `limit_s` seconds, cancel what has not ended and kill its processes.

    A timer kills the processes without waiting for the cancellation to be handled, because a task that waits for a
    process may miss a second cancellation.
    """
    killing = asyncio.get_running_loop().call_later(limit_s, core.kill_processes)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await core.close()
    finally:
        killing.cancel()
        core.kill_processes()


def stop_at_signal(main: asyncio.Task[int]) -> None:
    """Cancel the run. If it is already being cancelled, raises `KeyboardInterrupt` so that a second signal exits at
    once."""
    if main.cancelling():
        raise KeyboardInterrupt
    main.cancel()
