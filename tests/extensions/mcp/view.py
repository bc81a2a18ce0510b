"""MCP servers as users see them, without processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pygent_ls.extensions.mcp.prompts import ServerPrompt
from pygent_ls.extensions.mcp.server import ServerStatus


@dataclass(kw_only=True)
class ListedServers:
    """A `ServerView` that a test fills."""

    statuses: list[ServerStatus] = field(default_factory=list[ServerStatus])
    prompts: list[ServerPrompt] = field(default_factory=list[ServerPrompt])
    logs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    restarted: list[str] = field(default_factory=list[str])

    def restart(self, name: str) -> bool:
        """Take note of it."""
        self.restarted.append(name)
        return self._has(name)

    def log(self, name: str) -> Sequence[str] | None:
        """The log, which is empty at first."""
        return self.logs.get(name, []) if self._has(name) else None

    def _has(self, name: str) -> bool:
        return name in [each.name for each in self.statuses]
