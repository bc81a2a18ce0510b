"""The moment in which an edit is made: once begun it is not cut off at once, and what came of it is known."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from pygent_ls.agent.workspace import (
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
"""How long a cancelled turn waits for an edit that is under way. An editor that answers at all has told of it by then
(Neovim waits 120 ms before it tells of a change), and the turn still ends within half a second."""


async def to_its_end(work: Coroutine[Any, Any, T], patience_s: float = COMMIT_S) -> T:
    """Await work that a cancel does not cut off at once: it has `patience_s` left then.

    Its result is returned, and its error raised, also where the caller was cancelled meanwhile: the caller sees that
    by `is_being_cancelled`, and raises when it has told of the result. Work that takes longer is cancelled itself, and
    its end is awaited.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(asyncio.CancelledError):  # a second cancel only says that it is urgent
            await asyncio.wait([task], timeout=patience_s)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
        if task.done() and not task.cancelled():
            return task.result()
        raise


def is_being_cancelled() -> bool:
    """Whether the running task was asked to stop; else a CancelledError is some other task's."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def standing(plan: EditPlan, workspace: Workspace) -> EditPlan:
    """That part of a plan which holds now, for one that may or may not have been carried out."""
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
