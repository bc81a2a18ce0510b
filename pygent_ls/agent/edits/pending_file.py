"""A file with changes of the agent that wait for the user's review. No IO."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count
from pathlib import Path
from typing import NamedTuple

from pygent_ls.agent.edits.differences import Block, common_head, common_tail, differing_stretches
from pygent_ls.agent.edits.merge import merged

_ids = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingHunk:
    """Whole lines that differ: the agent's in place of earlier ones. Offsets count characters."""

    id: int
    """Unique in the daemon. It stays when the hunk moves, and changes when its lines do."""
    author: str
    """Id of the session whose agent made it."""
    old_start: int
    """Start in the baseline."""
    old_text: str
    new_start: int
    """Start in the current text."""
    new_text: str

    @property
    def old_end(self) -> int:
        return self.old_start + len(self.old_text)

    @property
    def new_end(self) -> int:
        return self.new_start + len(self.new_text)

    @property
    def growth(self) -> int:
        """How much longer the current text is because of it."""
        return len(self.new_text) - len(self.old_text)

    def moved(self, old: int, new: int) -> PendingHunk:
        """Return the hunk so many characters further on in the two texts."""
        return replace(self, old_start=self.old_start + old, new_start=self.new_start + new) if old or new else self


class _Edit(NamedTuple):
    """The characters from `start` to `end` became `text`."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)


@dataclass(slots=True)
class _Region:
    """Part of both texts: a hunk, or what has to be compared again."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int
    author: str
    hunk: PendingHunk | None = None


class PendingFile:
    """The text of a file without the changes to review (`baseline`), and its current text.

    The differences are the hunks. Accepting a hunk brings it into the baseline. What the user types outside of hunks
    belongs to both texts, and so never becomes a hunk; what they type in a hunk changes it. A change costs the time to
    copy both texts, and the comparison of the hunks that it touches.
    """

    def __init__(self, path: Path, baseline: str | None, current: str | None, author: str) -> None:
        """None: there is no such file."""
        self.path = path
        self.baseline = baseline
        self.current = current
        self.is_typed_in = False
        """Whether the user has typed in a file that the agent created."""
        self.hunks: tuple[PendingHunk, ...] = ()
        """Hunks in order, with at least one equal line between two of them. A file that was created or deleted is one
        hunk."""
        self._compare(author)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to review."""
        return self.baseline == self.current

    @property
    def n_chars(self) -> int:
        """Length of both texts."""
        return len(self.baseline or "") + len(self.current or "")

    # Changes of the text

    def is_at(self, text: str) -> bool:
        """Whether this is the current text."""
        return self.current is text or self.current == text

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Apply a change by the user or another program: the characters from `start` to `end` became `new`, and the
        text became `text`. Some editors report several edits as one change from the first to the last place."""
        if self.baseline is None or self.current is None:
            self.catch_up(text)
            return
        self._take(list(_edits(self.current, start, end, new)), text)

    def catch_up(self, text: str | None) -> None:
        """Update to the current text, whatever changed it other than the agent."""
        if text == self.current:
            return
        if self.current is None:  # the user has made a new file in place of a deleted one
            self.restore(text, text)
        elif text is None or self.baseline is None:
            self.is_typed_in = self.baseline is None
            self.current = text
            self._compare("")
        else:
            self._use_breaks_of(text)
            self._take(list(_edits(self.current, 0, len(self.current), text)), text)

    def made(self, old: str | None, new: str | None, author: str, *, may_contain: bool = False) -> None:
        """Note that the agent changed the file from `old` to `new`. `may_contain`: the current text may contain the
        change already, as if the user had made it."""
        current = self.current
        if may_contain and current is not None and old is not None and new is not None and current != old:
            without = merged(new, current, old)  # so that the change is in no baseline
            if without is not None:
                self.catch_up(without)
            self.current = current
        else:
            self.catch_up(old)
            self.current = new
        self._compare(author)

    def restore(self, baseline: str | None, current: str | None) -> None:
        """Return to an earlier state."""
        self.baseline, self.current = baseline, current
        self._compare("")

    # Decisions

    def accept(self, hunks: Sequence[PendingHunk]) -> None:
        """Take these hunks, in order, into the baseline."""
        if self.baseline is None or self.current is None or len(hunks) == len(self.hunks):
            self.baseline, self.hunks, self.is_typed_in = self.current, (), False
            return
        self.baseline = _edited(self.baseline, [_Edit(each.old_start, each.old_end, each.new_text) for each in hunks])
        self.hunks = tuple(hunk.moved(grown, 0) for hunk, grown in self._others(hunks))

    def without(self, hunks: Sequence[PendingHunk]) -> str | None:
        """Return the text without these hunks, in order; None if there is no file then."""
        if self.baseline is None or self.current is None or len(hunks) == len(self.hunks):
            return self.baseline
        return _edited(self.current, [_Edit(each.new_start, each.new_end, each.old_text) for each in hunks])

    def reject(self, hunks: Sequence[PendingHunk]) -> None:
        """Note that the text is `without` these hunks."""
        self.current = self.without(hunks)
        self.hunks = tuple(hunk.moved(0, -grown) for hunk, grown in self._others(hunks))

    def _others(self, hunks: Sequence[PendingHunk]) -> Iterator[tuple[PendingHunk, int]]:
        """Yield the other hunks, each with the growth by those of `hunks` that come before it."""
        ids, grown = {each.id for each in hunks}, 0
        for hunk in self.hunks:
            if hunk.id in ids:
                grown += hunk.growth
            else:
                yield hunk, grown

    # Comparison

    def _compare(self, author: str) -> None:
        """Compare all of both texts. Hunks that were not there before are of this author."""
        old, new = self.baseline or "", self.current or ""
        if self.is_settled:
            blocks: Sequence[Block] = ()
        elif self.baseline is None or self.current is None:
            blocks = [Block(0, len(old), 0, len(new))]
        else:
            blocks = differing_stretches(old, new)
        author = author or next((each.author for each in self.hunks), "")
        known = {(each.old_start, each.old_text, each.new_text): each for each in self.hunks}
        found = [_hunk(old, new, each, author) for each in blocks]
        kept = [known.get((each.old_start, each.old_text, each.new_text)) for each in found]
        self.hunks = tuple(
            replace(each, id=before.id, author=before.author) if before is not None else each
            for each, before in zip(found, kept, strict=True)
        )

    def _use_breaks_of(self, text: str) -> None:
        """Give both texts the line breaks of this one: an editor may use others than the file has."""
        assert self.baseline is not None
        assert self.current is not None
        if "\r\n" in self.current and "\r" not in text:
            self.restore(self.baseline.replace("\r\n", "\n"), self.current.replace("\r\n", "\n"))
        elif "\r\n" in text and "\r" not in self.current and "\n" not in text.replace("\r\n", ""):
            self.restore(self.baseline.replace("\n", "\r\n"), self.current.replace("\n", "\r\n"))

    def _take(self, edits: Sequence[_Edit], text: str) -> None:
        """Apply edits of the current text, in order, of which those that touch no hunk change the baseline, too."""
        assert self.baseline is not None
        hunks = self.hunks
        shifts = [0, *accumulate(each.growth for each in hunks)]
        free: list[_Edit] = []
        regions: list[_Region] = []
        # Hunks before the edit; hunks that are in `regions`; growth of the baseline and of the text so far.
        at = n_done = old_growth = new_growth = 0
        for edit in edits:
            while at < len(hunks) and _is_behind(hunks[at], edit):
                at += 1
            last = at
            while last < len(hunks) and not _is_before(hunks[last], edit):
                last += 1
            regions += (_region(each, old_growth, new_growth) for each in hunks[n_done:at])
            n_done = max(n_done, at)
            if last == at:
                free.append(_Edit(edit.start - shifts[at], edit.end - shifts[at], edit.text))
                old_growth += edit.growth
            else:
                low, high = min(edit.start, hunks[at].new_start), max(edit.end, hunks[last - 1].new_end)
                touched = _Region(
                    low - shifts[at] + old_growth,
                    high - shifts[last] + old_growth,
                    low + new_growth,
                    high + new_growth + edit.growth,
                    hunks[at].author,
                )
                if at < n_done:  # the edit before has touched this hunk as well
                    touched.old_start, touched.new_start = regions[-1].old_start, regions[-1].new_start
                    touched.old_end = max(touched.old_end, regions[-1].old_end)
                    touched.new_end = max(touched.new_end, regions[-1].new_end + edit.growth)
                    regions.pop()
                regions.append(touched)
                n_done = max(n_done, last)
            new_growth += edit.growth
        regions += (_region(each, old_growth, new_growth) for each in hunks[n_done:])
        self.baseline, self.current = _edited(self.baseline, free), text
        self.hunks = tuple(self._compared(regions))

    def _compared(self, regions: Sequence[_Region]) -> Iterator[PendingHunk]:
        """Yield the hunks of the regions; those that are not hunks are compared, in whole lines."""
        assert self.baseline is not None
        assert self.current is not None
        done: list[_Region] = []
        for place, each in enumerate(regions):
            region = each
            following = regions[place + 1] if place + 1 < len(regions) else None
            end = following.new_start if following is not None else len(self.current)
            if region.hunk is None:
                self._extend(region, done[-1].new_end if done else 0, end)
            while done and done[-1].new_end >= region.new_start:
                before = done.pop()
                region = _Region(before.old_start, region.old_end, before.new_start, region.new_end, before.author)
                self._extend(region, done[-1].new_end if done else 0, end)
            done.append(region)
        for region in done:
            if region.hunk is not None:
                yield region.hunk
                continue
            old, new = self.baseline[region.old_start : region.old_end], self.current[region.new_start : region.new_end]
            for block in differing_stretches(old, new):
                place_in_both = Block(
                    region.old_start + block.old_start,
                    region.old_start + block.old_end,
                    region.new_start + block.new_start,
                    region.new_start + block.new_end,
                )
                yield _hunk(self.baseline, self.current, place_in_both, region.author)

    def _extend(self, region: _Region, start: int, end: int) -> None:
        """Extend a region to whole lines of both texts, within these offsets of the current text; around it, both are
        equal."""
        assert self.baseline is not None
        assert self.current is not None
        old, new = self.baseline, self.current
        while region.new_start > start and not (
            _is_line_start(new, region.new_start) and _is_line_start(old, region.old_start)
        ):
            region.new_start -= 1
            region.old_start -= 1
        while region.new_end < end and not (
            _is_line_start(new, region.new_end) and _is_line_start(old, region.old_end)
        ):
            region.new_end += 1
            region.old_end += 1


def _edits(text: str, start: int, end: int, new: str) -> Iterator[_Edit]:
    """Yield the edits of a change, each without equal characters at its ends. A line break that is inserted before
    another one is inserted behind it, at the start of the next line: the text is the same."""
    for block in differing_stretches(text[start:end], new):
        old_part, new_part = text[start + block.old_start : start + block.old_end], new[block.new_start : block.new_end]
        head = common_head(old_part, new_part)
        tail = common_tail(old_part, new_part, head)
        edit = _Edit(
            start + block.old_start + head, start + block.old_end - tail, new_part[head : len(new_part) - tail]
        )
        if edit.start == edit.end and edit.text[:1] == "\n" == text[edit.end : edit.end + 1]:
            edit = _Edit(edit.start + 1, edit.end + 1, f"{edit.text[1:]}\n")
        yield edit


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += text[done : edit.start], edit.text
        done = edit.end
    return "".join([*parts, text[done:]])


def _region(hunk: PendingHunk, old: int, new: int) -> _Region:
    moved = hunk.moved(old, new)
    return _Region(moved.old_start, moved.old_end, moved.new_start, moved.new_end, hunk.author, moved)


def _hunk(old: str, new: str, at: Block, author: str) -> PendingHunk:
    return PendingHunk(
        id=next(_ids),
        author=author,
        old_start=at.old_start,
        old_text=old[at.old_start : at.old_end],
        new_start=at.new_start,
        new_text=new[at.new_start : at.new_end],
    )


def _is_behind(hunk: PendingHunk, edit: _Edit) -> bool:
    """Whether an edit is behind the hunk."""
    ends_lines = hunk.new_text[-1:] in ("\n", "\r") and hunk.old_text[-1:] in ("", "\n", "\r")
    return edit.start > hunk.new_end or (edit.start == hunk.new_end and ends_lines)


def _is_before(hunk: PendingHunk, edit: _Edit) -> bool:
    """Whether an edit is before the hunk, or inserts whole lines at its first line, or in place of deleted lines."""
    inserts_lines = edit.start == edit.end == hunk.new_start and edit.text[-1:] in ("\n", "\r")
    return edit.end < hunk.new_start or inserts_lines


def _is_line_start(text: str, offset: int) -> bool:
    before, after = text[offset - 1 : offset] if offset else "", text[offset : offset + 1]
    return not before or before == "\n" or (before == "\r" and after != "\n")
