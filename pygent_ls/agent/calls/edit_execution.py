"""Edits of tool calls: applied, reviewed by the user, and recorded in the turn, checkpointer, cache and read log."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from pygent_ls.agent.calls.edit_formatting import formatting_notes, formatting_plan
from pygent_ls.agent.edits.commit import is_being_cancelled, standing, to_its_end
from pygent_ls.agent.edits.diffs import changes_of, kind_of_both, touched_by
from pygent_ls.agent.edits.reviewer import ReviewedCall
from pygent_ls.agent.ports.workspace import Applied, Document, EditPlan, FileChange, FileOperation, WriteText
from pygent_ls.agent.rules import globs
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.tools.read_updates import learn_applied
from pygent_ls.errors import ToolError, UnprovenEditError

NOT_REVIEWED = "The turn was stopped before the user had reviewed this edit, so the whole edit was kept."


async def make_edit(
    context: RunContext,
    plan: EditPlan,
    changes: Sequence[FileChange],
    call: ReviewedCall,
    tidy: Collection[Path] = (),
) -> tuple[Applied, tuple[FileChange, ...]]:
    """Apply a plan, whose changes are known, and let the user review it; return the changes that remain. `tidy` are the
    files to format once they are written.

    A cancellation does not interrupt an edit that has begun, as long as it takes its usual time: its real outcome is
    recorded even then, and the caller raises the cancellation. Raises as `Workspace.apply` does, and `CancelledError`
    if the edit was abandoned.
    """
    await context.memory.checkpointer.about_to_apply(plan)
    with context.environment.reviewer.holding(plan):
        applied = await _carried_out(context, plan)
        stands: tuple[FileChange, ...] = ()
        try:
            applied = await _formatted(context, applied, tidy)
            applied = await _reviewed(context, applied, call)
        finally:
            shown = context.environment.workspace.shown
            stands = tuple(changes) if applied.stands == plan else changes_of(applied.stands, shown)
            await _record(context, applied.stands, stands)
    return applied, stands


async def _carried_out(context: RunContext, plan: EditPlan) -> Applied:
    workspace = context.environment.workspace
    try:
        return await to_its_end(workspace.apply(plan))
    except (asyncio.CancelledError, UnprovenEditError):  # part of it may have been applied nevertheless
        stands = await standing(plan, workspace)
        if is_being_cancelled() and stands == plan:
            return Applied(asked=plan, stands=plan)
        await _record(context, stands, changes_of(stands, workspace.shown))
        raise
    finally:  # also after an unproven edit
        _invalidate(context, plan)


async def _formatted(context: RunContext, applied: Applied, tidy: Collection[Path]) -> Applied:
    """Format what was written; if that fails, it stays as it is. What the user has seen hunk by hunk stays, too."""
    if not tidy or applied.rejected or is_being_cancelled():
        return applied
    workspace = context.environment.workspace
    try:
        plan = await formatting_plan(context.environment, applied.stands, tidy)
    except asyncio.CancelledError:
        if not is_being_cancelled():
            raise
        return applied
    if not plan.operations:
        return applied
    try:
        await to_its_end(workspace.apply(plan))
    except (asyncio.CancelledError, ToolError):  # the user has typed, for example; part of it may have been applied
        plan = await standing(plan, workspace)
    finally:
        _invalidate(context, plan)
    made = tuple(_with_text(each, plan) for each in applied.stands.operations)
    notes = await formatting_notes(context, applied.stands.operations, made)
    result = "\n".join([applied.asked.result, *notes])
    stands = replace(applied.stands, operations=made)
    return replace(applied, asked=replace(stands, result=result), stands=stands)


def _with_text(operation: FileOperation, formatting: EditPlan) -> FileOperation:
    """Return the operation with the text that it has after the formatting of what it wrote."""
    for each in formatting.operations:
        match operation, each:
            case WriteText(path=path, text=text), WriteText(path=of, before=Document(text=before)) if (path, text) == (
                of,
                before,
            ):
                return dataclasses.replace(operation, text=each.text, diff=None)
            case _:
                pass
    return operation


async def _reviewed(context: RunContext, applied: Applied, call: ReviewedCall) -> Applied:
    if is_being_cancelled():
        return applied
    try:
        with context.share.user_times.waiting(call.tool_id):
            return await context.environment.reviewer.review(applied, call)
    except asyncio.CancelledError:
        if not is_being_cancelled():
            raise
        return replace(applied, note=" ".join(filter(None, (applied.note, NOT_REVIEWED))))
    finally:
        _invalidate(context, applied.stands)


def _invalidate(context: RunContext, plan: EditPlan) -> None:
    for path in touched_by(plan):
        context.environment.cache.invalidate(globs.escape(path))


async def _record(context: RunContext, stands: EditPlan, changes: Sequence[FileChange]) -> None:
    for change in changes:
        count_changes(context, change)
    context.environment.reviewer.made(stands, context.memory.session_id)
    await context.memory.checkpointer.applied(stands)
    await learn_applied(stands, context.environment.workspace, context.memory.reads)


def count_changes(context: RunContext, change: FileChange) -> None:
    """Merge all changes of one file into one entry of the turn's result, which holds none of its text."""
    files_changed = context.share.files_changed
    earlier = files_changed.get(change.path)
    kind = change.kind if earlier is None else kind_of_both(earlier.kind, change.kind)
    if kind is None:
        del files_changed[change.path]
        return
    files_changed[change.path] = FileChange(
        path=change.path,
        kind=kind,
        added=change.added + (earlier.added if earlier else 0),
        removed=change.removed + (earlier.removed if earlier else 0),
        patch="",
    )
