"""A file with changes of the agent that wait for the user's review. No IO."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from pygent_ls.agent.edits.differences import Block, differing_stretches, is_line_start, whole_lines
from pygent_ls.agent.edits.found_lines import found_lines
from pygent_ls.agent.edits.hunks import edited, text_with, text_without
from pygent_ls.agent.edits.merge import merged
from pygent_ls.agent.edits.pending_hunks import EditedHunks, EditedRegion, LineEdit, PendingHunk, other_hunks


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
        """Apply a change of the editor: the characters from `start` to `end` became `new`, and the text became `text`.
        Some editors report several edits as one change from the first to the last place."""
        if self.baseline is None or self.current is None:
            self.catch_up(text)
        elif start == 0 and end == len(self.current):
            self._use_breaks_of(text)  # perhaps all line breaks are others now
            self._take([*self._users_edits(0, len(self.current), text, is_typed=True)], text)
        else:
            self._take([*self._users_edits(*whole_lines(self.current, start, end, new), text, is_typed=True)], text)

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
        elif text == self.baseline:  # as of a document that was closed without saving
            self.current, self.hunks = text, ()
        else:
            self._use_breaks_of(text)
            self._take([*self._users_edits(0, len(self.current), text, is_typed=False)], text)

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
            if new is not None and self.current is not None and self.baseline is not None:
                self._take([*_edits(self.current, 0, len(self.current), new)], new, author)
                return
            self.current = new
        self._compare(author)

    def restore(self, baseline: str | None, current: str | None, authors: Sequence[str] = ()) -> None:
        """Return to an earlier state. `authors` are those of its hunks, in order, if they are known."""
        self.baseline, self.current = baseline, current
        self._compare(next(iter(authors), ""))
        if len(authors) == len(self.hunks):
            self.hunks = tuple(replace(each, author=of) for each, of in zip(self.hunks, authors, strict=True))

    def return_to(self, earlier: PendingFile) -> None:
        """Return to a copy of this file that was made earlier."""
        self.baseline, self.current, self.hunks = earlier.baseline, earlier.current, earlier.hunks
        self.is_typed_in = earlier.is_typed_in

    # Decisions

    def accept(self, hunks: Sequence[PendingHunk]) -> None:
        """Take these hunks, in order, into the baseline."""
        if self.baseline is None or self.current is None or len(hunks) == len(self.hunks):
            self.baseline, self.hunks, self.is_typed_in = self.current, (), False
            return
        self.baseline = text_with(self.baseline, hunks)
        self.hunks = tuple(hunk.moved(grown, 0) for hunk, grown in other_hunks(self.hunks, hunks))

    def without(self, hunks: Sequence[PendingHunk]) -> str | None:
        """Return the text without these hunks, in order; None if there is no file then."""
        if self.baseline is None or self.current is None or len(hunks) == len(self.hunks):
            return self.baseline
        return text_without(self.current, hunks)

    def reject(self, hunks: Sequence[PendingHunk]) -> None:
        """Note that the text is `without` these hunks."""
        self.current = self.without(hunks)
        self.hunks = tuple(hunk.moved(0, -grown) for hunk, grown in other_hunks(self.hunks, hunks))

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
        hunks = self.hunks
        line_break = "\n" if "\r" not in text else "\r\n"
        if text.count("\r") == text.count("\r\n") == (0 if line_break == "\n" else text.count("\n")):
            old, new = _with_breaks(self.baseline, line_break), _with_breaks(self.current, line_break)
            if new != self.current:
                self.restore(old, new)
        if self.hunks is not hunks and len(self.hunks) == len(hunks):
            pairs = zip(self.hunks, hunks, strict=True)
            self.hunks = tuple(replace(each, id=before.id, author=before.author) for each, before in pairs)

    def _users_edits(self, start: int, end: int, text: str, *, is_typed: bool) -> Iterator[LineEdit]:
        """Yield the edits that turn whole lines of the current text into those of `text`, in order. One that spans a
        hunk and lines around it is split, so that the hunk does not include them. Text typed in place of a hunk belongs
        to it."""
        assert self.current is not None
        for edit in _edits(self.current, start, end, text):
            first = bisect_right(self.hunks, edit.start, key=lambda each: each.new_end)
            last = bisect_left(self.hunks, edit.end, key=lambda each: each.new_start)
            spans = [(max(e.new_start, edit.start), min(e.new_end, edit.end)) for e in self.hunks[first:last]]
            is_inside = len(spans) == 1 and spans[0] == edit[:2]
            is_part = is_inside and spans[0] != (self.hunks[first].new_start, self.hunks[first].new_end)
            if not spans or is_part or (is_inside and is_typed):
                yield edit
                continue
            lines = self.current[edit.start : edit.end]
            places = found_lines(lines, edit.text, [(low - edit.start, high - edit.start) for low, high in spans])
            if places is None:
                yield edit
                continue
            at, done = edit.start, 0
            for (low, high), place in zip(spans, places, strict=True):
                if place is not None:
                    yield LineEdit(at, low, edit.text[done : place[0]], is_rewrite=True)
                    yield LineEdit(low, high, edit.text[place[0] : place[1]])
                    at, done = high, place[1]
            yield LineEdit(at, edit.end, edit.text[done:], is_rewrite=True)

    def _take(self, edits: Sequence[LineEdit], text: str, author: str = "") -> None:
        """Apply edits of the current text, in order. Those of an author are hunks. Others change the baseline, too, if
        they touch no hunk."""
        assert self.baseline is not None
        after = EditedHunks(self.hunks, author, edits)
        self.baseline, self.current = edited(self.baseline, [each[:3] for each in after.baseline_edits]), text
        self.hunks = tuple(self._compared(after.regions))

    def _compared(self, regions: Sequence[EditedRegion]) -> Iterator[PendingHunk]:
        """Yield the hunks of the regions; those that are not hunks are compared, in whole lines."""
        assert self.baseline is not None
        assert self.current is not None
        done: list[EditedRegion] = []
        for place, each in enumerate(regions):
            region = each
            following = regions[place + 1] if place + 1 < len(regions) else None
            end = following.new_start if following is not None else len(self.current)
            if region.hunk is None:
                self._extend(region, done[-1].new_end if done else 0, end)
            while done and done[-1].new_end >= region.new_start:
                before = done.pop()
                region = EditedRegion(before.old_start, region.old_end, before.new_start, region.new_end, before.author)
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

    def _extend(self, region: EditedRegion, start: int, end: int) -> None:
        """Extend a region to whole lines of both texts, within these offsets of the current text; around it, both are
        equal."""
        assert self.baseline is not None
        assert self.current is not None
        old, new = self.baseline, self.current
        while region.new_start > start and not (
            is_line_start(new, region.new_start) and is_line_start(old, region.old_start)
        ):
            region.new_start -= 1
            region.old_start -= 1
        while region.new_end < end and not (is_line_start(new, region.new_end) and is_line_start(old, region.old_end)):
            region.new_end += 1
            region.old_end += 1


def _with_breaks(text: str, line_break: str) -> str:
    """Return a text with these line breaks in place of LF and CRLF."""
    return text.replace("\r\n", "\n").replace("\n", line_break)


def _edits(text: str, start: int, end: int, new: str) -> Iterator[LineEdit]:
    """Yield the edits that turn whole lines of a text into those of another, which is equal around them."""
    changed = new[start : end + len(new) - len(text)]
    for block in differing_stretches(text[start:end], changed):
        yield LineEdit(start + block.old_start, start + block.old_end, changed[block.new_start : block.new_end])


def _hunk(old: str, new: str, at: Block, author: str) -> PendingHunk:
    return PendingHunk(
        author=author,
        old_start=at.old_start,
        old_text=old[at.old_start : at.old_end],
        new_start=at.new_start,
        new_text=new[at.new_start : at.new_end],
    )
