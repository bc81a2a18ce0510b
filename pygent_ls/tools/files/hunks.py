"""Applies hunks to a text: at the line in the header, where their lines match, or where only whitespace differs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from pygent_ls.errors import ToolError
from pygent_ls.tools.files.line_numbers import numbered
from pygent_ls.tools.files.near_matches import explain_missing
from pygent_ls.tools.files.unified_diff import PatchHunk

MAX_FAILURES = 4
"""Maximum number of failures described in full: as many as a model can correct in one more attempt."""

MAX_HUNKS = 1_000
"""Maximum number of hunks per file."""

MAX_STEPS = 5_000_000
"""Maximum number of line comparisons to locate all hunks of a file, about 0.5 s of work. A hunk that matches at the
line in its header costs only its own lines.
"""

MAX_LINES_QUOTED = 40

MAX_PLACES_NAMED = 10

OVERLAPS = "it overlaps another hunk. Write the two as one hunk."

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CR_LINE = re.compile(r"[^\r]*\r|[^\r]+")


class Patched(Struct, frozen=True, kw_only=True):
    """Text with its hunks applied."""

    text: str
    notes: tuple[str, ...]
    """Deviations from the patch: hunks that match elsewhere, or except for whitespace."""


class HunkError(ToolError):
    """Raised if hunks do not apply; the text says which, what they expect, and what the file contains."""


def apply_hunks(text: str, hunks: Sequence[PatchHunk], name: str) -> Patched:
    """Apply all hunks to a text; `name` is the file's, for messages.

    A hunk is applied at the line in its header if its old lines match there, otherwise at the only place that contains
    them. Line endings are the file's, unless the patch itself has them. Raises `HunkError`.
    """
    if len(hunks) > MAX_HUNKS:
        raise HunkError(f"{name}: {len(hunks)} hunks are too many for one file; a patch may have at most {MAX_HUNKS}.")
    lines = _LINE.findall(text)
    if "\r" in text and "\n" not in text and not any(line in lines for hunk in hunks for line in hunk.old):
        lines = _CR_LINE.findall(text)  # as in classic Mac OS
    return _HunkText(lines, name).after(hunks)


class _HunkPlace(Struct, frozen=True, kw_only=True):
    """Place where a hunk is applied."""

    start: int
    """Index of the first old line."""
    match: Literal["exact", "endings", "spaces"]


def _bare(line: str) -> str:
    """Remove the line's ending."""
    return line.removesuffix("\n").removesuffix("\r")


def _spaced(line: str) -> str:
    return " ".join(line.split())


def _itself(line: str) -> str:
    return line


_FOLDS: Mapping[Literal["exact", "endings", "spaces"], Callable[[str], str]] = {
    "exact": _itself,
    "endings": _bare,
    "spaces": _spaced,
}
"""Normalizations of lines before they are compared, strictest first."""


def _places_of(wanted: Sequence[str], lines: Sequence[str]) -> list[int]:
    """Return all places of these lines, including overlapping ones, in linear time (Knuth-Morris-Pratt)."""
    table, n_same = [0], 0
    for line in wanted[1:]:
        while n_same and line != wanted[n_same]:
            n_same = table[n_same - 1]
        n_same += line == wanted[n_same]
        table.append(n_same)
    found: list[int] = []
    n_same = 0
    for at, line in enumerate(lines):
        while n_same and (n_same == len(wanted) or line != wanted[n_same]):
            n_same = table[n_same - 1]
        n_same += line == wanted[n_same]
        if n_same == len(wanted):
            found.append(at - n_same + 1)
    return found


class _Taken(Struct):
    """Places of hunks, which do not overlap. A place is a range of lines, empty if the hunk only adds some."""

    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])

    def overlaps(self, start: int, n_lines: int) -> bool:
        """Return whether a place overlaps one of these; an empty place does if it is inside of one."""
        before = bisect_left(self.starts, start + n_lines)
        return before > 0 and self.ends[before - 1] > start

    def add(self, start: int, n_lines: int) -> None:
        """Add a place that overlaps none of these."""
        end = start + n_lines
        at = bisect_left(self.ends, end, lo=bisect_left(self.starts, start))
        self.starts.insert(at, start)
        self.ends.insert(at, end)


class _HunkText:
    def __init__(self, lines: Sequence[str], name: str) -> None:
        self._lines = lines
        self._name = name
        self._folded: dict[str, list[str]] = {}
        self._steps_left = MAX_STEPS
        self._n_explained = 0

    def after(self, hunks: Sequence[PatchHunk]) -> Patched:
        placed: list[tuple[_HunkPlace, PatchHunk, list[str]]] = []
        notes: list[str] = []
        failures: list[str] = []
        taken = _Taken()
        drift = floor = 0
        for number, hunk in enumerate(hunks, start=1):
            which = f"hunk {number}" if len(hunks) == 1 else f"hunk {number} of {len(hunks)}"
            try:
                place = self._place(hunk, drift, floor, taken)
                placed.append((place, hunk, self._replaced(place, hunk)))
                taken.add(place.start, len(hunk.old))
            except HunkError as error:
                failures.append(f"{self._name}, {which} ({hunk.header}) does not apply: {error}")
                continue
            notes += self._notes(which, hunk, place)
            floor = place.start + len(hunk.old)
            drift = place.start - hunk.at if hunk.at is not None else drift
        if failures:
            more = len(failures) - MAX_FAILURES
            rest = [f"{more} more hunks of {self._name} do not apply."] if more > 0 else []
            raise HunkError("\n\n".join([*failures[:MAX_FAILURES], *rest]))
        return Patched(text=self._joined(placed), notes=tuple(notes))

    # Location

    def _place(self, hunk: PatchHunk, drift: int, floor: int, taken: _Taken) -> _HunkPlace:
        """Return the place of the hunk. Raises `HunkError` if it is missing or ambiguous."""
        old = hunk.old
        if not old:
            return self._place_of_insertion(hunk, drift, taken)
        expected = None if hunk.at is None else hunk.at + drift
        if expected is not None and self._stands_at(expected, old) and not taken.overlaps(expected, len(old)):
            self._refuse_applied(hunk, expected)
            return _HunkPlace(start=expected, match="exact")
        match: Literal["exact", "endings", "spaces"]
        for match in _FOLDS:
            everywhere = self._found(match, old)
            found = [at for at in everywhere if not taken.overlaps(at, len(old))]
            if everywhere and (not found or (expected in everywhere and expected not in found)):
                raise HunkError(OVERLAPS)
            if not found:
                continue
            start = self._chosen(found, everywhere, expected, floor)
            self._refuse_applied(hunk, start)
            return _HunkPlace(start=start, match=match)
        raise HunkError(self._explained(hunk))

    def _stands_at(self, at: int, old: Sequence[str]) -> bool:
        return at >= 0 and self._lines[at : at + len(old)] == old

    def _place_of_insertion(self, hunk: PatchHunk, drift: int, taken: _Taken) -> _HunkPlace:
        if hunk.at is None and self._lines:
            raise HunkError("it has neither context lines nor a line number, so its position is unknown.")
        start = 0 if hunk.at is None else hunk.at + drift
        if not 0 <= start <= len(self._lines):
            raise HunkError(
                f"it has no context lines, and line {start} does not exist: the file has {len(self._lines)} lines."
            )
        if taken.overlaps(start, 0):
            raise HunkError(OVERLAPS)
        self._refuse_applied(hunk, start)
        return _HunkPlace(start=start, match="endings")

    def _chosen(self, found: Sequence[int], everywhere: Sequence[int], expected: int | None, floor: int) -> int:
        """Choose one of `found`, the places not taken by other hunks; `floor` is the end of the preceding hunk."""
        if expected is not None and expected in found:
            return expected
        is_in_order = expected is None or expected >= floor
        candidates = [at for at in found if at >= floor] if is_in_order else []
        candidates = candidates or everywhere  # hunks in another order than the file's
        if len(candidates) == 1:
            return candidates[0]
        named = ", ".join(str(at + 1) for at in candidates[:MAX_PLACES_NAMED])
        raise HunkError(
            f"its old lines occur at {len(candidates)} places (they start at lines "
            f"{named}{', …' if len(candidates) > MAX_PLACES_NAMED else ''}), and none of them matches the header. "
            "Give more context lines, or the correct line number."
        )

    def _found(self, match: Literal["exact", "endings", "spaces"], old: Sequence[str]) -> list[int]:
        self._steps_left -= len(self._lines) + len(old)
        if self._steps_left < 0:
            raise HunkError(
                "too many hunks do not match the line numbers in their headers. Split the patch, or give the "
                "correct line numbers."
            )
        fold = _FOLDS[match]
        wanted = [fold(line) for line in old]
        if match == "spaces" and not any(wanted):
            return []
        return _places_of(wanted, self._folded_by(match))

    def _folded_by(self, match: Literal["exact", "endings", "spaces"]) -> list[str]:
        if match not in self._folded:
            self._folded[match] = [_FOLDS[match](line) for line in self._lines]
        return self._folded[match]

    def _refuse_applied(self, hunk: PatchHunk, start: int) -> None:
        """Raise `HunkError` if a hunk only adds lines, beside context on one side, that already exist there."""
        sides = [line.side for line in hunk.lines]
        if "-" in sides or "+" not in sides:
            return
        n_lead, n_trail = sides.index("+"), sides[::-1].index("+")
        new = [_bare(line) for line in hunk.new]
        n_added = len(new) - len(hunk.old)
        lines = self._folded_by("endings")
        end = start + len(hunk.old)
        follows = n_trail <= n_lead and end < len(lines) and lines[start : start + len(new)] == new
        before = start - n_added
        precedes = n_lead <= n_trail and before >= 0 and lines[before : before + len(new)] == new
        if (follows and n_trail < max(n_lead, 1)) or (precedes and n_lead < max(n_trail, 1)):
            raise HunkError("the lines that it adds already exist. Was the patch applied before?")

    def _explained(self, hunk: PatchHunk) -> str:
        """Explain that the old lines are missing, with the nearest text; briefly after `MAX_FAILURES`."""
        self._n_explained += 1
        if self._n_explained > MAX_FAILURES:
            return "the lines that it expects are not in the file."
        lines = self._folded_by("endings")
        old, new = [_bare(line) for line in hunk.old], [_bare(line) for line in hunk.new]
        expects = "\n".join(old[:MAX_LINES_QUOTED])
        hidden = f"\n[… {len(old) - MAX_LINES_QUOTED} more lines]" if len(old) > MAX_LINES_QUOTED else ""
        said = f"the lines that it expects are not in the file. It expects:\n{expects}{hidden}\n"
        if new and (there := _places_of(new, lines)):
            return f"{said}Its new lines already exist at line {there[0] + 1}. Was the patch applied before?"
        if not lines:
            return f"{said}The file is empty."
        why = explain_missing("\n".join(lines), "\n".join(old), called="what it expects")
        if "\n" in why or hunk.at is None:
            return said + why
        first = max(0, min(hunk.at, len(lines) - 1) - 3)
        around = numbered(lines[first : first + min(len(old), MAX_LINES_QUOTED) + 6], first + 1)
        return f"{said}{why}\nAround the line in its header, the file contains:\n{around}"

    # Contents

    def _replaced(self, place: _HunkPlace, hunk: PatchHunk) -> list[str]:
        """Return the replacement for the hunk's old lines. Context lines are taken from the file."""
        knows_endings = place.match == "exact" and (
            any(line.endswith("\n") for line in hunk.old) or any(line.endswith("\r\n") for line in hunk.new)
        )
        indent = self._indent(place, hunk) if place.match == "spaces" else None
        new: list[str] = []
        at = place.start
        for line in hunk.lines:
            match line.side:
                case " ":
                    new.append(self._lines[at])
                    at += 1
                case "-":
                    at += 1
                case "+" if knows_endings:
                    new.append(line.text)
                case "+":
                    bare = indent(_bare(line.text)) if indent else _bare(line.text)
                    new.append(bare + (self._ending_at(at) if line.text.endswith("\n") else ""))
        if at == len(self._lines) and not knows_endings and hunk.lines and hunk.lines[-1].side == "+" and new:
            self._keep_last_ending(hunk, new)
        return new

    def _keep_last_ending(self, hunk: PatchHunk, new: list[str]) -> None:
        """Leave a file without a final line break unchanged in that, unless the patch specifies it."""
        had_one = not self._lines or self._lines[-1].endswith(("\n", "\r"))
        says = any(not line.text.endswith("\n") for line in hunk.lines)
        if not had_one and not says:
            new[-1] = _bare(new[-1]).removesuffix("\r")

    def _ending_at(self, at: int) -> str:
        """Return the line ending at an index: that of the line, else of the one before."""
        for index in (at, at - 1, 0):
            if 0 <= index < len(self._lines):
                line = self._lines[index]
                for ending in ("\r\n", "\n", "\r"):
                    if line.endswith(ending):
                        return ending
        return "\n"

    def _indent(self, place: _HunkPlace, hunk: PatchHunk) -> Callable[[str], str]:
        """Return a function that indents added lines as the file does. Raises `HunkError` if the indentation is
        ambiguous.
        """
        there = self._folded_by("endings")[place.start : place.start + len(hunk.old)]
        known: dict[str, str] = {}
        for ours, theirs in zip(hunk.old, there, strict=True):
            if ours.strip() and known.setdefault(_indentation(ours), _indentation(theirs)) != _indentation(theirs):
                raise HunkError(self._explained(hunk))
        added = {_indentation(line.text) for line in hunk.lines if line.side == "+" and line.text.strip()}
        if all(ours == theirs for ours, theirs in known.items()):
            return _itself
        if added <= known.keys():
            return lambda line: known[_indentation(line)] + line.lstrip() if line.strip() else line
        deeper = {theirs.removesuffix(ours) for ours, theirs in known.items() if theirs.endswith(ours)}
        if len(deeper) == 1 and all(theirs.endswith(ours) for ours, theirs in known.items()):
            more = deeper.pop()
            return lambda line: more + line if line.strip() else line
        raise HunkError(self._explained(hunk))

    def _joined(self, placed: Sequence[tuple[_HunkPlace, PatchHunk, list[str]]]) -> str:
        pieces: list[str] = []
        done = 0
        for place, hunk, new in sorted(placed, key=lambda each: (each[0].start, bool(each[1].old))):
            pieces += self._lines[done : place.start]
            pieces += new
            done = place.start + len(hunk.old)
        pieces += self._lines[done:]
        *most, last = pieces or [""]
        whole = [line if line.endswith(("\n", "\r")) else line + self._ending_at(0) for line in most]
        return "".join(whole) + last

    def _notes(self, which: str, hunk: PatchHunk, place: _HunkPlace) -> list[str]:
        notes: list[str] = []
        if hunk.at is not None and hunk.at != place.start:
            notes.append(f"{which} was applied at line {place.start + 1}, not at {hunk.at + 1}")
        if place.match == "spaces":
            notes.append(
                f"{which} differs in whitespace from line {place.start + 1} on; the file's whitespace was kept"
            )
        return notes


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
