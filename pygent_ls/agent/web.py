"""The web port: how a tool reaches an address, and what the permission rules say about it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal, Protocol

from pygent_ls.agent.permissions import Permissions
from pygent_ls.agent.rules import Domain
from pygent_ls.agent.tool import Tool

UrlVerdict = Literal["anywhere", "allowed", "ask", "denied"]
"""`anywhere`: a rule of the settings names the host, wherever its name leads; `allowed`: a rule that came from a prompt
does, or the mode, which says nothing about private addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResponse:
    """One answer of a server; a redirect is not followed."""

    status: int
    location: str | None
    """The absolute address of a redirect."""
    content_type: str
    """In small letters, without parameters; empty where the server says none."""
    charset: str | None
    body: bytes
    is_cut: bool
    """The body was longer than what is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebText:
    """The text of an answer."""

    text: str
    """The beginning, if it is very long."""
    n_chars: int
    """Length of the whole text."""
    is_cut: bool
    """It ends where it was cut, maybe within a word."""


class Web(Protocol):
    """Reaches servers."""

    @property
    def one_at_a_time(self) -> asyncio.Lock:
        """Held while a call works on a page: pages come in the order of the calls, and no server is flooded."""
        ...

    async def get(self, url: str, *, anywhere: bool = False) -> WebResponse:
        """One GET of an http or https address.

        The host's name is resolved once, and that address is connected to. Unless `anywhere`, it must be a public one.
        Raises `ToolError`.
        """
        ...

    async def text(self, response: WebResponse, url: str) -> WebText:
        """The text of an answer that is text, HTML as markdown.

        Raises `ToolError` if the conversion takes too much time or memory.
        """
        ...


def judge_url(permissions: Permissions, tool: Tool, url: str) -> UrlVerdict:
    """What the rules say about an address that a call of this tool would reach."""
    decision = permissions.decide(tool, (url,)).decision
    if decision == "deny":
        return "denied"
    for rule in permissions.rules():
        if rule.decision == "allow" and rule.tool_name == tool.name and rule.origin not in ("session", "always_allow"):
            pattern = rule.pattern
            if isinstance(pattern, Domain) and pattern.matches(url):
                return "anywhere"
    return "allowed" if decision == "allow" else "ask"
