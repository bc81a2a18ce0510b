"""Hunks that wait for the user's review, and what edits of their file make of them. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, count
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.ports.workspace import Hunk

_LINE_ENDS = ("", "\n", "\r")
"""Last characters of texts after which a line may begin."""

_ids = count(time.time_ns() // 1_000_000)
"""Ids that no earlier daemon has given: an editor may still show its lenses."""


class PendingHunk(Hunk, frozen=True, kw_only=True):
    """Hunk between the baseline of a file and its current text."""

    id: int = field(default_factory=lambda: next(_ids))
    """Unique in the daemon. It stays when the hunk moves, and changes when its lines do."""
    author: str
    """Id of the session whose agent made it."""

    @property
    def growth(self) -> int:
        """How much longer the current text is because of it."""
        return len(self.new_text) - len(self.old_text)

    def moved(self, old: int, new: int) -> PendingHunk:
        """Return the hunk so many characters further on in the two texts."""
        return replace(self, old_start=self.old_start + old, new_start=self.new_start + new) if old or new else self


def other_hunks(hunks: Iterable[PendingHunk], chosen: Iterable[PendingHunk]) -> Iterator[tuple[PendingHunk, int]]:
    """Yield the hunks that are not chosen, each with the growth by the chosen ones that come before it."""
    ids, grown = {each.id for each in chosen}, 0
    for hunk in hunks:
        if hunk.id in ids:
            grown += hunk.growth
        else:
            yield hunk, grown


class LineEdit(NamedTuple):
    """The characters from `start` to `end` became `text`; both are whole lines."""

    start: int
    end: int
    text: str
    is_rewrite: bool = False
    """Whether hunks inside of it are gone, and all of its text belongs to the baseline."""

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)


class EditedRegion(Struct):
    """Part of both texts: a hunk, or what has to be compared again."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int
    author: str
    hunk: PendingHunk | None = None


class EditedHunks:
    """Hunks, in order, to which edits of the current text are applied, in order as well."""

    def __init__(self, hunks: Sequence[PendingHunk], author: str, edits: Iterable[LineEdit]) -> None:
        """Edits of an author are hunks. Others change the baseline, too, if they touch no hunk."""
        self._hunks = hunks
        self._author = author
        self._shifts = [0, *accumulate(each.growth for each in hunks)]
        self._at = 0
        """Number of hunks before the edit."""
        self._n_done = 0
        """Number of hunks that are in `regions`."""
        self._old_growth = 0
        self._new_growth = 0
        self.regions: list[EditedRegion] = []
        self.baseline_edits: list[LineEdit] = []
        for edit in edits:
            self._apply(edit)
        self._keep(len(hunks))

    def _apply(self, edit: LineEdit) -> None:
        hunks = self._hunks
        while self._at < len(hunks) and _is_behind(hunks[self._at], edit):
            self._at += 1
        last = self._at
        while last < len(hunks) and not _is_before(hunks[last], edit):
            last += 1
        self._keep(self._at)
        if last > self._at and not edit.is_rewrite:
            self._touch(edit, last)
        elif self._author:
            start, end = (each - self._shifts[last] + self._old_growth for each in edit[:2])
            new_start = edit.start + self._new_growth
            self.regions.append(EditedRegion(start, end, new_start, new_start + len(edit.text), self._author))
        else:
            self._edit_baseline(edit, last)
        self._n_done = max(self._n_done, last)
        self._new_growth += edit.growth

    def _keep(self, end: int) -> None:
        """Take up the hunks before this one that no edit has touched."""
        self.regions += (self._region(each) for each in self._hunks[self._n_done : end])
        self._n_done = max(self._n_done, end)

    def _region(self, hunk: PendingHunk) -> EditedRegion:
        moved = hunk.moved(self._old_growth, self._new_growth)
        return EditedRegion(moved.old_start, moved.old_end, moved.new_start, moved.new_end, hunk.author, moved)

    def _touch(self, edit: LineEdit, last: int) -> None:
        """Make one region of an edit and the hunks before `last` that it touches."""
        first, final = self._hunks[self._at], self._hunks[last - 1]
        low, high = min(edit.start, first.new_start), max(edit.end, final.new_end)
        touched = EditedRegion(
            low - self._shifts[self._at] + self._old_growth,
            high - self._shifts[last] + self._old_growth,
            low + self._new_growth,
            high + self._new_growth + edit.growth,
            self._author or first.author,
        )
        if self._at < self._n_done:  # the edit before has touched this hunk as well
            before = self.regions.pop()
            touched.old_start, touched.new_start = before.old_start, before.new_start
            touched.old_end = max(touched.old_end, before.old_end)
            touched.new_end = max(touched.new_end, before.new_end + edit.growth)
        self.regions.append(touched)

    def _edit_baseline(self, edit: LineEdit, last: int) -> None:
        """Change the baseline, too. Of hunks that the edit touches, only the lines around it are left."""
        start, end = edit.start - self._shifts[self._at], edit.end - self._shifts[last]
        touched = self._hunks[self._at : last]
        if touched and touched[0].new_start < edit.start:
            start = touched[0].old_end
            if self._at == self._n_done:
                self.regions.append(replace(self._region(touched[0]), hunk=None))
            self.regions[-1].new_end = edit.start + self._new_growth
        has_rest = bool(touched) and touched[-1].new_end > edit.end
        change = LineEdit(start, touched[-1].old_start if has_rest else end, edit.text)
        self.baseline_edits.append(change)
        self._old_growth += change.growth
        if has_rest:
            rest = replace(self._region(touched[-1]), new_start=edit.end + self._new_growth + edit.growth, hunk=None)
            rest.new_end += edit.growth
            self.regions.append(rest)


def _is_behind(hunk: PendingHunk, edit: LineEdit) -> bool:
    """Whether an edit is behind the hunk. Lines that are inserted in place of deleted ones are before it."""
    ends_lines = hunk.new_text[-1:] in _LINE_ENDS and hunk.old_text[-1:] in _LINE_ENDS
    is_at_end = edit.start == hunk.new_end and ends_lines and (hunk.new_text != "" or edit.end > edit.start)
    return edit.start > hunk.new_end or is_at_end


def _is_before(hunk: PendingHunk, edit: LineEdit) -> bool:
    """Whether an edit is before the hunk."""
    return edit.end < hunk.new_start or (edit.end == hunk.new_start and edit.text[-1:] in _LINE_ENDS)
