"""A turn without an editor: what is written where, and how the person at the terminal is asked."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import re
import termios
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.permissions.choices import choices_for
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionRequest
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.truncation import cut
from pygent_ls.editors.run_options import exit_code
from pygent_ls.editors.shutdown import stop_at_signal
from pygent_ls.editors.terminal.approver import (
    MAX_ATTEMPTS,
    QUESTION,
    AllowingApprover,
    RefusingApprover,
    Scopes,
    Terminal,
    TerminalApprover,
    choices_text,
    parse_answer,
    prompt_text,
    terminal_of,
)
from pygent_ls.editors.terminal.text import Palette, coloured_patch, harmless, palette_for
from pygent_ls.editors.terminal.view import TerminalView
from pygent_ls.sessions.event_stream import SessionEvent
from tests.fakes import bounded

PLAIN = Palette(on=False)
COLOURED = Palette(on=True)

PATCH = "--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,2 @@\n-    return 1\n+    return 2\n --- no header\n"


def request(
    *, risk: ToolRisk = ToolRisk.MEDIUM, action: str = "Edit cart.py (+1 −1)", patch: str = PATCH, source: str = ""
) -> PermissionRequest:
    change = FileChange(path=Path("/w/cart.py"), kind="edit", added=1, removed=1, patch=patch)
    return PermissionRequest(
        permission_id="p1",
        session_id="s1",
        turn_id="t1",
        tool_id="c1",
        tool_name="edit_file",
        input={"path": "cart.py"},
        risk=risk,
        action=action,
        rules=("edit_file(cart.py)",),
        source=source,
        changes=(change,),
        severity=risk,
        description="Return two",
        confinement="sandboxed, no network",
        prefix_rules=("shell(npm test:*)",),
        offers_accept_edits=True,
    )


# Signals


async def test_the_first_signal_cancels_the_run_and_the_second_one_waits_for_nothing() -> None:
    stopping, may_end = asyncio.Event(), asyncio.Event()

    async def run() -> int:
        try:
            return await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopping.set()
            await may_end.wait()
            return 130

    main = asyncio.ensure_future(run())
    await asyncio.sleep(0)

    stop_at_signal(main)
    await bounded(stopping.wait())
    with pytest.raises(KeyboardInterrupt):
        stop_at_signal(main)

    may_end.set()
    assert await bounded(main) == 130


# Text for a terminal


@given(st.text())
def test_nothing_that_is_shown_can_command_the_terminal(text: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", harmless(text))


def test_a_programs_colours_are_dropped_and_its_progress_bars_become_lines() -> None:
    assert harmless("\x1b[1;31mred\x1b[0m\r\n10%\r20%\r") == "red\n10%\n20%\n"


def test_what_could_move_the_cursor_is_spelled_out() -> None:
    assert harmless("a\x1b[2Jb\x07") == r"a\x1b[2Jb\x07"


def test_a_patch_is_red_and_green_and_its_header_bold() -> None:
    assert coloured_patch(PATCH, COLOURED).split("\n") == [
        "\x1b[1m--- a/cart.py\x1b[0m",
        "\x1b[1m+++ b/cart.py\x1b[0m",
        "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m",
        "\x1b[31m-    return 1\x1b[0m",
        "\x1b[32m+    return 2\x1b[0m",
        " --- no header",
    ]


def test_a_patch_hides_nothing() -> None:
    """A zero-width space and a change of direction are seen by whoever is asked to allow them."""
    assert coloured_patch("@@ -1 +1 @@\n+a\u200bb\u202ec\x1b[8m\n", PLAIN) == "@@ -1 +1 @@\n+a\\u200bb\\u202ec\\x1b[8m"


@pytest.mark.parametrize(
    ("environment", "is_terminal", "on"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
    ],
)
def test_colours_are_for_terminals_that_have_them_and_people_who_want_them(
    environment: dict[str, str], is_terminal: bool, on: bool
) -> None:
    assert palette_for(environment, is_terminal=is_terminal).on is on


# The view


class Turn:
    """Events as a session delivers them, and what the view wrote."""

    def __init__(self, *, answer: io.StringIO | None = None, answer_is_terminal: bool = False) -> None:
        self.answer = answer or io.StringIO()
        self.status = io.StringIO()
        self.n_lost = 0
        self.view = TerminalView(
            answer=self.answer,
            status=self.status,
            palette=PLAIN,
            answer_is_terminal=answer_is_terminal,
            on_answer_lost=self._lost,
        )

    def _lost(self) -> None:
        self.n_lost += 1

    def shows(self, *events: ev.AgentEvent) -> tuple[str, str]:
        """Deliver the events in one batch; what is on both streams then."""
        self.view.deliver([_placed(number, event) for number, event in enumerate(events, start=1)])
        return self.answer.getvalue(), self.status.getvalue()


def test_what_a_subagent_does_is_told_and_what_it_says_is_not_the_answer() -> None:
    screen = Turn()
    inside: list[ev.AgentEvent] = [
        ev.TextDelta(item_id="i", content="I look."),
        tool_call("Read a.py", tool_id="c2"),
        tool_result("x = 1"),
        ev.PermissionDenied(tool_id="c3", tool_name="shell", reason="a rule denies it"),
        ev.Notice(content="slow"),
        llm_error(will_retry=True, retry_in_s=2.5, withdrawn=("i",)),
        ev.Text(item_id="i", content="I look."),
    ]
    screen.view.deliver([replace(_placed(n, each), parent_tool_id="c1") for n, each in enumerate(inside)])

    assert screen.answer.getvalue() == ""
    assert screen.status.getvalue().splitlines() == [
        "  ↳ Read a.py",
        "    shell was not run: a rule denies it",
        "slow",
        "The connection broke. Retrying in 2.5 s (attempt 2).",
    ]


def _placed(number: int, event: ev.AgentEvent) -> SessionEvent:
    return SessionEvent(
        event=event, seq=number, turn_id="t1", iteration=1, total_tokens=0, timestamp=datetime(2026, 1, 1, tzinfo=UTC)
    )


def tool_call(title: str, *, tool_id: str = "c1", kind: ev.ToolKind = "read", name: str = "read_file") -> ev.ToolCall:
    return ev.ToolCall(
        tool_id=tool_id,
        tool_name=name,
        input={},
        title=title,
        kind=kind,
        risk=ToolRisk.LOW,
        read_only=kind == "read",
        locations=(),
    )


def tool_result(content: str, *, is_error: bool = False, changes: Sequence[FileChange] = ()) -> ev.ToolResult:
    return ev.ToolResult(
        tool_id="c1",
        tool_name="read_file",
        content=content,
        is_error=is_error,
        cached=False,
        truncated=False,
        duration_s=0.1,
        changes=tuple(changes),
    )


def test_the_answer_goes_to_one_stream_and_everything_else_to_the_other() -> None:
    finished = ev.Finished(stop_reason="end_turn", usage=Usage(input_tokens=100, cost_usd=0.01), files_changed=())

    answer, status = Turn().shows(
        ev.TurnStarted(prompt="hi", model="m/x", mode="default", agent="default"),
        ev.TextDelta(item_id="1", content="I'll "),
        ev.TextDelta(item_id="1", content="look."),
        ev.Text(item_id="1", content="I'll look."),
        tool_call("Read a.py"),
        tool_result("1\tx\n2\ty"),
        ev.TextDelta(item_id="2", content="Done.\n"),
        ev.Text(item_id="2", content="Done.\n"),
        finished,
    )

    assert answer == "I'll look.\nDone.\n"
    assert status == "m/x · mode default\n● Read a.py\n  read_file: 2 lines\nDone · 100 tokens · $0.0100\n"


def test_text_that_was_not_streamed_is_shown_when_it_is_whole() -> None:
    answer, _ = Turn().shows(ev.TextDelta(item_id="1", content="half"), ev.Text(item_id="1", content="half and half"))

    assert answer == "half and half\n"


def test_an_answer_that_is_piped_on_is_passed_on_as_it_is() -> None:
    answer, _ = Turn().shows(ev.Text(item_id="1", content="a\x1b[31mb\r\n"))
    shown, _ = Turn(answer_is_terminal=True).shows(ev.Text(item_id="1", content="a\x1b[31mb\r\n"))

    assert (answer, shown) == ("a\x1b[31mb\r\n", "ab\n")


def test_a_programs_output_stands_behind_a_bar_however_it_arrives() -> None:
    _, status = Turn().shows(
        tool_call("make", kind="execute", name="shell"),
        ev.ToolProgress(tool_id="c1", content="one\ntw"),
        ev.ToolProgress(tool_id="c1", content="o\nthree"),
        tool_result("one\ntwo\nthree\n[exit code 2]"),
    )

    assert status == "● make\n  │ one\n  │ two\n  │ three\n  [exit code 2]\n"


def test_a_result_that_the_model_was_not_shown_whole_is_told_with_numbers() -> None:
    content, _ = cut("line\n" * 1_000, "read_file", 1_000)

    _, status = Turn().shows(tool_call("Read a.py"), replace(tool_result(content), truncated=True))

    assert status.endswith("The model received 1,000 of 5,000 characters of this result.\n")


def test_a_tool_that_is_not_allowed_is_told_of_once() -> None:
    _, status = Turn().shows(
        tool_call("rm x", kind="execute", name="shell"),
        ev.PermissionDenied(tool_id="c1", tool_name="shell", reason="the user rejected it."),
        tool_result("Permission denied: the user rejected it.", is_error=True),
    )

    assert status == "● rm x\n  not run: the user rejected it.\n"


def test_a_change_is_told_with_its_file_and_lines() -> None:
    change = FileChange(path=Path("/w/pkg/a.py"), kind="edit", added=3, removed=1, patch="")

    _, status = Turn().shows(tool_result("Edited pkg/a.py", changes=[change]))

    assert status == "  edit a.py (+3 −1)\n"


@pytest.mark.parametrize(("is_terminal", "shown"), [(True, "The answer is\n"), (False, "")])
def test_a_failed_model_call_says_what_became_of_its_text(*, is_terminal: bool, shown: str) -> None:
    answer, status = Turn(answer_is_terminal=is_terminal).shows(
        ev.TextDelta(item_id="1", content="The answer is"),
        ev.LlmError(
            error_type="network",
            error_message="The connection broke.",
            retryable=True,
            attempt=1,
            will_retry=False,
            withdrawn=("1",),
        ),
    )

    assert answer == shown
    assert status.startswith("Error: The connection broke.\nThe partial answer above was discarded")


def test_a_piped_answer_holds_what_counts_alone() -> None:
    answer, status = Turn().shows(
        ev.TextDelta(item_id="1", content="half an ans"),
        llm_error(will_retry=True, retry_in_s=2.5, withdrawn=("1",)),
        ev.TextDelta(item_id="2", content="A whole"),
        ev.TextDelta(item_id="2", content=" answer."),
        ev.Text(item_id="2", content="A whole answer."),
    )

    assert answer == "A whole answer.\n"
    assert status.startswith("The connection broke. Retrying in 2.5 s (attempt 2).\n")


def test_a_piped_answer_that_was_cancelled_is_what_came_of_it() -> None:
    finished = ev.Finished(stop_reason="cancelled", usage=Usage(), files_changed=())
    answer, _ = Turn().shows(ev.TextDelta(item_id="1", content="half"), ev.Cancelled(), finished)

    assert answer == "half\n"


def test_a_fallback_is_named() -> None:
    _, status = Turn().shows(llm_error(fallback_model="openai/spare"))

    assert status == "The connection broke. Continuing with openai/spare.\n"


def llm_error(**changes: Any) -> ev.LlmError:
    given: dict[str, Any] = {"attempt": 1, "will_retry": False, **changes}
    return ev.LlmError(error_type="network", error_message="The connection broke.", retryable=True, **given)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ev.IterationLimitReached(limit=2, value=2), "The limit of 2 model calls per turn was reached.\n"),
        (ev.TokenLimitReached(limit=5, value=7), "The limit of 5 tokens per turn was reached: 7 used.\n"),
        (ev.BudgetLimitReached(limit=0.5, value=0.51), "The limit of $0.5 per turn was reached: $0.5100 spent.\n"),
        (ev.Notice(content="Loading the model…"), "Loading the model…\n"),
        (ev.Thinking(item_id="1", content="hm"), "hm\n"),
        (ev.Cancelled(), "Cancelled.\n"),
    ],
)
def test_what_happens_to_a_turn_is_a_line(event: ev.AgentEvent, line: str) -> None:
    assert Turn().shows(event) == ("", line)


class Gone(io.StringIO):
    """A stream that cannot be written any more."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self._error = error

    def write(self, text: str, /) -> int:
        raise self._error


def test_a_reader_who_has_read_enough_ends_the_turn_quietly() -> None:
    turn = Turn(answer=Gone(BrokenPipeError()))

    turn.shows(ev.Text(item_id="1", content="one"), ev.Text(item_id="2", content="two"))

    assert (turn.n_lost, turn.view.answer_lost, turn.status.getvalue()) == (1, True, "")


def test_an_answer_that_cannot_be_written_is_told() -> None:
    turn = Turn(answer=Gone(OSError(28, "No space left on device")))

    _, status = turn.shows(ev.Text(item_id="1", content="one"))

    assert (turn.n_lost, status) == (1, "Error: the answer could not be written: No space left on device\n")


def test_only_a_turn_that_came_to_its_end_is_a_success() -> None:
    codes = {reason: exit_code(reason) for reason in get_args(ev.StopReason)}

    assert {reason for reason, code in codes.items() if code == 0} == {"end_turn"}
    assert {reason for reason, code in codes.items() if code == 130} == {"cancelled", "interrupted"}
    assert set(codes.values()) == {0, 1, 130}


# The question


def test_the_person_is_asked_about_the_whole_of_it() -> None:
    text = prompt_text(request(source="subagent docs"), PLAIN)

    assert text.splitlines() == [
        "Permission for edit_file (medium risk, subagent docs)",
        "  Return two",
        "    Edit cart.py (+1 −1)",
        *PATCH.splitlines(),
        "  Sandboxed, no network",
    ]


def test_every_choice_says_what_it_applies_to() -> None:
    scopes = Scopes(request())
    kept = "edit_file(cart.py), in this workspace, until you revoke it."

    assert choices_text(scopes, PLAIN).splitlines() == [
        "  [o] Allow once",
        "      Applies to: this call only.",
        "  [s] Allow for this session",
        "      Applies to: edit_file(cart.py), until this session ends.",
        "  [a] Always allow",
        f"      Applies to: {kept}",
        "  [e] Accept all edits in this session",
        "      Applies to: this edit and all later edits in this session; moves, deletions and commands still ask.",
        "  [r] Reject",
        "      Applies to: this call only.",
        "  [n] Always reject",
        f"      Applies to: {kept}",
        "  [p] Let s, a and n cover every command that starts with `npm test`",
    ]


@pytest.mark.parametrize(
    ("risk", "colour"), [(ToolRisk.LOW, "36"), (ToolRisk.MEDIUM, "33"), (ToolRisk.HIGH, "31")], ids=str
)
def test_how_grave_it_is_has_a_colour_of_its_own(risk: ToolRisk, colour: str) -> None:
    assert f"\x1b[{colour}m{risk.value} risk\x1b[0m" in prompt_text(request(risk=risk), Palette(on=True))


def test_a_rule_cannot_command_the_terminal() -> None:
    asked = request(patch="")
    sly = PermissionRequest(
        permission_id="p1",
        session_id="s1",
        turn_id="t1",
        tool_id="c1",
        tool_name="shell",
        input={},
        risk=ToolRisk.HIGH,
        action=asked.action,
        rules=("shell(echo \x1b[2A\u202e)",),
    )

    text = choices_text(Scopes(replace(sly, prefix_rules=("shell(echo \x1b:*)",))), PLAIN)
    assert "[p] Let s, a and n cover every command that starts with `echo \\x1b`\n" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("line", "outcome", "feedback"),
    [
        ("o", "allow_once", ""),
        (" O ", "allow_once", ""),
        ("once", "allow_once", ""),
        ("s", "allow_session", ""),
        ("session", "allow_session", ""),
        ("a", "allow_always", ""),
        ("always", "allow_always", ""),
        ("e", "allow_session", ""),
        ("edits", "allow_session", ""),
        ("n", "reject_always", ""),
        ("never use tau", "reject_always", "use tau"),
        ("r", "reject_once", ""),
        ("Reject", "reject_once", ""),
        ("r use math.tau instead ", "reject_once", "use math.tau instead"),
    ],
)
def test_a_choice_is_a_letter_or_its_word(line: str, outcome: str, feedback: str) -> None:
    answer = parse_answer(line, choices_for(request()))

    assert answer is not None
    assert answer.accepts_edits is (line in ("e", "edits"))
    assert (answer.outcome, answer.feedback) == (outcome, feedback)


ALLOWING = {"o", "s", "a", "e", "once", "session", "always", "edits"}


@given(st.text() | st.sampled_from(sorted(ALLOWING)).flatmap(lambda word: st.text().map(lambda rest: word + rest)))
def test_nothing_but_a_choice_allows_anything(line: str) -> None:
    answer = parse_answer(line, choices_for(request()))

    if answer is not None and answer.allowed:
        assert line.strip().lower() in ALLOWING


class Person:
    """Sits at the other end of a real pseudo terminal."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.seen = ""

    def types(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def has(self, *, columns: int) -> None:
        """Make the terminal so wide."""
        termios.tcsetwinsize(self._fd, (24, columns))

    async def sees(self, text: str, times: int = 1) -> None:
        """Wait until the screen has shown the text so often."""
        while self.seen.count(text) < times:
            readable = asyncio.Event()
            asyncio.get_running_loop().add_reader(self._fd, readable.set)
            try:
                await bounded(readable.wait())
            finally:
                asyncio.get_running_loop().remove_reader(self._fd)
            self.seen += os.read(self._fd, 65_536).decode()


@contextmanager
def pseudo_terminal() -> Generator[tuple[int, int]]:
    """The person's end, and the program's."""
    ends = pty.openpty()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


async def at_once(permission_id: str) -> None:
    """Nothing has to be shown before."""


@asynccontextmanager
async def asked(
    ready_to_ask: Callable[[str], Awaitable[None]] = at_once,
) -> AsyncGenerator[tuple[Person, asyncio.Task[PermissionAnswer]]]:
    """A person who is asked for permission, and the answer that the core will get."""
    with pseudo_terminal() as (own_end, programs_end):
        approver = TerminalApprover(terminal=Terminal(fd=programs_end), palette=PLAIN, ready_to_ask=ready_to_ask)
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(approver.approve(request()))
            yield Person(own_end), answer
            answer.cancel()


async def test_the_person_reads_the_question_and_allows_it() -> None:
    async with asked() as (person, answer):
        await person.sees(QUESTION)
        person.types("o\n")

        assert await bounded(answer) == PermissionAnswer(outcome="allow_once")
        assert "-    return 1\r\n+    return 2\r\n" in person.seen


async def test_choices_are_wrapped_between_words_to_the_width_of_the_terminal() -> None:
    async with asked() as (person, answer):
        person.has(columns=30)
        await person.sees(QUESTION)
        person.types("o\n")
        await bounded(answer)

    choices = person.seen.partition("[o]")[2].partition(QUESTION)[0].splitlines()
    assert "until" in " ".join(choices)
    assert max(map(len, choices)) <= 30
    assert all(each.startswith(("  [", "      ")) for each in choices[1:] if each)


async def test_words_after_a_reject_are_for_the_model() -> None:
    async with asked() as (person, answer):
        await person.sees(QUESTION)
        person.types("r keep the old name, né\n")

        assert await bounded(answer) == PermissionAnswer(outcome="reject_once", feedback="keep the old name, né")


async def test_a_wider_rule_is_chosen_before_the_answer() -> None:
    async with asked() as (person, answer):
        await person.sees(QUESTION)
        person.types("p\n")
        await person.sees(QUESTION, 2)
        assert "Applies to: every command that starts with `npm test`, until this session ends." in person.seen
        person.types("a\n")

        assert await bounded(answer) == PermissionAnswer(outcome="allow_always", rules=("shell(npm test:*)",))


async def test_what_was_typed_before_the_question_is_no_answer_to_it() -> None:
    shown = asyncio.Event()

    async def wait_for_it(permission_id: str) -> None:
        await shown.wait()

    async with asked(wait_for_it) as (person, answer):
        person.types("a\n")
        await person.sees("a\r\n")
        shown.set()
        await person.sees(QUESTION)
        person.types("r\n")

        assert (await bounded(answer)).outcome == "reject_once"


async def test_an_odd_answer_is_asked_again_and_in_the_end_a_reject() -> None:
    async with asked() as (person, answer):
        for attempt in range(1, MAX_ATTEMPTS + 1):
            await person.sees(QUESTION, attempt)
            person.types("yes please\n")

        assert (await bounded(answer)).outcome == "reject_once"


async def test_the_end_of_input_is_a_reject() -> None:
    async with asked() as (person, answer):
        await person.sees(QUESTION)
        person.types("\x04")

        assert (await bounded(answer)).outcome == "reject_once"


async def test_a_question_of_a_cancelled_turn_takes_no_answer_any_more() -> None:
    async with asked() as (person, answer):
        await person.sees(QUESTION)
        answer.cancel()

        with pytest.raises(asyncio.CancelledError):
            await bounded(answer)


async def test_a_question_waits_until_what_led_to_it_is_shown() -> None:
    turn = Turn()

    async with asked(turn.view.ready_to_ask) as (person, answer):
        await asyncio.sleep(0)
        turn.shows(
            ev.Text(item_id="1", content="I'll edit it"), ev.PermissionRequested(permission_id="p1", tool_id="c1")
        )
        await person.sees(QUESTION)
        assert turn.answer.getvalue() == "I'll edit it\n"
        person.types("s\n")

        assert (await bounded(answer)).outcome == "allow_session"


def test_the_terminal_is_found_behind_any_of_the_standard_streams() -> None:
    reading, writing = os.pipe()
    try:
        with pseudo_terminal() as (own_end, programs_end):
            with terminal_of((reading, writing, programs_end)) as terminal:
                assert terminal is not None
                terminal.write("hello\n")
                assert os.read(own_end, 100) == b"hello\r\n"
            with terminal_of((reading, writing)) as terminal:
                assert terminal is None
    finally:
        os.close(reading)
        os.close(writing)


async def test_without_a_terminal_everything_that_would_ask_is_refused_and_kept() -> None:
    approver = RefusingApprover()
    first, second = request(), request(risk=ToolRisk.HIGH)

    answers = [await approver.approve(first), await approver.approve(second)]

    assert [(answer.outcome, answer.feedback) for answer in answers] == [
        ("reject_once", "There is no terminal to ask on.")
    ] * 2
    assert approver.refused == [first, second]


async def test_yes_is_allow_once_and_never_more() -> None:
    assert await AllowingApprover().approve(request()) == PermissionAnswer(outcome="allow_once")
