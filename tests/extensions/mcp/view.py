"""MCP servers as users see them, without processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pygent_ls.extensions.mcp.prompts import ServerPrompt
from pygent_ls.extensions.mcp.server import ServerStatus, no_server


@dataclass(kw_only=True)
class ListedServers:
    """A `ServerView` that a test fills."""

    statuses: list[ServerStatus] = field(default_factory=list[ServerStatus])
    prompts: list[ServerPrompt] = field(default_factory=list[ServerPrompt])
    logs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    restarted: list[str] = field(default_factory=list[str])
    signed_in: set[str] = field(default_factory=set[str])

    def restart(self, name: str) -> None:
        """Take note of it."""
        self._check(name)
        self.restarted.append(name)

    def log(self, name: str) -> Sequence[str]:
        """The log, which is empty at first."""
        self._check(name)
        return self.logs.get(name, [])

    async def sign_in(self, name: str) -> None:
        """The user signs in at once."""
        self._check(name)
        self.signed_in.add(name)

    async def sign_out(self, name: str) -> bool:
        """Sign out."""
        self._check(name)
        is_signed_in = name in self.signed_in
        self.signed_in.discard(name)
        return is_signed_in

    def _check(self, name: str) -> None:
        if name not in [each.name for each in self.statuses]:
            raise no_server(name)
