"""Reviewer port: the user accepts or rejects a tool's changes, hunk by hunk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from pygent_ls.agent.display_text import excerpt
from pygent_ls.agent.edits.diffs import signed_lines, split_lines
from pygent_ls.agent.edits.hunks import text_without
from pygent_ls.agent.ports.workspace import Applied, EditPlan, PlanHunk, Rejected, WriteText
from pygent_ls.errors import Quote


class ReviewedCall(Struct, frozen=True, kw_only=True):
    """Call whose edit is reviewed."""

    session_id: str
    turn_id: str
    tool_id: str


class Reviewer(Protocol):
    """Shows changes to the user for review."""

    async def review(self, applied: Applied, call: ReviewedCall) -> Applied:
        """Let the user accept or reject each applied hunk, and revert the rejected ones.

        Waits for as long as the user takes, who may keep typing meanwhile: no keystroke is lost, and a rejected hunk
        whose lines they have changed themselves stays. A hunk without a valid answer stays as well, since it was
        allowed before; the note says that it was not reviewed. Raises nothing but a cancellation, and then all of it
        stays.
        """
        ...

    def holding(self, plan: EditPlan) -> AbstractContextManager[None]:
        """Take changes of the plan's files inside the context for the agent's, which `made` describes."""
        ...

    def made(self, plan: EditPlan, session_id: str) -> None:
        """Keep these changes of the agent, which are in place, for the user's review after them."""
        ...


class NoReviewer:
    """Port without a review."""

    async def review(self, applied: Applied, call: ReviewedCall) -> Applied:
        """Return `applied` unchanged."""
        return applied

    def holding(self, plan: EditPlan) -> AbstractContextManager[None]:
        """Do nothing."""
        return nullcontext()

    def made(self, plan: EditPlan, session_id: str) -> None:
        """Do nothing."""


def told(applied: Applied, shown: Callable[[Path], str]) -> str:
    """Describe an edit to the model: the tool's own result, or exactly what the user rejected."""
    parts = [applied.asked.result]
    if applied.rejected:
        parts = [_summary(applied)]
        parts += [_quoted(each, applied, shown) for each in applied.rejected]
        if applied.feedback:
            parts.append(f"The user said: {applied.feedback}")
        parts.append("Do not make these changes again another way. Continue without them, or ask what to do instead.")
    if applied.note:
        parts.append(f"[{applied.note}]")
    return "\n".join(parts)


def _summary(applied: Applied) -> str:
    label = applied.asked.label
    if applied.is_nothing:
        return f"{label}: the user reviewed this edit and rejected all of it. Nothing was kept. Rejected:"
    n = len(applied.rejected)
    which = "1 hunk" if n == 1 else f"{n} hunks"
    return f"{label}: the user reviewed this edit and rejected {which} of it; the rest was kept. Rejected:"


def _quoted(rejected: Rejected, applied: Applied, shown: Callable[[Path], str]) -> str:
    hunk = rejected.hunk
    match hunk.kind:
        case "create":
            head = f"{shown(hunk.path)}: the new file"
            done = "it was deleted again"
        case "delete":
            head = f"{shown(hunk.path)}: the deletion"
            done = "the file was restored"
        case "edit":
            head = f"{shown(hunk.path)}, {_lines(hunk, applied)}"
            done = "its old text was restored"
    if rejected.left:
        return f"- {head}: {rejected.left}"
    return f"- {head}: {done}{'' if hunk.kind != 'edit' else _diff(hunk)}"


def _diff(hunk: PlanHunk) -> str:
    """Return the rejected hunk as a diff: what the edit had removed, and what it had inserted."""
    return "\n" + excerpt(_both_sides(hunk))


def _both_sides(hunk: PlanHunk) -> str:
    return "\n".join(signed_lines(hunk.old_text, hunk.new_text))


def quotes_of(applied: Applied) -> list[Quote]:
    """Return what `told` quotes of files."""
    return [Quote(_both_sides(each.hunk), str(each.hunk.path)) for each in applied.rejected]


def _lines(hunk: PlanHunk, applied: Applied) -> str:
    """Return the line numbers of the hunk's old lines in the file after the review."""
    operation = applied.asked.operations[hunk.place]
    text = operation.text if isinstance(operation, WriteText) else ""
    others = [each.hunk for each in applied.rejected if each.hunk.place == hunk.place and not each.left]
    above = [each for each in others if each.new_start < hunk.new_start]
    first = len(split_lines(text_without(text[: hunk.new_start], above))) + 1
    count = len(split_lines(hunk.old_text))
    if count == 0:
        return f"before line {first}"
    return f"line {first}" if count == 1 else f"lines {first}–{first + count - 1}"
