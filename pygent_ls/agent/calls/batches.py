"""Batches of tool calls: which calls of one answer run in parallel, and running them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from pygent_ls.agent.messages import ToolUseBlock

MAX_PARALLEL_CALLS = 8
"""Maximum number of calls that run at once: enough to hide the disk's latency, few enough for its queue."""


SIDE_BY_SIDE = "task"
"""Tool whose calls run in parallel although they may write: subagents coordinate their own writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """Call with the facts that decide whether it may run in parallel."""

    call: ToolUseBlock
    read_only: bool
    paths: tuple[str, ...]
    """Absolute paths, with `/`, that its arguments name."""


def split_into_batches(calls: Sequence[PlannedCall]) -> list[list[PlannedCall]]:
    """Split the calls into batches, in order.

    Adjacent reading calls share a batch, and so do adjacent subagents. A call that writes is alone in its batch, and
    calls whose paths are equal, or parent and child, are in different batches.
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
"""Awaited by a finished call before it emits its result: the results of a batch are emitted in order."""

Run = Callable[[ToolUseBlock, MyTurn], Awaitable[None]]
"""Runs one call and keeps its result. Raises nothing but a cancellation."""


async def at_once() -> None:
    """Return at once: a call that runs alone does not wait for others."""


async def run_batches(calls: Sequence[PlannedCall], run: Run) -> None:
    """Run every call; the calls of a batch run in parallel."""
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
    """Run a call once a slot is free, and let it emit its result after the previous call has."""
    running = AsyncExitStack()

    async def my_turn() -> None:
        await running.aclose()  # a call that only waits to emit its result frees its slot
        if before is not None:
            await before.wait()

    try:
        async with running:
            await running.enter_async_context(free)
            await run(call, my_turn)
    finally:
        done.set()
