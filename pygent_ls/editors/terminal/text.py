"""Text for a terminal: coloured where that is wanted, and with nothing in it that could command the terminal."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pygent_ls.agent.tool import visible

Colour = Literal["red", "green", "yellow", "cyan", "dim", "bold"]

_CODES: Mapping[Colour, str] = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "dim": "2",
    "bold": "1",
}
"""Parameters of the terminal's "select graphic rendition" (ECMA-48, 8.3.117)."""

USUAL_COLUMNS = 80

_STYLING = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Paints text, or leaves it as it is where colours are off."""

    on: bool

    def paint(self, text: str, colour: Colour) -> str:
        """The text in that colour; line by line, so that a cut or a pager does no harm."""
        if not self.on or not text:
            return text
        code = _CODES[colour]
        return "\n".join(f"\x1b[{code}m{line}\x1b[0m" if line else line for line in text.split("\n"))


def palette_for(environment: Mapping[str, str], *, is_terminal: bool) -> Palette:
    """Colours for a terminal that has them, unless `NO_COLOR` is set (https://no-color.org: and not empty)."""
    return Palette(on=is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb")


def columns_of(fd: int, otherwise: int = USUAL_COLUMNS) -> int:
    """Width of a terminal as it is now, in characters; a variable `COLUMNS` may be older. `otherwise` if it does not
    tell."""
    try:
        return os.get_terminal_size(fd).columns or otherwise
    except OSError:
        return otherwise


def wrapped(text: str, width: int, indent: int = 0) -> str:
    """Break lines between words to so many columns, continued lines indented; a width of 0 leaves them as they are."""
    if not width:
        return text
    wrap = partial(textwrap.fill, width=width, subsequent_indent=" " * indent, break_on_hyphens=False)
    return "\n".join(wrap(line) for line in text.split("\n"))


def harmless(text: str) -> str:
    """Text that is shown as it comes: colours are dropped, a carriage return is a new line, and controls other than
    tab and line feed are spelled out.

    What a person is asked to allow goes through `visible` instead, which spells out what hides or reorders, too.
    """
    plain = _STYLING.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), plain)


def coloured_patch(patch: str, palette: Palette) -> str:
    """A unified diff with nothing hidden: what goes in red, what comes in green. Does not end with a line feed."""
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
