"""Text and thinking, and failed model calls."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pygent_ls.agent import events as ev
from tests.editors.lsp.conversation.client import ItemsClient
from tests.editors.lsp.conversation.story import (
    after,
    at,
    call,
    called,
    events,
    failed,
    finished,
    kinds,
    only,
    reducer,
    resulted,
    shown,
    started,
    text,
    text_delta,
    thinking,
    thinking_delta,
    used,
    within,
)


def test_a_turn_stands_in_the_conversation_from_its_prompt_to_its_end_in_the_order_in_which_it_happened() -> None:
    client = shown(
        started("Look at app.py"),
        thinking_delta("I should "),
        thinking_delta("look."),
        text_delta("Let me "),
        thinking("I should look."),
        text("Let me see."),
        called(),
        resulted(),
        finished(),
    )

    assert kinds(client.below()) == ["prompt", "thinking", "text", "tool", "end"]
    assert only(client, "prompt")["text"] == "Look at app.py"
    assert only(client, "thinking")["text"] == "I should look."
    assert only(client, "text")["text"] == "Let me see."
    assert call(client)["status"] == "done"
    assert (client.running, client.seq) == (None, 9)


def test_pieces_are_added_to_what_is_there_and_the_whole_takes_their_place() -> None:
    told = events(started(), text_delta("Hel"), text_delta("lo"), text("Hello!"))

    streaming, whole = after(told[:3]), after(told)

    assert only(streaming, "text") == {
        "type": "text",
        "key": "2",
        "itemId": "text",
        "turnId": "t1",
        "at": at(2),
        "text": "Hello",
        "streaming": True,
        "withdrawn": False,
    }
    assert only(whole, "text") == only(streaming, "text") | {"text": "Hello!", "streaming": False}


def test_a_piece_of_a_long_text_is_sent_alone() -> None:
    stream = reducer()
    stream.after(events(started(), text_delta("x" * 100_000)))

    changes = stream.after(events(started(), text_delta("x" * 100_000), text_delta("y"))[2:])

    assert changes == {
        "seq": 3,
        "at": at(3),
        "items": [{"op": "append", "key": "2", "field": "text", "text": "y"}],
        "runningTurnId": "t1",
    }


def test_thinking_is_over_when_the_answer_begins_although_its_whole_text_comes_with_the_answer() -> None:
    told = events(started(), thinking_delta("Hm"), text_delta("So"), thinking("Hmm"), text("So."))

    thinks, answers, over = (only(after(told[:n]), "thinking") for n in (2, 3, 5))

    assert (thinks["streaming"], thinks["endedAt"]) == (True, None)
    assert (answers["streaming"], answers["endedAt"]) == (False, at(3))
    assert (over["streaming"], over["endedAt"], over["text"]) == (False, at(3), "Hmm")


def test_a_failure_that_may_pass_says_when_the_model_is_called_again() -> None:
    assert only(shown(started(), failed(1)), "failure") == {
        "type": "failure",
        "key": "2",
        "turnId": "t1",
        "at": at(2),
        "errorType": "overloaded",
        "message": "Busy (1)",
        "attempt": 1,
        "state": "waiting",
        "retryAt": "2026-03-01T10:00:03.500000Z",
        "fallbackModel": None,
    }


def test_all_attempts_are_one_item_which_says_at_last_that_the_model_got_through() -> None:
    told = events(started(), failed(1), text_delta("No", "a"), failed(2, "a"), failed(3), text("Yes"))

    states = [only(after(told[:n]), "failure") for n in range(2, 7)]

    assert [(each["attempt"], each["state"], each["retryAt"] is not None) for each in states] == [
        (1, "waiting", True),
        (1, "retried", False),
        (2, "waiting", True),
        (3, "waiting", True),
        (3, "retried", False),
    ]


def test_what_a_failed_attempt_said_no_longer_counts_and_is_still_there() -> None:
    client = shown(
        started(),
        thinking_delta("Hm", "t"),
        text_delta("Half an ans", "a"),
        failed(1, "a", "t", "never-told"),
        text("The answer.", "b"),
    )

    said = [each for each in client.below() if each["type"] in ("text", "thinking")]
    assert [(each["text"], each["withdrawn"], each["streaming"]) for each in said] == [
        ("Hm", True, False),
        ("Half an ans", True, False),
        ("The answer.", False, False),
    ]
    assert said[0]["endedAt"] == at(3)


def test_a_failure_after_an_answer_that_counts_has_a_place_of_its_own() -> None:
    client = shown(started(), failed(), text("One", "a"), called(), failed(), text("Two", "b"))

    assert kinds(client.below()) == ["prompt", "failure", "text", "tool", "failure", "text"]


def test_what_the_daemon_does_before_it_calls_again_does_not_part_the_attempts_but_an_answer_and_an_end_do() -> None:
    notice = ev.Notice(content="Loading the model…")
    compacted = ev.Compacted(tokens_before=9, tokens_after=1, messages_summarised=2)

    one = shown(started(), failed(1), notice, compacted, failed(2))
    two = shown(started(), failed(1), text("One", "a"), failed(1))
    both = shown(started(), replace(failed(1), will_retry=False), failed(1))

    assert kinds(one.below()) == ["prompt", "failure", "notice", "compacted"]
    assert kinds(two.below()) == ["prompt", "failure", "text", "failure"]
    assert kinds(both.below()) == ["prompt", "failure", "failure"]


@pytest.mark.parametrize("answer", [called(), used()], ids=["a call", "nothing"])
def test_a_model_that_answers_with_a_call_or_with_nothing_got_through(answer: ev.AgentEvent) -> None:
    assert only(shown(started(), failed(), answer), "failure")["state"] == "retried"


def test_a_failure_that_does_not_pass_is_final_and_one_with_a_fallback_is_not() -> None:
    final = replace(failed(5), will_retry=False, retryable=False, retry_in_s=None)

    gave_up = only(shown(started(), failed(4), final, finished()), "failure")
    other = only(shown(started(), replace(final, fallback_model="openai/other")), "failure")

    assert (gave_up["attempt"], gave_up["state"], gave_up["retryAt"]) == (5, "final", None)
    assert (other["state"], other["retryAt"], other["fallbackModel"]) == ("retried", None, "openai/other")


def test_a_turn_that_is_cancelled_while_it_waits_to_call_again_waits_no_longer() -> None:
    failure = only(shown(started(), failed(), ev.Cancelled()), "failure")

    assert (failure["state"], failure["retryAt"]) == ("final", None)


def test_the_failure_of_a_subagent_is_below_its_call_beside_what_it_said() -> None:
    said = within("task", text_delta("Hm", "x"), failed(1, "x"), text("Ah", "y"))
    client = shown(started(), called("task"), *said)

    gone, failure, answer = client.below(call(client, "task")["key"])
    assert gone["withdrawn"]
    assert failure["state"] == "retried"
    assert answer["text"] == "Ah"


def test_a_wait_that_no_calendar_has_is_none() -> None:
    assert only(shown(started(), replace(failed(), retry_in_s=1e300)), "failure")["retryAt"] == at(2)


def test_a_text_that_goes_on_after_its_end_streams_again() -> None:
    client = ItemsClient()
    stream = reducer()
    for each in events(started(), text("One", "a"), text_delta(" two", "a")):
        client.take(stream.after([each]))

    assert (only(client, "text")["text"], only(client, "text")["streaming"]) == ("One two", True)
