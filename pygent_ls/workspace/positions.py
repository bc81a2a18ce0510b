"""Places in a text as LSP counts them: lines and code units.

A line ends with `\\n`, `\\r\\n` or `\\r`, and with nothing else: `str.splitlines` would also split at form feeds and
at U+2028, where editors do not.

The functions look at one place and never walk over the lines in Python, so that a change to a document of 50,000
lines costs about a millisecond. `LineIndex` is for many places in the same text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, islice
from operator import add
from typing import Literal, NamedTuple

PositionEncoding = Literal["utf-8", "utf-16", "utf-32"]
"""What `character` counts: bytes, UTF-16 code units, or code points."""

_BREAK = re.compile(r"\r\n?|\n")

_WINDOW_CHARS = 2_048
"""A stretch of text that is searched for line breaks one by one."""

_MAX_WINDOW_CHARS = 131_072
"""A stretch of text whose line breaks are counted at once: some 50 µs."""


class Position(NamedTuple):
    """A place between two characters: zero-based line, and code units from its start."""

    line: int
    character: int


def offset_at(text: str, position: Position, encoding: PositionEncoding) -> int:
    """The offset of a position, clamped as LSP says: to the end of the line, or of the text where the line is
    beyond the last. In the middle of a character it is the character's start.
    """
    start = _line_start(text, position.line)
    if start is None:
        return len(text)
    return _advance(text, start, _line_end(text, start), position.character, encoding)


def position_at(text: str, offset: int, encoding: PositionEncoding) -> Position:
    """The position of an offset; between `\\r` and `\\n` there is none, so that is the end of the line."""
    offset = _outside_break(text, max(0, min(offset, len(text))))
    start = text.rfind("\n", 0, offset) + 1
    start = max(start, text.rfind("\r", start, offset) + 1)
    return Position(_count_breaks(text, 0, start), _width(text[start:offset], encoding))


def apply_change(text: str, start: Position, end: Position, new: str, encoding: PositionEncoding) -> str:
    """The text after an incremental change; a range that is the wrong way round is turned."""
    if end < start:
        start, end = end, start
    first_line = _line_start(text, start.line)
    if first_line is None:
        return text + new
    last_line = _line_start(text, end.line - start.line, first_line)
    first = _advance(text, first_line, _line_end(text, first_line), start.character, encoding)
    last = len(text)
    if last_line is not None:
        last = _advance(text, last_line, _line_end(text, last_line), end.character, encoding)
    return f"{text[:first]}{new}{text[last:]}"


class LineIndex:
    """Where the lines of one text begin; conversions agree with `offset_at` and `position_at`."""

    def __init__(self, text: str, encoding: PositionEncoding) -> None:
        self._text = text
        self._encoding: PositionEncoding = encoding
        self._starts = _line_starts(text)

    @property
    def n_lines(self) -> int:
        """How many lines there are; what follows the last line break is one too, even when it is empty."""
        return len(self._starts)

    def offset(self, position: Position) -> int:
        """See `offset_at`."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[max(0, position.line)]
        return _advance(self._text, start, _line_end(self._text, start), position.character, self._encoding)

    def position(self, offset: int) -> Position:
        """See `position_at`."""
        offset = _outside_break(self._text, max(0, min(offset, len(self._text))))
        line = bisect_right(self._starts, offset) - 1
        return Position(line, _width(self._text[self._starts[line] : offset], self._encoding))


def _line_start(text: str, line: int, origin: int = 0) -> int | None:
    """Where a line begins, counted from the line that begins at `origin`; None beyond the last.

    Goes forward in windows that double, counting line breaks in C; when the line is in one, back into its half.
    """
    if line <= 0:
        return origin
    low, size, n_before = origin, _WINDOW_CHARS, 0
    while low < len(text):
        high = _outside_break(text, low + size)
        n_high = n_before + _count_breaks(text, low, high)
        if n_high < line:
            low, n_before, size = high, n_high, min(size * 2, _MAX_WINDOW_CHARS)
        elif size > _WINDOW_CHARS:
            size //= 2
        else:
            return next(islice(_BREAK.finditer(text, low, high), line - n_before - 1, None)).end()
    return None


def _line_end(text: str, start: int) -> int:
    """Where the line that begins at `start` ends, before its line break."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    carriage_return = text.find("\r", start, end)
    return end if carriage_return < 0 else carriage_return


def _line_starts(text: str) -> list[int]:
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        return [0, *(found.end() for found in _BREAK.finditer(text))]
    lines = text.split("\n")  # the three steps below run in C: 50,000 lines take some 5 ms
    return list(map(add, accumulate(map(len, lines), initial=0), range(len(lines))))


def _count_breaks(text: str, start: int, end: int) -> int:
    n_breaks = text.count("\n", start, end)
    if text.find("\r", start, end) >= 0:  # much faster than counting none
        n_breaks += text.count("\r", start, end) - text.count("\r\n", start, end)
    return n_breaks


def _outside_break(text: str, offset: int) -> int:
    return offset - 1 if text[offset - 1 : offset + 1] == "\r\n" else offset


def _advance(text: str, start: int, end: int, n_units: int, encoding: PositionEncoding) -> int:
    """The offset so many code units behind `start`, at most `end`."""
    low, left = start, max(0, n_units)
    high = min(end, start + left)  # a character takes one unit at least
    if encoding == "utf-32" or text[start:high].isascii():
        return high
    while low < high:
        middle = (low + high + 1) // 2
        width = _width(text[low:middle], encoding)
        if width <= left:
            low, left = middle, left - width
            high = min(high, low + left)
        else:
            high = middle - 1
    return low


def _width(text: str, encoding: PositionEncoding) -> int:
    """How many code units a text takes."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
