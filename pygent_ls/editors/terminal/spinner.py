"""A line on a terminal that says what a turn waits for, for as long as nothing else is written there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from pygent_ls.agent import events as ev
from pygent_ls.agent.tool import visible
from pygent_ls.editors.terminal.text import columns_of
from pygent_ls.sessions.stream import SessionEvent

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_FRAMES = "|/-\\"
"""For terminals that show no such characters."""

INTERVAL_S = 0.1

QUIET_S = 0.5
"""Without a written character before it is drawn: what goes on quickly needs none."""


def spinner_for(stream: TextIO, term: str, is_free: Callable[[], bool]) -> Spinner | None:
    """One where the stream is a terminal that can go back to the beginning of a line; else none."""
    if not stream.isatty() or term == "dumb":
        return None
    return Spinner(stream=stream, columns=lambda: columns_of(stream.fileno()), is_free=is_free)


PAUSE = "pause"
"""Stands for the id of a question whether a turn goes on beyond a limit, which has none of an event."""


@dataclass(kw_only=True)
class Activity:
    """What a turn waits for."""

    clock: Callable[[], float] = time.monotonic
    label: str = ""
    """The model or the call that is waited for; empty if no turn runs."""
    questions: set[str] = field(default_factory=set[str])
    """Ids of the permissions and calls about which a person is being asked."""
    _model: str = ""
    _calls: dict[str, str] = field(default_factory=dict[str, str])
    """Titles of the calls that run."""
    _began_s: float = 0.0

    _asked_s: float = 0.0

    @property
    def seconds(self) -> int:
        """Whole seconds since the turn began, without those in which a person was asked."""
        return int((self._asked_s if self.questions else self.clock()) - self._began_s)

    def ask(self, question_id: str) -> None:
        """A person is asked."""
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
        """Take note of an event: from now on something else may be waited for."""
        self._answered(PAUSE)  # whatever happens, the turn goes on, or is over
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
                pass  # it changes nothing that is waited for


@dataclass(kw_only=True)
class Spinner:
    """Drawn with carriage returns and spaces alone, so it can be taken away again on any terminal."""

    stream: TextIO
    columns: Callable[[], int]
    clock: Callable[[], float] = time.monotonic
    is_free: Callable[[], bool] = lambda: True
    """Whether what was written is on the terminal: nothing is drawn for one that stands still."""
    is_held: bool = False
    """A line that is being written has not ended."""
    _activity: Activity = field(init=False)
    _n_drawn: int = 0
    """Characters that stand there now."""
    _frame: int = 0
    _quiet_since_s: float = 0.0
    _timer: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self._activity = Activity(clock=self.clock)

    def follow(self, told: SessionEvent) -> None:
        """Something happened: from now on something else may be waited for."""
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
        """A person is asked: nothing is drawn until the events say that they have answered."""
        self.clear()
        self._activity.ask(question_id)

    def clear(self) -> None:
        """Take the line away; something else is about to be written."""
        if self._n_drawn:
            self._write("\r" + " " * self._n_drawn + "\r")
            self._n_drawn = 0
        self._quiet_since_s = self.clock()

    def end(self) -> None:
        """Nothing is waited for any more."""
        self.clear()
        self._activity.label = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def tick(self) -> None:
        """Draw the next picture, where the line is free."""
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
        room = self.columns() - len(time_so_far) - 3  # the last column stays free: some terminals wrap there
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
