"""How long the user took to answer: the durations of calls and turns leave it out."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class UserTime:
    """Seconds in which one call waited for the user, or the whole turn."""

    seconds: float = 0.0
    within: UserTime | None = None
    """Of the call whose subagent makes this one, or of the turn."""


@dataclass(kw_only=True)
class UserTimes:
    """Those of a turn and its subagents. Questions are asked one at a time, so that no moment counts twice."""

    clock: Callable[[], float] = time.monotonic
    turn: UserTime = field(default_factory=UserTime)
    _calls: dict[str, UserTime] = field(default_factory=dict[str, UserTime])

    def begin(self, tool_id: str, parent_tool_id: str | None) -> UserTime:
        """Count for a call from now on; `parent_tool_id` is the `task` call whose subagent makes it."""
        within = self._calls.get(parent_tool_id, self.turn) if parent_tool_id else self.turn
        self._calls[tool_id] = UserTime(within=within)
        return self._calls[tool_id]

    @contextmanager
    def waiting(self, tool_id: str = "") -> Generator[None]:
        """The user is asked meanwhile: by a call, or by the turn itself."""
        began = self.clock()
        try:
            yield
        finally:
            seconds = self.clock() - began
            counted: UserTime | None = self._calls.get(tool_id, self.turn)
            while counted is not None:
                counted.seconds += seconds
                counted = counted.within
