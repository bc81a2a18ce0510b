"""Text for a terminal: optional colours, and no control sequences from outside."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping
from functools import partial
from typing import Literal

from msgspec import Struct

from pygent_ls.agent.display_text import visible

Colour = Literal["red", "green", "yellow", "cyan", "dim", "bold"]

_CODES: Mapping[Colour, str] = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "dim": "2",
    "bold": "1",
}
"""Parameters of the terminal's "select graphic rendition" sequence (ECMA-48, 8.3.117)."""

USUAL_COLUMNS = 80

_STYLING = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Palette(Struct, frozen=True, kw_only=True):
    """Colours text, or leaves it unchanged if colours are off."""

    on: bool

    def paint(self, text: str, colour: Colour) -> str:
        """Return the text in that colour, coloured line by line so that cut or paged output stays correct."""
        if not self.on or not text:
            return text
        code = _CODES[colour]
        return "\n".join(f"\x1b[{code}m{line}\x1b[0m" if line else line for line in text.split("\n"))


def palette_for(environment: Mapping[str, str], *, is_terminal: bool) -> Palette:
    """Return a palette with colours for a terminal, unless `NO_COLOR` is set and not empty (https://no-color.org)."""
    return Palette(on=is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb")


def columns_of(fd: int, otherwise: int = USUAL_COLUMNS) -> int:
    """Return the current width of a terminal in characters, or `otherwise` if it is unknown. The variable `COLUMNS` is
    not used because it may be out of date."""
    try:
        return os.get_terminal_size(fd).columns or otherwise
    except OSError:
        return otherwise


def wrapped(text: str, width: int, indent: int = 0) -> str:
    """Break lines between words at `width` columns and indent continuation lines; a width of 0 leaves them
    unchanged."""
    if not width:
        return text
    wrap = partial(textwrap.fill, width=width, subsequent_indent=" " * indent, break_on_hyphens=False)
    return "\n".join(wrap(line) for line in text.split("\n"))


def harmless(text: str) -> str:
    """Return text that is safe to show: colours are removed, a carriage return becomes a new line, and control
    characters other than tab and line feed are escaped.

    Text of permission prompts uses `visible` instead, which also escapes characters that hide or reorder text.
    """
    plain = _STYLING.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), plain)


def coloured_patch(patch: str, palette: Palette) -> str:
    """Return a unified diff with control characters escaped: removed lines in red, added lines in green. Does not end
    with a line feed."""
    lines: list[str] = []
    in_hunk = False
    for line in visible(patch).splitlines():
        in_hunk = in_hunk or line.startswith("@@")
        lines.append(_coloured_line(line, palette) if in_hunk else palette.paint(line, "bold"))
    return "\n".join(lines)


def _coloured_line(line: str, palette: Palette) -> str:
    match line[:1]:
        case "-":
            return palette.paint(line, "red")
        case "+":
            return palette.paint(line, "green")
        case "@":
            return palette.paint(line, "cyan")
        case _:
            return line
