"""Position of a symbol that a model names by file, line and name: models cannot count columns."""

from __future__ import annotations

import re

from pygent_ls.agent.ports.workspace import Document
from pygent_ls.agent.tools.tool import ToolContext, check_readable
from pygent_ls.errors import ToolError

MAX_PLACES = 10

NEAR_LINES = 3
"""Distance from the named line in which the symbol is taken nevertheless: a line number may be slightly off."""

_BREAK = re.compile(r"\r\n?|\n")


async def symbol_position(context: ToolContext, path: str, symbol: str, line: int | None) -> tuple[Document, int, int]:
    """Return the document, the line from 1, and the column from 0 of a name in it. Without a line, its first place
    counts. Raises `ToolError`."""
    check_readable(context, path)
    document = await context.peek(context.workspace.resolve(path))
    name = re.split(r"::|[.#]", symbol.strip())[-1]
    if not name:
        raise ToolError("`symbol` is empty. Give the name as it stands in the line.")
    places = _places(document.text, name)
    shown = context.workspace.shown(document.path)
    if not places:
        raise ToolError(f"{name} does not occur in {shown}. Find the file and the line with grep_search.")
    if line is None:
        return document, *places[0]
    nearest = min(places, key=lambda place: abs(place[0] - line))
    if abs(nearest[0] - line) > NEAR_LINES:
        found = ", ".join(dict.fromkeys(str(at) for at, _ in places[:MAX_PLACES]))
        raise ToolError(f"{name} does not occur in line {line} of {shown}. It occurs in line {found}.")
    return document, *nearest


def _places(text: str, name: str) -> list[tuple[int, int]]:
    edge = r"[\w$]"
    pattern = re.compile(rf"(?<!{edge}){re.escape(name)}(?!{edge})")
    return [
        (number, found.start()) for number, line in enumerate(_BREAK.split(text), 1) for found in pattern.finditer(line)
    ]
