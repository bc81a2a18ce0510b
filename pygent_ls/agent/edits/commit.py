"""Shields an edit in flight from cancellation for a short grace period, and finds out what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from msgspec.structs import replace

from pygent_ls.agent.ports.workspace import (
    MISSING,
    CopyBytes,
    DeleteFile,
    EditPlan,
    FileOperation,
    MoveFile,
    Workspace,
    WriteText,
)
from pygent_ls.errors import ToolError

T = TypeVar("T")

COMMIT_S = 0.3
"""Seconds that a cancelled turn waits for an edit in flight. An editor that responds at all has reported it by then
(Neovim waits 120 ms before it reports a change), and the turn still ends within half a second."""


async def to_its_end(work: Coroutine[Any, Any, T], patience_s: float = COMMIT_S) -> T:
    """Await work that keeps running for `patience_s` seconds after a cancellation.

    Its result is returned, and its error raised, even if the caller was cancelled meanwhile: the caller checks
    `is_being_cancelled`, and raises once it has reported the result. Work that takes longer is cancelled itself, and
    its end is awaited.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(asyncio.CancelledError):  # a second cancellation only ends the grace period
            await asyncio.wait([task], timeout=patience_s)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
        if task.done() and not task.cancelled():
            return task.result()
        raise


def is_being_cancelled() -> bool:
    """Whether the running task is being cancelled; otherwise a CancelledError comes from another task."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def standing(plan: EditPlan, workspace: Workspace) -> EditPlan:
    """Return the part of a plan that holds now; the plan may or may not have been applied."""
    return replace(plan, operations=tuple([op for op in plan.operations if await _holds(op, workspace)]))


async def _holds(operation: FileOperation, workspace: Workspace) -> bool:
    match operation:
        case WriteText(path=path, text=text):
            try:
                return (await workspace.read(path)).text == text
            except ToolError:
                return False
        case DeleteFile(path=path):
            return await workspace.stamp(path) == MISSING
        case MoveFile(source=source, destination=destination):
            return await workspace.stamp(source) == MISSING != await workspace.stamp(destination)
        case CopyBytes(destination=path):
            return await workspace.stamp(path) != MISSING
