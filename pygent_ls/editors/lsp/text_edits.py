"""Replacements of characters as text edits that every client applies alike. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pygent_ls.editors.lsp.features import Encoding
from pygent_ls.workspace.changes import Replacement
from pygent_ls.workspace.positions import LineIndex

MAX_COMPARED = 2_000
"""Characters of an old text and of a new one that a client may compare one by one, as Emacs does for each edit, in the
square of their number: 300,000 characters took it minutes."""


def text_edits(
    text: str, replacements: Iterable[Replacement], encoding: Encoding, *, may_split: bool = True
) -> list[dict[str, Any]]:
    """The replacements, all of them places in `text`, as every client takes them; one each unless they may be split."""
    index = LineIndex(text, encoding)
    taken = [_before_last_break(text, each) for each in replacements]
    if may_split:
        taken = [part for each in taken for part in _comparable(each)]
    return [
        {"range": {"start": _position(index, start), "end": _end(index, text, end, new)}, "newText": new}
        for start, end, new in taken
    ]


def _comparable(given: Replacement) -> Sequence[Replacement]:
    """The replacement; if both texts are long, an insertion and a removal at one place. LSP allows this order, in which
    Neovim adds no line to a new text that ends a file."""
    if min(given.end - given.start, len(given.text)) <= MAX_COMPARED:
        return [given]
    return [Replacement(given.start, given.start, given.text), Replacement(given.start, given.end, "")]


def _before_last_break(text: str, given: Replacement) -> Replacement:
    """What comes behind the last line break, put before it: `a\\n` + `b\\n` is `a` + `\\nb` + `\\n`. Buffers of Vim and
    Neovim have no line behind it: yegappan/lsp drops such an edit, and Neovim adds an empty line."""
    line_break = _last_break(text)
    if not line_break or given.start != len(text):
        return given
    at = len(text) - len(line_break)
    if _last_break(given.text) == line_break:
        return Replacement(at, at, line_break + given.text.removesuffix(line_break))
    return Replacement(at, len(text), line_break + given.text)


def _last_break(text: str) -> str:
    """The line break that a text ends with, if any."""
    return "\r\n" if text.endswith("\r\n") else "\n" if text.endswith("\n") else ""


def _end(index: LineIndex, text: str, end: int, new: str) -> dict[str, int]:
    """The position of the end. LSP allows the line behind the last one, and it is used if lines are put into an empty
    text: Neovim and vim-lsp else keep the empty line of the buffer."""
    return {"line": 1, "character": 0} if text == "" and new.endswith("\n") else _position(index, end)


def _position(index: LineIndex, offset: int) -> dict[str, int]:
    line, character = index.position(offset)
    return {"line": line, "character": character}
