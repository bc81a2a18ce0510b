"""Redaction of text that arrives in pieces."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from pygent_ls.secrets.diff_headers import open_header

Mask = Callable[[str, str | None], Awaitable[str]]
"""Function that masks the secrets in a text. The second argument is the file that the text shows, or None."""


class Redacts(Protocol):
    """Object that masks secrets in text: a redactor, or a wrapper that knows more."""

    @property
    def is_on(self) -> bool:
        """Whether secrets are masked."""
        ...

    async def redact(self, text: str, path: str | None = None) -> str:
        """Return the text with placeholders. `path` is the file whose lines the text shows."""
        ...


_KEY_BEGINS = re.compile(r"BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY")
_KEY_ENDS = re.compile(r"END [A-Z0-9 ]{0,30}PRIVATE KEY")

_OPEN_VALUE = re.compile(r"=[ \t]{0,8}([\"'`])")

_ASKS = re.compile(r"(?:.{0,200}[\s(\[])?[A-Za-z/]{0,20}[)\]]?[:?>$#%][ ]?")
"""An incomplete line that waits for input. Its last word cannot be a secret or a part of one."""

MAX_HELD_CHARS = 65_536
"""Maximum number of characters held back until a private key or a quoted value ends: more than any key has."""

MAX_OPEN_LINE_CHARS = 1_000_000
"""Maximum length of an incomplete line that is held back."""

_BETWEEN_WORDS = re.compile(r"[\s,;\"'{}\[\]()]")


class LiveRedactor:
    """Masks text that arrives in pieces. A line is held back until it is complete, and a private key or a quoted value
    until it ends. The file names of a diff are passed to the redactor with the lines below them."""

    def __init__(self, redactor: Redacts, path: str | None = None) -> None:
        """Create a redactor; `path` is the file whose lines the text shows."""
        self._redactor = redactor
        self._path = path
        self._held = ""
        self._header = ""
        """Header, or its first line, of the file in a diff whose lines arrive now."""
        self._n_asked = 0
        """Number of held characters that were already shown, because they wait for input."""

    @property
    def n_held(self) -> int:
        """Number of characters that are held back and were not shown."""
        return len(self._held) - self._n_asked

    async def feed(self, piece: str) -> str:
        """Add a piece, and return the text that may be shown now, which is often empty."""
        if not self._redactor.is_on:
            return piece
        self._held += piece
        end = self._end_of_whole_lines()
        if not end:
            return ""
        whole, self._held = self._held[:end], self._held[end:]
        return await self._masked(whole)

    async def pause(self) -> str:
        """Return the incomplete line if it asks for input, else nothing. Called when no more text arrives for now."""
        if self._n_asked or self._path is not None or not _ASKS.fullmatch(self._held):
            return ""
        asked = self._held
        if await self._redactor.redact(asked) != asked or self._held != asked:
            return ""
        self._n_asked = len(asked)
        return asked

    async def close(self) -> str:
        """Return the text that was held back, at the end."""
        rest, self._held = self._held, ""
        return await self._masked(rest)

    async def _masked(self, whole: str) -> str:
        if not whole:
            return ""
        shown, self._n_asked = whole[: self._n_asked], 0
        seen = self._header + whole
        masked = (await self._redactor.redact(seen, self._path)).split("\n", self._header.count("\n"))[-1]
        self._header = open_header(seen)
        return masked.removeprefix(shown) if masked.startswith(shown) else f"\n{masked}"

    def _end_of_whole_lines(self) -> int:
        end = max(self._held.rfind("\n"), self._held.rfind("\r")) + 1
        if not end and len(self._held) > MAX_OPEN_LINE_CHARS:
            return max((found.end() for found in _BETWEEN_WORDS.finditer(self._held)), default=len(self._held))
        open_at = [*self._open_key(end), *(self._open_value(end) if self._path or self._header else ())]
        start = min(open_at, default=end)
        return end if end - start > MAX_HELD_CHARS else self._held.rfind("\n", 0, start) + 1 if open_at else end

    def _open_key(self, end: int) -> Iterator[int]:
        begins = [match.start() for match in _KEY_BEGINS.finditer(self._held, 0, end)]
        if begins and not _KEY_ENDS.search(self._held, begins[-1], end):
            yield begins[-1]

    def _open_value(self, end: int) -> Iterator[int]:
        """Yield the offset of the last assignment whose quotes are not closed."""
        at = 0
        while found := _OPEN_VALUE.search(self._held, at, end):
            closed = self._held.find(found[1], found.end(), end)
            if closed < 0:
                yield found.start(1)
                return
            at = self._held.find("\n", closed, end)
            if at < 0:
                return
