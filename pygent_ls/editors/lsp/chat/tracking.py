"""Places in a text that its user changes at the same time. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from pygent_ls.workspace.changes import minimal_edits


class Edit(NamedTuple):
    """The characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str

    def applied_to(self, text: str) -> str:
        """The text with it."""
        return f"{text[: self.start]}{self.text}{text[self.end :]}"


def moved(old: str, new: str, offset: int, *, behind: bool = False) -> int:
    """Where a place of the old text is in the new one. What was put in right there stands behind it, or before it if it
    stays `behind`; where the characters around it were replaced, it is behind what they became."""
    shift = 0
    for start, end, text in minimal_edits(old, new):
        if start > offset or (start == offset and not (behind and start == end)):
            break
        shift += len(text) - (end - start)
        if end > offset:
            return end + shift
    return offset + shift


def end_of_edit(before: str, edit: Edit, after: str) -> int | None:
    """Where the edit ends in `after`, if that is `before` with the edit and with what its user changed meanwhile; None
    if it may as well be `before` with the user's changes alone. Some editors make all lines end alike."""
    if after == edit.applied_to(before):
        return edit.start + len(edit.text)
    if "\r" not in before and "\r" not in after:
        return _end_of_edit(before, edit, after)
    start, end = (len(with_line_feeds(before[:offset])) for offset in (edit.start, edit.end))
    found = _end_of_edit(with_line_feeds(before), Edit(start, end, with_line_feeds(edit.text)), with_line_feeds(after))
    return None if found is None else _offset_before_feeds(after, found)


def _end_of_edit(before: str, edit: Edit, after: str) -> int | None:
    expected = edit.applied_to(before)
    if _changed_between(expected, after) >= _changed_between(before, after):
        return None
    end = moved(expected, after, edit.start + len(edit.text))
    return end if after[:end].endswith(edit.text) else None


def _changed_between(old: str, new: str) -> int:
    """Characters that differ."""
    return sum(end - start + len(text) for start, end, text in minimal_edits(old, new))


def _offset_before_feeds(text: str, offset: int) -> int:
    """The place in a text that is at this one when its lines end with line feeds."""
    for found in re.finditer("\r\n", text):
        if found.start() >= offset:
            break
        offset += 1
    return offset


def with_line_feeds(text: str) -> str:
    """The text with all its lines ending with line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
