"""Text buffer for many successive changes.

`apply_change` copies the whole text for each change. This buffer stores lines, so that 20,000 changes of a document of
60,000 lines take a fraction of a second; the result is the same.
"""

from __future__ import annotations

from itertools import chain

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.editors.lsp.documents.positions import PositionEncoding, offset_at
from pygent_ls.editors.lsp.standard import Position


class EditedText:
    """Lines of a text with their line breaks. The last one has no line break and can be empty."""

    def __init__(self, text: str, encoding: PositionEncoding) -> None:
        self.lines = _lines_of(text)
        self._encoding: PositionEncoding = encoding

    @property
    def text(self) -> str:
        """Return all lines joined."""
        return "".join(self.lines)

    def change(self, start: Position, end: Position, new: str) -> None:
        """Replace the text between two positions; both are clamped as in `apply_change`."""
        if end < start:
            start, end = end, start
        first, head = self._split(start)
        last, tail = self._split(end)
        replaced = self.lines[first][:head] + new + self.lines[last][tail:]
        if first and replaced.startswith("\n") and self.lines[first - 1].endswith("\r"):
            first -= 1
            replaced = self.lines[first] + replaced
        lines = _lines_of(replaced)
        if last + 1 < len(self.lines):
            lines.pop()  # the empty line after the last line break
        self.lines[first : last + 1] = lines

    def _split(self, position: Position) -> tuple[int, int]:
        """Return the index of a position's line, and the offset in it."""
        index = max(0, position.line)
        if index >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1])
        return index, offset_at(self.lines[index], Position(0, position.character), self._encoding)


class ExpectedText:
    """Compares an edited text with an expected one, starting at the last difference found."""

    def __init__(self, text: str) -> None:
        self._lines = _lines_of(text)
        self._at = 0

    def is_reached(self, edited: EditedText) -> bool:
        """Return whether the edited text equals the expected one."""
        lines = edited.lines
        if len(lines) != len(self._lines):
            return False
        for at in chain(range(self._at, len(lines)), range(self._at)):
            if lines[at] != self._lines[at]:
                self._at = at
                return False
        return True


def _lines_of(text: str) -> list[str]:
    lines = split_lines(text)
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines
