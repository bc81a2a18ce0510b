"""The line that says what a turn waits for: when it is drawn, what it says, and that nothing is ever mixed with it."""

from __future__ import annotations

import io
import os
import pty
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import pytest

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import Usage
from pygent_ls.editors.terminal.spinner import FRAMES, PLAIN_FRAMES, QUIET_S, Activity, Spinner, spinner_for
from pygent_ls.editors.terminal.text import Palette
from pygent_ls.editors.terminal.view import TerminalView
from pygent_ls.sessions.event_stream import SessionEvent
from tests.fakes import FakeClock

STARTED = ev.TurnStarted(prompt="go", model="m/one", mode="default", agent="default")
FINISHED = ev.Finished(stop_reason="end_turn", usage=Usage(), files_changed=())


class Screen(io.StringIO):
    """A terminal of one line that understands a carriage return, and keeps what was ended by a line feed."""

    encoding = "utf-8"

    @property
    def lines(self) -> list[str]:
        """What stands there: the last one is where the cursor is."""
        shown: list[str] = []
        for line in self.getvalue().split("\n"):
            row: list[str] = []
            at = 0
            for character in line:
                if character == "\r":
                    at = 0
                    continue
                row[at : at + 1] = [character]
                at += 1
            shown.append("".join(row).rstrip())
        return shown


class Scene:
    """A turn on a screen, and its clock."""

    def __init__(self, *, columns: int = 60) -> None:
        self.screen = Screen()
        self.clock = FakeClock()
        self.spinner = Spinner(stream=self.screen, columns=lambda: columns, clock=self.clock)
        self.view = TerminalView(
            answer=self.screen,
            status=self.screen,
            palette=Palette(on=False),
            answer_is_terminal=True,
            on_answer_lost=lambda: None,
            spinner=self.spinner,
        )

    def happens(self, *events: ev.AgentEvent) -> None:
        """Deliver events."""
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        told = [
            SessionEvent(event=each, seq=n, turn_id="t", iteration=1, total_tokens=0, timestamp=moment)
            for n, each in enumerate(events, 1)
        ]
        self.view.deliver(told)

    def passes(self, seconds: float) -> str:
        """Let time pass; what the line where the cursor is shows then."""
        self.clock.advance(seconds)
        self.spinner.tick()
        return self.screen.lines[-1]


@pytest.fixture
async def scene() -> AsyncGenerator[Scene]:
    made = Scene()
    yield made
    made.spinner.end()


def call(title: str, tool_id: str = "c1") -> ev.ToolCall:
    return ev.ToolCall(
        tool_id=tool_id,
        tool_name="shell",
        input={},
        title=title,
        kind="execute",
        risk=ToolRisk.HIGH,
        read_only=False,
        locations=(),
    )


def result(tool_id: str = "c1") -> ev.ToolResult:
    return ev.ToolResult(
        tool_id=tool_id,
        tool_name="shell",
        content="ok",
        is_error=False,
        cached=False,
        truncated=False,
        duration_s=1.0,
    )


async def test_it_says_what_is_waited_for_and_since_when_the_turn_runs(scene: Scene) -> None:
    scene.happens(STARTED)
    assert scene.passes(QUIET_S) == f"{FRAMES[1]} waiting for m/one · 0 s"

    scene.happens(call("make test"))
    assert scene.passes(12) == f"{FRAMES[2]} make test · 12 s"

    scene.happens(result())
    assert scene.passes(1) == f"{FRAMES[3]} waiting for m/one · 13 s"


async def test_nothing_that_is_written_stands_beside_it(scene: Scene) -> None:
    scene.happens(STARTED)
    scene.passes(1)
    scene.happens(call("make test"))
    scene.passes(1)
    scene.happens(ev.ToolProgress(tool_id="c1", content="one\n"))
    scene.passes(1)
    scene.happens(result(), ev.TextDelta(item_id="i", content="Done."), ev.Text(item_id="i", content="Done."))
    scene.passes(1)
    scene.happens(FINISHED)

    assert scene.screen.lines == [
        "m/one · mode default",
        "● make test",
        "  │ one",
        "  ok",
        "Done.",
        "Done · 0 tokens · cost unknown",
        "",
    ]
    assert "\x1b" not in scene.screen.getvalue()


async def test_what_goes_on_quickly_needs_none(scene: Scene) -> None:
    scene.happens(STARTED)

    assert scene.passes(QUIET_S / 2) == ""


async def test_it_is_not_drawn_into_a_line_that_is_being_written(scene: Scene) -> None:
    scene.happens(STARTED, ev.TextDelta(item_id="i", content="Let me"))

    assert scene.passes(5) == "Let me"


async def test_it_is_not_drawn_while_a_person_is_asked(scene: Scene) -> None:
    asked = ev.PermissionRequested(permission_id="p1", tool_id="c1")
    scene.happens(STARTED, call("make test"), asked)
    scene.passes(1)

    await scene.view.ready_to_ask("p1")
    assert scene.passes(60) == ""

    scene.happens(ev.PermissionResolved(permission_id="p1", tool_id="c1", outcome="allow_once", by="user"))
    assert "make test" in scene.passes(1)


async def test_a_question_of_the_models_is_over_with_its_call(scene: Scene) -> None:
    scene.happens(STARTED, call("Ask", "q1"))
    await scene.view.ready_to_ask("q1")
    assert scene.passes(60) == ""

    scene.happens(result("q1"))
    assert "waiting for m/one" in scene.passes(1)


async def test_it_is_not_drawn_for_a_terminal_that_stands_still(scene: Scene) -> None:
    scene.happens(STARTED)
    scene.spinner.is_free = lambda: False

    assert scene.passes(60) == ""


async def test_it_ends_with_the_turn(scene: Scene) -> None:
    scene.happens(STARTED, FINISHED)

    assert scene.passes(60) == ""


@pytest.mark.parametrize(("columns", "shown"), [(20, "⠙ waiting fo… · 0 s"), (10, "⠙ … · 0 s"), (9, "")])
async def test_it_fits_into_its_line(columns: int, shown: str) -> None:
    scene = Scene(columns=columns)
    scene.happens(STARTED)

    line = scene.passes(QUIET_S)
    scene.spinner.end()

    assert line == shown


async def test_a_title_cannot_command_the_terminal(scene: Scene) -> None:
    scene.happens(STARTED, call("a\x1b[2Jb\rc\nd"))

    assert scene.passes(1) == f"{FRAMES[1]} a\\x1b[2Jb\\rc d · 1 s"


async def test_a_terminal_without_such_characters_gets_plain_ones() -> None:
    scene = Scene()
    scene.screen.encoding = "ascii"
    scene.happens(STARTED)

    assert scene.passes(QUIET_S)[0] in PLAIN_FRAMES
    scene.spinner.end()


def test_only_a_terminal_that_can_go_back_in_its_line_has_one() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        assert spinner_for(terminal, "xterm", lambda: True) is not None
        assert spinner_for(terminal, "dumb", lambda: True) is None
    os.close(ours)
    assert spinner_for(io.StringIO(), "xterm", lambda: True) is None


def test_seconds_leave_out_those_in_which_a_person_was_asked() -> None:
    clock = FakeClock()
    activity = Activity(clock=clock)

    def follow(event: ev.AgentEvent) -> None:
        moment = datetime(2026, 1, 2, tzinfo=UTC)
        activity.follow(SessionEvent(event=event, seq=1, turn_id="t", iteration=1, total_tokens=0, timestamp=moment))

    follow(STARTED)
    clock.advance(3)
    activity.ask("one")
    clock.advance(60)
    activity.ask("two")
    shown = [activity.seconds]
    for each in ("one", "two"):
        follow(ev.PermissionResolved(permission_id=each, tool_id="c", outcome="allow_once", by="user"))
        clock.advance(2)
        shown.append(activity.seconds)

    assert shown == [3, 3, 5]
