"""Positions of the Language Server Protocol in a text, for the encodings that a server may use. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from pygent_ls.agent.json_fields import obj
from pygent_ls.errors import ToolError

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""Unit of `character`: bytes, UTF-16 code units, or characters."""

MAX_NUMBER = 2**31 - 1
"""Largest number of a line or a character in the protocol."""

_BREAK = re.compile(r"\r\n?|\n")

_CODECS: Mapping[Encoding, tuple[str, int]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}


class TextLines:
    """Lines of one text: they end with `\\n`, `\\r\\n` or `\\r`, and with nothing else."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._codec, self._unit = _CODECS[encoding]
        self._starts = [0, *(found.end() for found in _BREAK.finditer(text))]

    def line(self, number: int) -> str:
        """Return a line without its end, counted from 0; an empty one beyond the last."""
        if not 0 <= number < len(self._starts):
            return ""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
        return self.text[self._starts[number] : end].rstrip("\r\n")

    def position(self, line: int, column: int) -> dict[str, int]:
        """Return the position before the character at a column of a line, both counted from 0."""
        before = self.line(line)[:column].encode(self._codec, "surrogatepass")
        return {"line": line, "character": len(before) // self._unit}

    def column(self, line: int, character: int) -> int:
        """Return the column, in characters from 0, of a position; at most the end of its line."""
        encoded = self.line(line).encode(self._codec, "surrogatepass")[: max(0, character) * self._unit]
        return len(encoded.decode(self._codec, "ignore"))

    def offset(self, position: object) -> int:
        """Return the offset of a position, clamped to the text."""
        line, character = position_of(position)
        if line >= len(self._starts):
            return len(self.text)
        return self._starts[line] + self.column(line, character)

    def end(self) -> dict[str, int]:
        """Return the position of the end of the text."""
        last = len(self._starts) - 1
        return self.position(last, len(self.line(last)))


def position_of(given: object) -> tuple[int, int]:
    """Return line and character of a position. Raises `ToolError` if it is malformed."""
    return _number(obj(given).get("line")), _number(obj(given).get("character"))


def _number(given: object) -> int:
    """Return a whole number of the protocol. Some servers send a larger one for the end of a text."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise malformed("a position")
    if given < 0 or (isinstance(given, float) and not given.is_integer()):
        raise malformed("a position")
    return min(int(given), MAX_NUMBER)


def edited(text: str, edits: Sequence[Mapping[str, Any]], encoding: Encoding) -> str:
    """Return the text after edits, which refer to the text before all of them. Raises `ToolError` if they overlap."""
    parts: list[str] = []
    done = 0
    for start, end, new in replacements(text, edits, encoding):
        if start < done or end < start:
            raise malformed("edits that overlap")
        parts += text[done:start], new
        done = end
    return "".join([*parts, text[done:]])


def replacements(text: str, edits: Sequence[Mapping[str, Any]], encoding: Encoding) -> list[tuple[int, int, str]]:
    """Return the edits of a text in order, each with its first offset, its last one and its new text."""
    lines = TextLines(text, encoding)
    found: list[tuple[int, int, str]] = []
    for each in edits:
        where, new = obj(each.get("range")), each.get("newText")
        if not isinstance(new, str):
            raise malformed("an edit")
        found.append((lines.offset(where.get("start")), lines.offset(where.get("end")), new))
    return sorted(found, key=lambda edit: edit[:2])  # edits at one place keep their order


def name_at(text: str, offset: int) -> str:
    """Return the identifier at an offset; empty without one."""
    start = end = offset
    while start > 0 and is_of_name(text[start - 1]):
        start -= 1
    while end < len(text) and is_of_name(text[end]):
        end += 1
    return text[start:end]


def is_of_name(character: str) -> bool:
    """Whether a character is part of an identifier, in some language."""
    return character.isalnum() or character in "_$"


def malformed(what: str) -> ToolError:
    """Return the error for an answer that does not follow the protocol."""
    return ToolError(f"The language server sent {what} that cannot be understood. Nothing was changed.")


def path_of_uri(uri: str) -> Path | None:
    """Return the path of a `file` URI, links resolved; None for any other URI. Looks at the disk for links."""
    try:
        parts = urlsplit(uri)
        is_file = parts.scheme == "file" and parts.path
        return Path(os.path.realpath(unquote(parts.path, errors="surrogateescape"))) if is_file else None
    except ValueError:  # an invalid host, a NUL byte
        return None
