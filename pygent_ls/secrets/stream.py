"""Redaction of text that arrives in pieces."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from pygent_ls.secrets.diff_headers import open_header

Mask = Callable[[str, str | None], Awaitable[str]]
"""Takes the secrets out of a text; with it goes the path of the file that it shows, where it does."""


class Redacts(Protocol):
    """What takes secrets out of text: a redactor, or what knows more than one."""

    @property
    def is_on(self) -> bool:
        """Whether it does."""
        ...

    async def redact(self, text: str, path: str | None = None) -> str:
        """The text with placeholders; `path` is the file that it shows lines of."""
        ...


_KEY_BEGINS = re.compile(r"BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY")
_KEY_ENDS = re.compile(r"END [A-Z0-9 ]{0,30}PRIVATE KEY")

_OPEN_VALUE = re.compile(r"=[ \t]{0,8}([\"'`])")

_ASKS = re.compile(r"(?:.{0,200}[\s(\[])?[A-Za-z/]{0,20}[)\]]?[:?>$#%][ ]?")
"""A line that is not over and waits for an answer; its last word is no secret and no piece of one."""

MAX_HELD_CHARS = 65_536
"""Of live output, while a private key may not be over: more than any key has."""

MAX_OPEN_LINE_CHARS = 1_000_000
"""Of a line that is held back until it is over."""

_BETWEEN_WORDS = re.compile(r"[\s,;\"'{}\[\]()]")


class LiveRedactor:
    """Masks text that comes in pieces: a line is held back until it is whole, and a private key and a quoted value
    until they are over. What is above a line and tells what it is goes with it to the mask: the names in a diff."""

    def __init__(self, redactor: Redacts, path: str | None = None) -> None:
        """`path` is the file whose lines the text shows."""
        self._redactor = redactor
        self._path = path
        self._held = ""
        self._header = ""
        """The names of the file in a diff whose lines are shown now, or the first of them."""
        self._n_asked = 0
        """The beginning of what is held back that was shown, since it waits for an answer."""

    @property
    def n_held(self) -> int:
        """Characters that are held back."""
        return len(self._held) - self._n_asked

    async def feed(self, piece: str) -> str:
        """What may be shown now; often nothing."""
        if not self._redactor.is_on:
            return piece
        self._held += piece
        end = self._end_of_whole_lines()
        if not end:
            return ""
        whole, self._held = self._held[:end], self._held[end:]
        return await self._masked(whole)

    async def pause(self) -> str:
        """What may be shown of a line that is not over, where nothing more comes for now: one that asks something."""
        if self._n_asked or self._path is not None or not _ASKS.fullmatch(self._held):
            return ""
        asked = self._held
        if await self._redactor.redact(asked) != asked or self._held != asked:
            return ""
        self._n_asked = len(asked)
        return asked

    async def close(self) -> str:
        """What was held back."""
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
        """The last assignment whose quotes are not closed."""
        at = 0
        while found := _OPEN_VALUE.search(self._held, at, end):
            closed = self._held.find(found[1], found.end(), end)
            if closed < 0:
                yield found.start(1)
                return
            at = self._held.find("\n", closed, end)
            if at < 0:
                return
