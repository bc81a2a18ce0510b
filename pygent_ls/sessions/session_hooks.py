"""When a session's own hooks run: before its first turn, after it was emptied, loaded or shortened, and at its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from pygent_ls.agent.events import AgentEvent
from pygent_ls.agent.hooking import TurnHooks
from pygent_ls.agent.hooks import HookEnd, HookSource
from pygent_ls.agent.surroundings import Surroundings

END_S = 1.0
"""How long the hooks of `session_end` may take: the daemon is to be gone within 3 s, its turns and processes too."""


@dataclass(slots=True)
class SessionHooks:
    """Whether `session_start` is due."""

    _due: HookSource | None = "startup"
    _has_started: bool = False

    def starts_anew(self, source: HookSource) -> None:
        """The conversation is another now, and the next turn starts it. What has not started yet only starts."""
        if self._has_started or source == "resume":
            self._due = source

    def take(self) -> HookSource | None:
        """Why the turn that begins now starts the session; None where it does not."""
        source, self._due = self._due, None
        self._has_started = True
        return source

    async def ended(self, around: Surroundings, reason: HookEnd) -> None:
        """Run the `session_end` hooks if the session has started. No turn is running."""
        if self._has_started:
            self._has_started, self._due = False, "resume"
            hooks = TurnHooks(around=around, turn_id="", emit=_unheard)
            with suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await hooks.fire("session_end", {"reason": reason})


async def _unheard(_: AgentEvent) -> None:
    """There is nobody to tell."""
