"""Replacements of characters as the text edits of one client. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pygent_ls.editors.lsp.features import ClientFeatures
from pygent_ls.workspace.changes import Replacement
from pygent_ls.workspace.positions import LineIndex


def text_edits(text: str, replacements: Iterable[Replacement], features: ClientFeatures) -> list[dict[str, Any]]:
    """The replacements, all of them places in `text`, as the client takes them."""
    index = LineIndex(text, features.encoding)
    taken = (_before_last_break(text, each) if features.drops_at_end else each for each in replacements)
    return [
        {"range": {"start": _position(index, start), "end": _position(index, end)}, "newText": new}
        for start, end, new in taken
    ]


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
