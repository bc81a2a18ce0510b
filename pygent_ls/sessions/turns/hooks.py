"""Session hooks: run before the first turn, after the conversation was cleared, loaded or compacted, and at the end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from msgspec import Struct

from pygent_ls.agent.events import AgentEvent
from pygent_ls.agent.hook_runner import HookRunner
from pygent_ls.agent.ports.hooks import HookEnd, HookSource
from pygent_ls.agent.session_services import SessionServices

END_S = 1.0
"""Timeout of the `session_end` hooks. The daemon must exit within 3 s, including its turns and processes."""


class SessionHooks(Struct):
    """State of the session's hooks: whether `session_start` is due."""

    _due: HookSource | None = "startup"
    _has_started: bool = False

    def starts_anew(self, source: HookSource) -> None:
        """Make `session_start` due because the conversation was replaced. A session that has not started keeps its
        source, except for a resume."""
        if self._has_started or source == "resume":
            self._due = source

    def take(self) -> HookSource | None:
        """Return why the turn that begins now starts the session; None if it does not."""
        source, self._due = self._due, None
        self._has_started = True
        return source

    async def ended(self, services: SessionServices, reason: HookEnd) -> None:
        """Run the `session_end` hooks if the session has started. No turn may be running."""
        if self._has_started:
            self._has_started, self._due = False, "resume"
            hooks = HookRunner(services=services, turn_id="", emit=_unheard)
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await hooks.fire("session_end", {"reason": reason})


async def _unheard(_: AgentEvent) -> None:
    """Drop the event."""
