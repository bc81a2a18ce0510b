"""Time that the user took to answer, which the durations of calls and turns leave out."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct, field


class UserTime(Struct, kw_only=True):
    """Seconds in which one call, or the whole turn, waited for the user."""

    seconds: float = 0.0
    within: UserTime | None = None
    """Time of the call whose subagent makes this one, or of the turn."""


class UserTimes(Struct, kw_only=True):
    """User times of a turn and its subagents. Questions are asked one at a time, so no moment counts twice."""

    clock: Callable[[], float] = time.monotonic
    turn: UserTime = field(default_factory=UserTime)
    _calls: dict[str, UserTime] = field(default_factory=dict[str, UserTime])

    def begin(self, tool_id: str, parent_tool_id: str | None) -> UserTime:
        """Start counting for a call; `parent_tool_id` is the `task` call whose subagent makes it."""
        within = self._calls.get(parent_tool_id, self.turn) if parent_tool_id else self.turn
        self._calls[tool_id] = UserTime(within=within)
        return self._calls[tool_id]

    @contextmanager
    def waiting(self, tool_id: str = "") -> Generator[None]:
        """Count the time within the context as waiting for the user, for a call or for the turn itself."""
        began = self.clock()
        try:
            yield
        finally:
            seconds = self.clock() - began
            counted: UserTime | None = self._calls.get(tool_id, self.turn)
            while counted is not None:
                counted.seconds += seconds
                counted = counted.within
