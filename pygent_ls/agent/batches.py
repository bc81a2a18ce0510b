"""Which calls of one answer may run side by side, and running them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from pygent_ls.agent.messages import ToolUseBlock

MAX_PARALLEL_CALLS = 8
"""Reads that run at once: enough to hide the disk's latency, few enough for its queue."""


SIDE_BY_SIDE = "task"
"""The tool whose calls run beside each other although they may write: subagents keep out of each other's way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call with what decides whether it may run beside others."""

    call: ToolUseBlock
    read_only: bool
    paths: tuple[str, ...]
    """Absolute paths, with `/`, that its arguments name."""


def split_into_batches(calls: Sequence[PlannedCall]) -> list[list[PlannedCall]]:
    """Adjacent reading calls run together, in the order of the calls, and so do subagents. A call that writes runs
    alone, and calls whose paths are equal, or parent and child, are in different batches.
    """
    batches: list[list[PlannedCall]] = []
    for planned in calls:
        last = batches[-1] if batches else None
        if last and all(_may_join(planned, other) for other in last):
            last.append(planned)
        else:
            batches.append([planned])
    return batches


def _may_join(one: PlannedCall, other: PlannedCall) -> bool:
    if one.call.name == other.call.name == SIDE_BY_SIDE:
        return True
    return one.read_only and other.read_only and not conflict(one.paths, other.paths)


def conflict(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a path of one is equal to, above or below a path of the other."""
    return any(_overlap(one, other) for one in some for other in others)


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(other.rstrip("/") + "/") or other.startswith(one.rstrip("/") + "/")


MyTurn = Callable[[], Awaitable[None]]
"""Awaited by a call that is over, before it tells of its result: those of a batch are told in order."""

Run = Callable[[ToolUseBlock, MyTurn], Awaitable[None]]
"""Runs one call; keeps its result, and raises nothing but a cancel."""


async def at_once() -> None:
    """A call that runs alone need not wait for its turn."""


async def run_batches(calls: Sequence[PlannedCall], run: Run) -> None:
    """Run every call, those of a batch side by side."""
    for batch in split_into_batches(calls):
        free = asyncio.Semaphore(MAX_PARALLEL_CALLS)
        before: asyncio.Event | None = None
        async with asyncio.TaskGroup() as group:
            for planned in batch:
                done = asyncio.Event()
                group.create_task(_run_in_line(run, planned.call, free, before, done))
                before = done


async def _run_in_line(
    run: Run, call: ToolUseBlock, free: asyncio.Semaphore, before: asyncio.Event | None, done: asyncio.Event
) -> None:
    """Run a call once there is room, and let it tell of its result once the one before it has."""
    running = AsyncExitStack()

    async def my_turn() -> None:
        await running.aclose()  # what only waits to be told takes no room
        if before is not None:
            await before.wait()

    try:
        async with running:
            await running.enter_async_context(free)
            await run(call, my_turn)
    finally:
        done.set()
