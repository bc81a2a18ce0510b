"""Hunks of an edit plan, which the user can accept or reject, and texts with and without hunks."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from pygent_ls.agent.edits.differences import differing_stretches
from pygent_ls.agent.ports.workspace import (
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    Hunk,
    MoveFile,
    PlanHunk,
    WriteText,
)


def hunks_of(plan: EditPlan) -> tuple[PlanHunk, ...]:
    """Return the plan's hunks, in order. Moves, byte copies and deletions of binary files have none."""
    found = (hunk for place, op in enumerate(plan.operations) for hunk in _hunks(op, place))
    return tuple(replace(hunk, id=str(number)) for number, hunk in enumerate(found, start=1))


def _hunks(operation: FileOperation, place: int) -> Iterator[PlanHunk]:
    match operation:
        case WriteText(path=path, before=before, text=new):
            if before is None:
                yield _whole(place, "create", path, "", new)
                return
            for stretch in differing_stretches(before.text, new):
                yield PlanHunk(
                    id="",
                    place=place,
                    kind="edit",
                    path=path,
                    old_start=stretch.old_start,
                    new_start=stretch.new_start,
                    old_text=before.text[stretch.old_start : stretch.old_end],
                    new_text=new[stretch.new_start : stretch.new_end],
                )
        case DeleteFile(path=path, before=Document(text=old)):
            yield _whole(place, "delete", path, old, "")
        case DeleteFile() | MoveFile() | CopyBytes():
            return


def _whole(place: int, kind: Literal["create", "delete"], path: Path, old: str, new: str) -> PlanHunk:
    return PlanHunk(id="", place=place, kind=kind, path=path, old_start=0, new_start=0, old_text=old, new_text=new)


def without(plan: EditPlan, rejected: Collection[PlanHunk]) -> EditPlan:
    """Return the plan without these hunks; operations that are left empty are dropped."""
    kept = [
        _without(operation, [hunk for hunk in rejected if hunk.place == place])
        for place, operation in enumerate(plan.operations)
    ]
    return replace(plan, operations=tuple(operation for operation in kept if operation is not None))


def _without(operation: FileOperation, rejected: Collection[PlanHunk]) -> FileOperation | None:
    if not rejected:
        return operation
    match operation:
        case WriteText(before=Document() as before, text=text):
            text = text_without(text, rejected)
            return None if text == before.text else dataclasses.replace(operation, text=text, diff=None)
        case _:
            return None


def text_without(text: str, rejected: Collection[Hunk]) -> str:
    """Return the new text with the old lines in place of these hunks, all of which belong to this file."""
    return edited(text, [(hunk.new_start, hunk.new_end, hunk.old_text) for hunk in rejected])


def text_with(text: str, accepted: Collection[Hunk]) -> str:
    """Return the old text with the new lines of these hunks, all of which belong to this file."""
    return edited(text, [(hunk.old_start, hunk.old_end, hunk.new_text) for hunk in accepted])


def edited(text: str, replacements: Sequence[tuple[int, int, str]]) -> str:
    """Return the text with others in place of the characters from a start to an end. Of insertions at the same place,
    the first one is first."""
    parts: list[str] = []
    done = 0
    for start, end, new in sorted(replacements, key=lambda each: each[0]):
        parts += text[done:start], new
        done = end
    return "".join((*parts, text[done:]))
