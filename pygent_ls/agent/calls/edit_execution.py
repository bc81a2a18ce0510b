"""Edits of a turn: applied, reviewed by the user, and recorded in the turn, the checkpointer, the cache and the read
log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pygent_ls.agent.edits.checkpointer import Checkpointer
from pygent_ls.agent.edits.commit import is_being_cancelled, standing, to_its_end
from pygent_ls.agent.edits.diffs import changes_of, kind_of_both, touched_by
from pygent_ls.agent.edits.reviewer import ReviewedCall, Reviewer
from pygent_ls.agent.ports.workspace import Applied, EditPlan, FileChange, Workspace
from pygent_ls.agent.rules import globs
from pygent_ls.agent.tools.cache import ToolCache
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.read_updates import learn_applied
from pygent_ls.agent.user_time import UserTimes
from pygent_ls.errors import UnprovenEditError

NOT_REVIEWED = "The turn was stopped before the user had reviewed this edit, so the whole edit was kept."


@dataclass(frozen=True, slots=True, kw_only=True)
class EditExecution:
    """Makes the edits of one turn. `files_changed` holds what the turn has changed so far, one entry per file."""

    workspace: Workspace
    reviewer: Reviewer
    checkpointer: Checkpointer
    cache: ToolCache
    reads: ReadLog
    files_changed: dict[Path, FileChange]
    user_times: UserTimes

    async def make(
        self, plan: EditPlan, changes: Sequence[FileChange], call: ReviewedCall
    ) -> tuple[Applied, tuple[FileChange, ...]]:
        """Apply a plan, whose changes are known, and let the user review it; return the changes that remain.

        A cancellation does not interrupt an edit that has begun, as long as it takes its usual time: its real outcome
        is recorded even then, and the caller raises the cancellation. Raises as `Workspace.apply` does, and
        `CancelledError` if the edit was abandoned.
        """
        await self.checkpointer.about_to_apply(plan)
        applied = await self._carried_out(plan)
        stands: tuple[FileChange, ...] = ()
        try:
            applied = await self._reviewed(applied, call)
        finally:
            stands = tuple(changes) if applied.stands == plan else changes_of(applied.stands, self.workspace.shown)
            await self._tell(applied.stands, stands)
        return applied, stands

    async def _carried_out(self, plan: EditPlan) -> Applied:
        try:
            return await to_its_end(self.workspace.apply(plan))
        except (asyncio.CancelledError, UnprovenEditError):  # part of it may have been applied nevertheless
            stands = await standing(plan, self.workspace)
            if is_being_cancelled() and stands == plan:
                return Applied(asked=plan, stands=plan)
            await self._tell(stands, changes_of(stands, self.workspace.shown))
            raise
        finally:  # also after an unproven edit
            for path in touched_by(plan):
                self.cache.invalidate(globs.escape(path))

    async def _reviewed(self, applied: Applied, call: ReviewedCall) -> Applied:
        if is_being_cancelled():
            return applied
        try:
            with self.user_times.waiting(call.tool_id):
                return await self.reviewer.review(applied, call)
        except asyncio.CancelledError:
            if not is_being_cancelled():
                raise
            return replace(applied, note=" ".join(filter(None, (applied.note, NOT_REVIEWED))))
        finally:
            for path in touched_by(applied.stands):
                self.cache.invalidate(globs.escape(path))

    async def _tell(self, stands: EditPlan, changes: Sequence[FileChange]) -> None:
        for change in changes:
            self._count(change)
        await self.checkpointer.applied(stands)
        await learn_applied(stands, self.workspace, self.reads)

    def _count(self, change: FileChange) -> None:
        """Merge all changes of one file into one entry of the turn's result, which holds none of its text."""
        earlier = self.files_changed.get(change.path)
        if earlier is None:
            self.files_changed[change.path] = replace(change, patch="", old_text="", new_text="")
            return
        kind = kind_of_both(earlier.kind, change.kind)
        if kind is None:
            del self.files_changed[change.path]
            return
        self.files_changed[change.path] = FileChange(
            path=change.path,
            kind=kind,
            added=earlier.added + change.added,
            removed=earlier.removed + change.removed,
            patch="",
        )
