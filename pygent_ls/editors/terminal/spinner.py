"""A status line on a terminal that shows what a turn waits for while nothing else is written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TextIO

from msgspec import Struct, field

from pygent_ls.agent import events as ev
from pygent_ls.agent.display_text import visible
from pygent_ls.editors.terminal.text import columns_of
from pygent_ls.sessions.event_stream import SessionEvent

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_FRAMES = "|/-\\"
"""Frames for streams that cannot encode `FRAMES`."""

INTERVAL_S = 0.1

QUIET_S = 0.5
"""Time without output before the spinner is drawn."""


def spinner_for(stream: TextIO, term: str, is_free: Callable[[], bool]) -> Spinner | None:
    """Return a spinner if the stream is a terminal that can return to the start of a line, else None."""
    if not stream.isatty() or term == "dumb":
        return None
    return Spinner(stream=stream, columns=lambda: columns_of(stream.fileno()), is_free=is_free)


PAUSE = "pause"
"""Question id that stands for the question whether to continue beyond a limit, which has no event id."""


class Activity(Struct, kw_only=True):
    """What a turn waits for."""

    clock: Callable[[], float] = time.monotonic
    label: str = ""
    """The model or call that is waited for; empty if no turn runs."""
    questions: set[str] = field(default_factory=set[str])
    """Ids of the permission prompts and calls that wait for the user."""
    _model: str = ""
    _calls: dict[str, str] = field(default_factory=dict[str, str])
    """Titles of the running calls."""
    _began_s: float = 0.0

    _asked_s: float = 0.0

    @property
    def seconds(self) -> int:
        """Whole seconds since the turn began, excluding the time that the user took to answer."""
        return int((self._asked_s if self.questions else self.clock()) - self._began_s)

    def ask(self, question_id: str) -> None:
        """Note that the user is asked."""
        if not self.questions:
            self._asked_s = self.clock()
        self.questions.add(question_id)

    def _answered(self, question_id: str) -> None:
        if question_id not in self.questions:
            return
        self.questions.remove(question_id)
        if not self.questions:
            self._began_s += self.clock() - self._asked_s

    def follow(self, told: SessionEvent) -> None:
        """Update from an event."""
        self._answered(PAUSE)  # any event means that the turn continues or has ended
        match told.event:
            case ev.TurnStarted(model=model):
                self._model = self.label = f"waiting for {model}"
                self._calls.clear()
                self._began_s = self.clock()
            case ev.Finished():
                self.label = ""
            case ev.ToolCall(tool_id=tool_id, title=title):
                self._calls[tool_id] = title
                self.label = title
            case ev.ToolResult(tool_id=tool_id):
                self._calls.pop(tool_id, None)
                self._answered(tool_id)
                self.label = next(iter(self._calls.values()), self._model)
            case ev.PermissionResolved(permission_id=permission_id):
                self._answered(permission_id)
            case _:
                pass  # the other events do not change what is waited for


class Spinner(Struct, kw_only=True):
    """A spinner drawn with carriage returns and spaces only, so that any terminal can erase it."""

    stream: TextIO
    columns: Callable[[], int]
    clock: Callable[[], float] = time.monotonic
    is_free: Callable[[], bool] = lambda: True
    """Whether all output has reached the terminal; nothing is drawn for a stopped terminal."""
    is_held: bool = False
    """Whether a line is incomplete."""
    _activity: Activity = field(default_factory=Activity)
    _n_drawn: int = 0
    """Number of characters currently drawn."""
    _frame: int = 0
    _quiet_since_s: float = 0.0
    _timer: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self._activity = Activity(clock=self.clock)

    def follow(self, told: SessionEvent) -> None:
        """Update from an event."""
        self._activity.follow(told)
        match told.event:
            case ev.TurnStarted():
                self._quiet_since_s = self.clock()
                if self._timer is None:
                    self._arm()
            case ev.Finished():
                self.end()
            case _:
                pass

    def asks(self, question_id: str) -> None:
        """Stop drawing until events report the user's answer."""
        self.clear()
        self._activity.ask(question_id)

    def clear(self) -> None:
        """Erase the line before other output."""
        if self._n_drawn:
            self._write("\r" + " " * self._n_drawn + "\r")
            self._n_drawn = 0
        self._quiet_since_s = self.clock()

    def end(self) -> None:
        """Stop: nothing is waited for any more."""
        self.clear()
        self._activity.label = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def tick(self) -> None:
        """Draw the next frame if the line is free."""
        now = self.clock()
        label = self._activity.label
        if not label or self.is_held or self._activity.questions or now - self._quiet_since_s < QUIET_S:
            return
        if not self.is_free():
            return
        frames = FRAMES if "utf" in (self.stream.encoding or "").lower() else PLAIN_FRAMES
        self._frame = (self._frame + 1) % len(frames)
        time_so_far = f" · {self._activity.seconds} s"
        label = " ".join(visible(label).split())
        room = self.columns() - len(time_so_far) - 3  # the last column stays empty: some terminals wrap there
        if room < 1:
            return
        label = label if len(label) <= room else label[: room - 1] + "…"
        line = f"{frames[self._frame]} {label}{time_so_far}"
        blank = " " * (self._n_drawn - len(line))
        self._write(f"\r{line}{blank}\r")
        self._n_drawn = len(line)

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(INTERVAL_S, self._turn)

    def _turn(self) -> None:
        self._arm()
        self.tick()

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:  # the terminal is gone
            self._activity.label = ""
