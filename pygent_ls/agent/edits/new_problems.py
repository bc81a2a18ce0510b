"""Problems that an edit has brought: those after it that were not there before. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.edits.differences import differing_blocks
from pygent_ls.agent.ports.editor_state import Problem, Severity
from pygent_ls.agent.ports.language_features import CheckedFile

MAX_SHOWN = 20
"""Maximum number of problems in one result: the first ones usually cause the others."""

MAX_MESSAGE_CHARS = 300

SEVERITIES: Mapping[Severity, int] = {"error": 0, "warning": 1}
"""Severities that are reported, the worst first."""

_LINE = re.compile(r"\r\n?|\n")
_NUMBER = re.compile(r"\d+")


class _Kind(Struct, frozen=True):
    """What stays the same of a problem when lines above it change: messages contain line numbers."""

    severity: Severity
    message: str
    origin: str


def new_problems(before: CheckedFile | None, after: CheckedFile) -> list[Problem]:
    """Return the errors and warnings that were not there before, the worst first.

    A problem of a line that the edit did not change is the same if it is in that line still, wherever the line is now.
    In changed lines, problems of one kind count as old up to their number before. Without `before`, all count as new.
    """
    found = [each for each in after.problems if each.severity in SEVERITIES]
    if before is not None:
        found = _without(found, before.problems, _moved_lines(before.text, after.text))
    return sorted(found, key=lambda each: (SEVERITIES[each.severity], each.line, each.column))


def _without(found: Sequence[Problem], old: Sequence[Problem], moved: Mapping[int, int]) -> list[Problem]:
    unchanged = Counter((_kind(each), moved[each.line]) for each in old if each.line in moved)
    changed = Counter(_kind(each) for each in old if each.line not in moved)
    now_unchanged = set(moved.values())
    new: list[Problem] = []
    for each in found:
        kind = _kind(each)
        if each.line in now_unchanged and unchanged[kind, each.line]:
            unchanged[kind, each.line] -= 1
        elif each.line not in now_unchanged and changed[kind]:
            changed[kind] -= 1
        else:
            new.append(each)
    return new


def _kind(problem: Problem) -> _Kind:
    return _Kind(problem.severity, _NUMBER.sub("0", problem.message), problem.origin)


def _moved_lines(old: str, new: str) -> dict[int, int]:
    """Return where each unchanged line is now, from 1."""
    old_lines, new_lines = _LINE.split(old), _LINE.split(new)
    moved: dict[int, int] = {}
    at, shift = 0, 0
    for block in differing_blocks(old_lines, new_lines):
        moved.update((line + 1, line + 1 + shift) for line in range(at, block.old_start))
        at, shift = block.old_end, block.new_end - block.old_end
    moved.update((line + 1, line + 1 + shift) for line in range(at, len(old_lines)))
    return moved


def problems_note(name: str, problems: Sequence[Problem], *, are_new: bool) -> str:
    """Return what the model reads about the problems of one file after an edit; empty without problems."""
    if not problems:
        return ""
    count = f"{len(problems)} {'new ' if are_new else ''}problem{'s' if len(problems) != 1 else ''}"
    doubt = "" if are_new else " (some may be older than this edit)"
    lines = [f"{count} in {name} after this edit{doubt}:"]
    for each in problems[:MAX_SHOWN]:
        origin = f" [{one_line(each.origin)}]" if each.origin else ""
        lines.append(
            f"  {each.line}:{each.column} {each.severity}: {one_line(each.message, MAX_MESSAGE_CHARS)}{origin}"
        )
    if len(problems) > MAX_SHOWN:
        lines.append(f"  [{len(problems) - MAX_SHOWN} more: call diagnostics]")
    return "\n".join(lines)
