"""Web port: how a tool reaches an address, and what the permission rules say about it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

UrlVerdict = Literal["anywhere", "allowed", "ask", "denied"]
"""Verdict on an address. `anywhere`: a rule of the settings names the host, whatever it resolves to; `allowed`: a rule
from a prompt, or the mode, allows it, which does not cover private addresses."""


class WebResponse(Struct, frozen=True, kw_only=True):
    """One response of a server; a redirect is not followed."""

    status: int
    location: str | None
    """Absolute address of a redirect."""
    content_type: str
    """Content type in lower case, without parameters; empty if the server sends none."""
    charset: str | None
    body: bytes
    is_cut: bool
    """Whether the body was longer than what is read."""


class WebText(Struct, frozen=True, kw_only=True):
    """Text of a response."""

    text: str
    """Text, or its beginning if it is very long."""
    n_chars: int
    """Length of the whole text."""
    is_cut: bool
    """Whether it was cut, possibly within a word."""


class Web(Protocol):
    """Reaches servers."""

    @property
    def one_at_a_time(self) -> asyncio.Lock:
        """Held while a call works on a page: pages arrive in the order of the calls, and no server is flooded."""
        ...

    async def get(self, url: str, *, anywhere: bool = False) -> WebResponse:
        """Send one GET request to an http or https address.

        The host name is resolved once, and the connection uses that address. Unless `anywhere`, it must be a public
        one. Raises `ToolError`.
        """
        ...

    async def text(self, response: WebResponse, url: str) -> WebText:
        """Return the text of a text response, HTML as markdown.

        Raises `ToolError` if the conversion takes too much time or memory.
        """
        ...


class SearchResult(Struct, frozen=True, kw_only=True):
    """One result of a web search."""

    title: str
    url: str
    snippet: str


class WebSearch(Protocol):
    """The search service of the settings."""

    async def search(self, query: str, count: int) -> Sequence[SearchResult]:
        """Return at most so many results, the best first. Raises `ToolError`."""
        ...
