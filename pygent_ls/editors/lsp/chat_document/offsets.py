"""Positions in a text that the user changes at the same time. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from pygent_ls.editors.lsp.documents.minimal_edits import minimal_edits


class OffsetEdit(NamedTuple):
    """Replacement of the characters from `start` to `end` by `text`."""

    start: int
    end: int
    text: str

    def applied_to(self, text: str) -> str:
        """Return the text with the edit applied."""
        return f"{text[: self.start]}{self.text}{text[self.end :]}"


def moved(old: str, new: str, offset: int, *, behind: bool = False) -> int:
    """Return the position in the new text of a position in the old text. Text inserted exactly there comes after the
    position, or before it if the position stays `behind`. If the surrounding characters were replaced, the position is
    after the replacement."""
    shift = 0
    for start, end, text in minimal_edits(old, new):
        if start > offset or (start == offset and not (behind and start == end)):
            break
        shift += len(text) - (end - start)
        if end > offset:
            return end + shift
    return offset + shift


def end_of_edit(before: str, edit: OffsetEdit, after: str) -> int | None:
    """Return the end of the edit in `after`, if `after` is `before` with the edit and concurrent changes of the user;
    None if it may equally be `before` with the user's changes alone. Differences in line endings are ignored, because
    some editors normalise them."""
    if after == edit.applied_to(before):
        return edit.start + len(edit.text)
    if "\r" not in before and "\r" not in after:
        return _end_of_edit(before, edit, after)
    start, end = (len(with_line_feeds(before[:offset])) for offset in (edit.start, edit.end))
    found = _end_of_edit(
        with_line_feeds(before), OffsetEdit(start, end, with_line_feeds(edit.text)), with_line_feeds(after)
    )
    return None if found is None else _offset_before_feeds(after, found)


def _end_of_edit(before: str, edit: OffsetEdit, after: str) -> int | None:
    expected = edit.applied_to(before)
    if _changed_between(expected, after) >= _changed_between(before, after):
        return None
    end = moved(expected, after, edit.start + len(edit.text))
    return end if after[:end].endswith(edit.text) else None


def _changed_between(old: str, new: str) -> int:
    """Count the differing characters."""
    return sum(end - start + len(text) for start, end, text in minimal_edits(old, new))


def _offset_before_feeds(text: str, offset: int) -> int:
    """Convert an offset in the text with line feeds only to an offset in the text."""
    for found in re.finditer("\r\n", text):
        if found.start() >= offset:
            break
        offset += 1
    return offset


def with_line_feeds(text: str) -> str:
    """Return the text with all line breaks replaced by line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
