"""Replacements as text edits that all clients apply in the same way. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pygent_ls.editors.lsp.capabilities import Encoding
from pygent_ls.editors.lsp.documents.minimal_edits import Replacement
from pygent_ls.editors.lsp.documents.positions import LineIndex

MAX_COMPARED = 2_000
"""Maximum length of an old and a new text in one edit. Emacs compares them character by character in quadratic time:
300,000 characters took minutes."""


def text_edits(
    text: str, replacements: Iterable[Replacement], encoding: Encoding, *, may_split: bool = True
) -> list[dict[str, Any]]:
    """Return the replacements, whose places refer to `text`, as text edits; one each unless they may be split."""
    index = LineIndex(text, encoding)
    taken = [_before_last_break(text, each) for each in replacements]
    if may_split:
        taken = [part for each in taken for part in _comparable(each)]
    return [
        {"range": {"start": _position(index, start), "end": _end(index, text, end, new)}, "newText": new}
        for start, end, new in taken
    ]


def _comparable(given: Replacement) -> Sequence[Replacement]:
    """Return the replacement; if both texts are long, an insertion and a removal at one place. LSP allows this order,
    and with it Neovim adds no empty line to new text at the end of a file."""
    if min(given.end - given.start, len(given.text)) <= MAX_COMPARED:
        return [given]
    return [Replacement(given.start, given.start, given.text), Replacement(given.start, given.end, "")]


def _before_last_break(text: str, given: Replacement) -> Replacement:
    """Move an insertion after the last line break before it: `a
    ` + `b
    ` is `a` + `
    b` + `
    `. Buffers of Vim and Neovim have no line after it: yegappan/lsp drops such an edit, and Neovim adds an empty
    line."""
    line_break = _last_break(text)
    if not line_break or given.start != len(text):
        return given
    at = len(text) - len(line_break)
    if _last_break(given.text) == line_break:
        return Replacement(at, at, line_break + given.text.removesuffix(line_break))
    return Replacement(at, len(text), line_break + given.text)


def _last_break(text: str) -> str:
    """Return the line break at the end of a text, if any."""
    return "\r\n" if text.endswith("\r\n") else "\n" if text.endswith("\n") else ""


def _end(index: LineIndex, text: str, end: int, new: str) -> dict[str, int]:
    """Return the end position. It is the line after the last one, which LSP allows, if lines are inserted into an empty
    text: otherwise Neovim and vim-lsp keep the empty line of the buffer."""
    return {"line": 1, "character": 0} if text == "" and new.endswith("\n") else _position(index, end)


def _position(index: LineIndex, offset: int) -> dict[str, int]:
    place = index.position(offset)
    return {"line": place.line, "character": place.character}
