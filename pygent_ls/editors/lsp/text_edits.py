"""Replacements of characters as the text edits of one client. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pygent_ls.editors.lsp.features import ClientFeatures
from pygent_ls.workspace.changes import Replacement
from pygent_ls.workspace.positions import LineIndex

MAX_COMPARED = 2_000
"""Characters of an old text and of a new one that a client may compare one by one, as Emacs does for each edit, in the
square of their number: 300,000 characters took it minutes."""


def text_edits(
    text: str, replacements: Iterable[Replacement], features: ClientFeatures, *, may_split: bool = True
) -> list[dict[str, Any]]:
    """The replacements, all of them places in `text`, as the client takes them; one each unless they may be split."""
    index = LineIndex(text, features.encoding)
    if features.drops_at_end:
        taken = [_before_last_break(text, each) for each in replacements]
    elif may_split:
        taken = [part for each in replacements for part in _comparable(each)]
    else:
        taken = list(replacements)
    return [
        {"range": {"start": _position(index, start), "end": _position(index, end)}, "newText": new}
        for start, end, new in taken
    ]


def _comparable(given: Replacement) -> Sequence[Replacement]:
    """The replacement; if both texts are long, an insertion and a removal at one place. LSP allows this order, in which
    Neovim adds no line to a new text that ends a file."""
    if min(given.end - given.start, len(given.text)) <= MAX_COMPARED:
        return [given]
    return [Replacement(given.start, given.start, given.text), Replacement(given.start, given.end, "")]


def _before_last_break(text: str, given: Replacement) -> Replacement:
    """What comes behind the last line break, put before it: `a\\n` + `b\\n` is `a` + `\\nb` + `\\n`."""
    if not text.endswith("\n") or given.start != len(text):
        return given
    line_break = "\r\n" if text.endswith("\r\n") else "\n"
    at = len(text) - len(line_break)
    if given.text.endswith(line_break):
        return Replacement(at, at, line_break + given.text.removesuffix(line_break))
    return Replacement(at, len(text), line_break + given.text)


def _position(index: LineIndex, offset: int) -> dict[str, int]:
    line, character = index.position(offset)
    return {"line": line, "character": character}
