"""Batches of tool calls: which calls of one answer run in parallel, and running them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from pygent_ls.agent.calls.call_record import CallRecord

MAX_PARALLEL_CALLS = 8
"""Maximum number of calls that run at once: enough to hide the disk's latency, few enough for its queue."""


SIDE_BY_SIDE = "task"
"""Tool whose calls run in parallel although they may write: subagents coordinate their own writes."""


def split_into_batches(calls: Sequence[CallRecord]) -> list[list[CallRecord]]:
    """Split the calls into batches, in order.

    Adjacent reading calls share a batch, and so do adjacent subagents. A call that writes is alone in its batch, and
    calls whose paths are equal, or parent and child, are in different batches.
    """
    batches: list[list[CallRecord]] = []
    for record in calls:
        last = batches[-1] if batches else None
        if last and all(_may_join(record, other) for other in last):
            last.append(record)
        else:
            batches.append([record])
    return batches


def _may_join(one: CallRecord, other: CallRecord) -> bool:
    if one.call.name == other.call.name == SIDE_BY_SIDE:
        return True
    return one.read_only and other.read_only and not conflict(one.paths, other.paths)


def conflict(some: Collection[Path], others: Collection[Path]) -> bool:
    """Whether a path of one is equal to, above or below a path of the other."""
    return not (_with_parents(some).isdisjoint(others) and _with_parents(others).isdisjoint(some))


def _with_parents(paths: Collection[Path]) -> set[Path]:
    return {*paths, *(parent for path in paths for parent in path.parents)}


MyTurn = Callable[[], Awaitable[None]]
"""Awaited by a finished call before it emits its result: the results of a batch are emitted in order."""

Run = Callable[[CallRecord, MyTurn], Awaitable[None]]
"""Runs one call. Raises nothing but a cancellation."""


async def at_once() -> None:
    """Return at once: a call that runs alone does not wait for others."""


async def run_batches(calls: Sequence[CallRecord], run: Run) -> None:
    """Run every call; the calls of a batch run in parallel."""
    for batch in split_into_batches(calls):
        free = asyncio.Semaphore(MAX_PARALLEL_CALLS)
        before: asyncio.Event | None = None
        async with asyncio.TaskGroup() as group:
            for record in batch:
                done = asyncio.Event()
                group.create_task(_run_in_line(run, record, free, before, done))
                before = done


async def _run_in_line(
    run: Run, record: CallRecord, free: asyncio.Semaphore, before: asyncio.Event | None, done: asyncio.Event
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
            await run(record, my_turn)
    finally:
        done.set()
