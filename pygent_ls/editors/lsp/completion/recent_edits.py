"""What the user changed last, in the files that they complete in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.ports.completer import RecentEdit
from pygent_ls.editors.lsp.completion.context import MARGIN_CHARS
from pygent_ls.editors.lsp.documents.buffers import Buffer, Buffers

MAX_FILES = 20
"""Number of files whose changes are followed, the most recently completed ones."""

MAX_EDITS = 8
"""Number of changes that are kept of a file."""

MAX_SENT = 5
"""Number of changes that a model is told."""

MAX_EDIT_CHARS = 1_500
"""Length of a change, its lines before and after together, beyond which it is left out."""

NEAR_CHARS = 80
"""Distance at which a change belongs to the one before it."""


class _ChangedPart(Struct):
    """A changed part of a text: its place now, and the text that was there before."""

    start: int
    end: int
    old: str
    at: int
    """Number of the last change in it."""


class EditedFile:
    """Implements `Follower`: the changed parts of one file."""

    def __init__(self, path: Path, text: str, tick: Callable[[], int]) -> None:
        self.path = path
        self._text = text
        self._tick = tick
        self._regions: list[_ChangedPart] = []

    def is_at(self, text: str) -> bool:
        """Implement `Follower`."""
        return text is self._text or text == self._text

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Implement `Follower`."""
        before, self._text = self._text, text
        if (start, end) == (0, len(before)):  # an editor that sends the whole text
            start, end, new = _changed_part(before, new)
        if start == end and not new:
            return
        delta = len(new) - (end - start)
        last = self._regions[-1] if self._regions else None
        if last is not None and start <= last.end + NEAR_CHARS and end >= last.start - NEAR_CHARS:
            self._regions.pop()
            low, high = min(start, last.start), max(end, last.end)
            old = before[low : last.start] + last.old + before[last.end : high]
        else:
            low, high, old = start, end, before[start:end]
        self._regions = [each for each in self._regions if each.end <= low or each.start >= high]
        for each in self._regions:
            if each.start >= high:
                each.start += delta
                each.end += delta
        if len(old) <= MAX_EDIT_CHARS and high + delta - low <= MAX_EDIT_CHARS:
            self._regions.append(_ChangedPart(low, high + delta, old, self._tick()))
        del self._regions[:-MAX_EDITS]

    def catch_up(self, text: str) -> None:
        """Implement `Follower`: what was changed is unknown."""
        if not self.is_at(text):
            self._regions.clear()
            self._text = text

    def edits(self, name: str) -> list[tuple[int, RecentEdit]]:
        """Return the changes as whole lines, each with its number."""
        made = [(each.at, self._edit(each, name)) for each in self._regions]
        return [(at, edit) for at, edit in made if edit.old != edit.new and len(edit.old + edit.new) <= MAX_EDIT_CHARS]

    def _edit(self, region: _ChangedPart, name: str) -> RecentEdit:
        text = self._text
        start = text.rfind("\n", 0, region.start) + 1
        end = text.find("\n", region.end)
        end = len(text) if end < 0 else end
        end = min(end, region.end + MAX_EDIT_CHARS)  # a line without an end is too long in any case
        head, tail = text[max(start, region.start - MAX_EDIT_CHARS) : region.start], text[region.end : end]
        old, new = head + region.old + tail, text[region.start - len(head) : end]
        return RecentEdit(
            path=self.path,
            name=name,
            line=text.count("\n", 0, start) + 1,
            old=old.replace("\r\n", "\n"),
            new=new.replace("\r\n", "\n"),
            lead=text[max(0, start - MARGIN_CHARS) : start].replace("\r\n", "\n"),
        )


class RecentEdits:
    """The changes in all files in which the user has asked for completions."""

    def __init__(self, buffers: Buffers) -> None:
        self._buffers = buffers
        self._files: dict[Path, EditedFile] = {}
        self._n_changes = 0

    def follow(self, buffer: Buffer) -> None:
        """Follow the changes of a document from now on."""
        known = self._files.pop(buffer.path, None)
        if known is None:
            known = EditedFile(buffer.path, buffer.text, self._tick)
            self._buffers.follow(known)
        self._files[buffer.path] = known
        for path in list(self._files)[:-MAX_FILES]:
            self._buffers.unfollow(self._files.pop(path))

    def notice(self, path: Path) -> None:
        """Follow a document that was opened, so that its first change is known, too."""
        buffer = self._buffers.get(path) if path not in self._files else None
        if buffer is not None:
            self.follow(buffer)

    def last(self, shown: Callable[[Path], str], is_wanted: Callable[[Path], bool]) -> Sequence[RecentEdit]:
        """Return the last changes in the wanted files that are open, the last one last."""
        files = [each for path, each in self._files.items() if self._buffers.get(path) is not None and is_wanted(path)]
        found = [edit for each in files for edit in each.edits(shown(each.path))]
        found.sort(key=lambda each: each[0])
        return tuple(edit for _, edit in found[-MAX_SENT:])

    def close(self) -> None:
        """Follow nothing any more."""
        for each in self._files.values():
            self._buffers.unfollow(each)
        self._files.clear()

    def _tick(self) -> int:
        self._n_changes += 1
        return self._n_changes


def _changed_part(before: str, after: str) -> tuple[int, int, str]:
    """Return the part of a text that differs, and what it became."""
    start = _common_length(before, after, min(len(before), len(after)))
    longest = min(len(before), len(after)) - start
    tail = _common_length(before[::-1][:longest], after[::-1][:longest], longest)
    return start, len(before) - tail, after[start : len(after) - tail]


def _common_length(one: str, other: str, most: int) -> int:
    """Return the length of the common beginning of two texts, by comparing halves."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
