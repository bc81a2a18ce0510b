"""A file with changes of the agent that wait for the user's review. No IO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pygent_ls.agent.edits.differences import Block, common_head, common_tail, differing_stretches
from pygent_ls.agent.edits.merge import merged

_ids = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingHunk:
    """Whole lines that differ: the agent's in place of earlier ones. Offsets count characters."""

    id: int
    """Unique in the daemon. It stays when the hunk moves, and changes when its lines do."""
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

    def moved(self, old: int, new: int) -> PendingHunk:
        """Return the hunk so many characters further on in the two texts."""
        return self if old == new == 0 else self._at(self.old_start + old, self.new_start + new)

    def _at(self, old_start: int, new_start: int) -> PendingHunk:
        return PendingHunk(
            id=self.id, old_start=old_start, old_text=self.old_text, new_start=new_start, new_text=self.new_text
        )


class PendingFile:
    """The text of a file without the changes to review (`baseline`), and its current text.

    The differences are the hunks. Accepting a hunk brings it into the baseline. What the user types outside of hunks
    belongs to both texts, and so never becomes a hunk; what they type in a hunk changes it. A change costs the time to
    copy both texts, and the comparison of the hunks that it touches.
    """

    def __init__(self, path: Path, baseline: str | None, current: str | None) -> None:
        """None: there is no such file."""
        self.path = path
        self.baseline = baseline
        self.current = current
        self.hunks: tuple[PendingHunk, ...] = ()
        """Hunks in order, with at least one equal line between two of them. A file that was created or deleted is one
        hunk."""
        self._compare()

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
        text became `text`."""
        if self.baseline is None or self.current is None:
            self.current = text
            self._compare()
            return
        old = self.current[start:end]
        head = common_head(old, new)
        tail = common_tail(old, new, head)
        self._typed(start + head, end - tail, new[head : len(new) - tail], text)

    def catch_up(self, text: str | None) -> None:
        """Update to the current text, whatever changed it other than the agent."""
        if self.current is None or text is None:
            if text != self.current:
                self.current = text
                self._compare()
        elif text != self.current:
            for block in reversed(differing_stretches(self.current, text)):
                new = text[block.new_start : block.new_end]
                after = f"{self.current[: block.old_start]}{new}{self.current[block.old_end :]}"
                self.changed(block.old_start, block.old_end, new, after)

    def made(self, old: str | None, new: str | None) -> None:
        """Note that the agent changed the file from `old` to `new`. The current text may be the one before, or
        contain the change already, as if the user had made it."""
        if old is None or new is None or self.current is None or self.current == old:
            self.current = new
        else:
            current = self.current
            self.catch_up(merged(new, current, old) or current)  # so that its change is in no baseline
            self.current = current
        self._compare()

    def restore(self, baseline: str | None, current: str | None) -> None:
        """Return to an earlier state."""
        self.baseline, self.current = baseline, current
        self._compare()

    # Decisions

    def accept(self, hunks: Sequence[PendingHunk]) -> None:
        """Take these hunks into the baseline."""
        if len(hunks) == len(self.hunks) or self.baseline is None or self.current is None:
            self.baseline = self.current
            self.hunks = ()
            return
        for hunk in sorted(hunks, key=lambda each: each.old_start, reverse=True):
            self.baseline = f"{self.baseline[: hunk.old_start]}{hunk.new_text}{self.baseline[hunk.old_end :]}"
            grown = len(hunk.new_text) - len(hunk.old_text)
            place = self.hunks.index(hunk)
            behind = (each.moved(grown, 0) for each in self.hunks[place + 1 :])
            self.hunks = (*self.hunks[:place], *behind)

    def without(self, hunks: Sequence[PendingHunk]) -> str | None:
        """Return the text without these hunks; None if there is no file then."""
        if len(hunks) == len(self.hunks) or self.baseline is None or self.current is None:
            return self.baseline
        text = self.current
        for hunk in sorted(hunks, key=lambda each: each.new_start, reverse=True):
            text = f"{text[: hunk.new_start]}{hunk.old_text}{text[hunk.new_end :]}"
        return text

    # Comparison

    def _compare(self) -> None:
        """Compare all of both texts."""
        old, new = self.baseline or "", self.current or ""
        if self.is_settled:
            blocks: Sequence[Block] = ()
        elif self.baseline is None or self.current is None:
            blocks = [Block(0, len(old), 0, len(new))]
        else:
            blocks = differing_stretches(old, new)
        found = [_hunk(old, new, each) for each in blocks]
        known = {(each.old_text, each.new_text): each.id for each in reversed(self.hunks)}
        self.hunks = tuple(_named(each, known.pop((each.old_text, each.new_text), None)) for each in found)

    def _typed(self, start: int, end: int, new: str, text: str) -> None:
        assert self.baseline is not None
        grown = len(new) - (end - start)
        first = next((at for at, each in enumerate(self.hunks) if not _is_behind(each, start)), len(self.hunks))
        last = first
        while last < len(self.hunks) and not _is_before(self.hunks[last], start, end, new):
            last += 1
        if first == last:
            shift = _shift(self.hunks[:first])
            self.baseline = f"{self.baseline[: start - shift]}{new}{self.baseline[end - shift :]}"
            self.current = text
            self.hunks = (*self.hunks[:first], *(each.moved(grown, grown) for each in self.hunks[first:]))
            return
        self._compare_lines(start, end, grown, first, last, text)

    def _compare_lines(self, start: int, end: int, grown: int, first: int, last: int, text: str) -> None:
        """Compare the lines of the hunks from `first` to before `last`, which a change of `start` to `end` touches."""
        assert self.baseline is not None
        old = self.baseline
        low, high = min(start, self.hunks[first].new_start), max(end, self.hunks[last - 1].new_end)
        while True:
            below, above = _shift(self.hunks[:first]), _shift(self.hunks[:last])
            if low > 0 and not (_is_line_start(text, low) and _is_line_start(old, low - below)):
                low -= 1
                if first and self.hunks[first - 1].new_end >= low:
                    first -= 1
                    low = min(low, self.hunks[first].new_start)
            elif high < len(text) - grown and not (
                _is_line_start(text, high + grown) and _is_line_start(old, high - above)
            ):
                high += 1
                if last < len(self.hunks) and self.hunks[last].new_start <= high:
                    high = max(high, self.hunks[last].new_end)
                    last += 1
            else:
                break
        old_low, old_high = low - below, high - above
        found = [
            _hunk(old, text, Block(old_low + each[0], old_low + each[1], low + each[2], low + each[3]))
            for each in differing_stretches(old[old_low:old_high], text[low : high + grown])
        ]
        behind = (each.moved(0, grown) for each in self.hunks[last:])
        self.current = text
        self.hunks = (*self.hunks[:first], *found, *behind)


def _hunk(old: str, new: str, at: Block) -> PendingHunk:
    return PendingHunk(
        id=next(_ids),
        old_start=at.old_start,
        old_text=old[at.old_start : at.old_end],
        new_start=at.new_start,
        new_text=new[at.new_start : at.new_end],
    )


def _named(hunk: PendingHunk, hunk_id: int | None) -> PendingHunk:
    if hunk_id is None:
        return hunk
    return PendingHunk(
        id=hunk_id,
        old_start=hunk.old_start,
        old_text=hunk.old_text,
        new_start=hunk.new_start,
        new_text=hunk.new_text,
    )


def _shift(hunks: Sequence[PendingHunk]) -> int:
    """Return how much longer the current text is because of these hunks."""
    return sum(len(each.new_text) - len(each.old_text) for each in hunks)


def _is_behind(hunk: PendingHunk, start: int) -> bool:
    """Whether a change from `start` on is behind the hunk. An insertion where lines were deleted touches it."""
    ends_lines = hunk.new_text[-1:] in ("\n", "\r") and hunk.old_text[-1:] in ("", "\n", "\r")
    return start > hunk.new_end or (start == hunk.new_end and ends_lines)


def _is_before(hunk: PendingHunk, start: int, end: int, new: str) -> bool:
    """Whether a change from `start` to `end` is before the hunk, or inserts whole lines at its first line."""
    inserts_lines = start == end == hunk.new_start and hunk.new_text != "" and new[-1:] in ("\n", "\r")
    return end < hunk.new_start or inserts_lines


def _is_line_start(text: str, offset: int) -> bool:
    before, after = text[offset - 1 : offset] if offset else "", text[offset : offset + 1]
    return not before or before == "\n" or (before == "\r" and after != "\n")
