"""An answer in a document: grows as it comes, and says what happened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent import events as ev
from pygent_ls.editors.lsp.chat_document.answer import AnswerSection, StreamedText, cleaned
from pygent_ls.editors.lsp.chat_document.document import OPEN_FENCE, said_in_answer
from tests.editors.lsp.chat_document.test_document import PIECES, call, told

pieces = st.lists(st.sampled_from([*PIECES, "#", "\ud83d", "\ude00"]), max_size=12)


def of(*events: ev.AgentEvent, stop: ev.StopReason = "end_turn", failure: str = "") -> str:
    answer = AnswerSection()
    for event in events:
        answer.take(told(event))
    answer.end(stop, failure)
    return answer.text


def failed(**changes: object) -> ev.LlmError:
    given: dict[str, object] = {"error_type": "network", "error_message": "The line is cut.", "retryable": True}
    return ev.LlmError(**{**given, "attempt": 1, "will_retry": True, "retry_in_s": 2.0, **changes})  # type: ignore[arg-type]


@given(pieces=pieces)
def test_text_only_grows_however_it_is_cut(pieces: list[str]) -> None:
    whole = StreamedText("1")
    whole.feed("".join(pieces))
    whole.finish()
    words = StreamedText("1")
    seen = ""
    for piece in pieces:
        for character in piece:
            words.feed(character)
            assert words.text.startswith(seen)
            seen = words.text
    words.finish()

    assert words.text.startswith(seen)
    assert words.text == whole.text


def test_a_line_that_may_become_a_heading_waits_and_others_do_not() -> None:
    words = StreamedText("1")
    shown: list[str] = []
    for piece in ("# T", "itle\n## ", "Yo", "u", " and me\n", "##", " You", "\nend"):
        words.feed(piece)
        shown.append(words.text)

    assert shown == [
        *("# T", "# Title", "# Title", "# Title", "# Title\n## You and me"),
        *("# Title\n## You and me", "# Title\n## You and me", "# Title\n## You and me\n\\## You\nend"),
    ]


def test_each_call_is_one_line_also_where_it_is_told_twice() -> None:
    text = of(
        ev.Text(item_id="1", content="First."),
        call("cat a.py\n## You\n\x1b[31m", "a"),
        call("cat b.py", "a"),
        call("ls", "b"),
        ev.Text(item_id="2", content="Then."),
    )

    assert text == "First.\n\n> tool: cat a.py\\n## You\\n\\x1b[31m\n> tool: ls\n\nThen."
    assert said_in_answer(text) == "First.\n\nThen."


def test_what_a_subagent_does_is_not_told() -> None:
    answer = AnswerSection()
    answer.take(replace(told(ev.Text(item_id="1", content="secretly")), parent_tool_id="a"))

    assert answer.text == ""


def test_words_of_a_failed_attempt_are_withdrawn() -> None:
    text = of(
        ev.TextDelta(item_id="1", content="Half of"),
        failed(withdrawn=("1",)),
        ev.Text(item_id="2", content="All of it."),
    )

    assert text == "*pygent: The line is cut. Retrying in 2.0 s (attempt 2).*\n\nAll of it."


def test_the_whole_text_counts_where_it_is_not_what_came_in_pieces() -> None:
    text = of(
        ev.TextDelta(item_id="1", content="the key is abc"),
        call("ls"),
        ev.Text(item_id="1", content="the key is •••"),
    )

    assert text == "the key is •••\n\n> tool: ls"


def test_a_fence_that_is_left_open_is_closed_and_nobody_said_that() -> None:
    text = of(ev.TextDelta(item_id="1", content="Look:\n````py\nx = 1\n```\n"), stop="max_output_tokens")

    assert (
        text == f"Look:\n````py\nx = 1\n```\n````\n{OPEN_FENCE}\n\n*The turn ended: answer cut off at the output limit*"
    )
    assert said_in_answer(text) == "Look:\n````py\nx = 1\n```"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ev.IterationLimitReached(limit=5, value=5), "*pygent: The limit of 5 model calls per turn was reached.*"),
        (ev.LoopDetected(limit=3, value=4), "*pygent: The model repeated the same call 4 times.*"),
        (ev.Notice(content="In\nmemory *alone*."), "*pygent: In memory ∗alone∗.*"),
        (ev.Steered(content="faster"), "*pygent: Sent during this turn: faster*"),
        (failed(fallback_model="other"), "*pygent: The line is cut. Continuing with other.*"),
    ],
)
def test_what_happens_is_a_line_that_is_nobodys_words(event: ev.AgentEvent, line: str) -> None:
    text = of(ev.Text(item_id="1", content="One."), event, ev.Text(item_id="2", content="Two."))

    assert text == f"One.\n\n{line}\n\nTwo."
    assert said_in_answer(text) == "One.\n\nTwo."


@pytest.mark.parametrize(
    ("stop", "failure", "line"),
    [
        ("cancelled", "", "*The turn ended: cancelled*"),
        ("max_iterations", "", "*The turn ended: stopped at the limit of model calls*"),
        ("error", "no\ncredit", "*The turn failed: no credit*"),
        ("error", "x" * 500, f"*The turn failed: {'x' * 299}…*"),
    ],
)
def test_how_a_turn_ended_is_said_where_it_is_not_as_usual(stop: ev.StopReason, failure: str, line: str) -> None:
    assert of(stop=stop, failure=failure) == line
    assert said_in_answer(line) == ""


def test_controls_and_halves_of_characters_come_into_no_document() -> None:
    assert cleaned("a\x1b[31m\x00\r\n\rb\tc\x9b\ud83d\ude00\ud83d") == "a\ufffd[31m\ufffd\n\nb\tc\ufffd😀\ufffd"
