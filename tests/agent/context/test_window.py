"""What of a conversation is sent: modes and limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.context.window import (
    CHARS_PER_TOKEN,
    ContextRows,
    ContextRules,
    chars_of,
    cut_for,
    is_prompt,
    window,
    words_of,
)
from pygent_ls.agent.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock, user_message
from tests.agent.histories import check_pairs, histories

COUNTS = st.one_of(st.just(0), st.integers(1, 12))
SIZES = st.one_of(st.just(0), st.integers(1, 600))

RULES = st.builds(
    ContextRules,
    mode=st.sampled_from(["continue", "fresh", "sliding"]),
    sliding_messages=st.integers(1, 12),
    max_tokens=st.one_of(st.just(0), st.integers(1, 150)),
    max_messages=COUNTS,
    max_chars=SIZES,
    max_words=st.one_of(st.just(0), st.integers(1, 80)),
)


def conversation(n_turns: int) -> list[Message]:
    """Questions and answers; the last question is not answered."""
    messages: list[Message] = []
    for number in range(n_turns):
        messages.append(user_message(f"question {number}", turn_id=f"turn-{number}"))
        messages.append(Message(role="assistant", content=f"answer {number}", turn_id=f"turn-{number}"))
    return messages[:-1]


def said(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


def turn_of(messages: list[Message]) -> str:
    return next((each.turn_id for each in reversed(messages) if each.turn_id), "")


# Modes


def test_continue_is_all_of_it() -> None:
    messages = conversation(5)
    assert window(messages, ContextRules(), "turn-4") == messages


def test_fresh_is_the_turn_that_runs() -> None:
    assert said(window(conversation(5), ContextRules(mode="fresh"), "turn-4")) == ["question 4"]


@pytest.mark.parametrize(
    ("n_messages", "sent"),
    [
        (1, ["question 4"]),
        (2, ["question 4"]),
        (3, ["question 3", "answer 3", "question 4"]),
        (4, ["question 3", "answer 3", "question 4"]),
        (50, said(conversation(5))),
    ],
)
def test_sliding_is_the_last_messages_from_a_message_of_the_user_on(n_messages: int, sent: list[str]) -> None:
    rules = ContextRules(mode="sliding", sliding_messages=n_messages)
    assert said(window(conversation(5), rules, "turn-4")) == sent


def test_sliding_over_a_long_turn_keeps_what_the_turn_is_about() -> None:
    messages = [user_message("the task", turn_id="t")]
    for number in range(10):
        call = ToolUseBlock(id=str(number), name="look", input={})
        messages.append(Message(role="assistant", content=(call,), turn_id="t"))
        messages.append(user_message((ToolResultBlock(tool_use_id=str(number), content="seen"),), turn_id="t"))
    messages.insert(11, user_message("steering", turn_id="t"))

    sent = window(messages, ContextRules(mode="sliding", sliding_messages=5), "t")

    assert sent == [messages[0], *messages[-4:]]


def test_sliding_by_one_keeps_the_calls_of_one_answer_and_their_results() -> None:
    calls = tuple(ToolUseBlock(id=each, name="look", input={}) for each in ("a", "b"))
    results = tuple(ToolResultBlock(tool_use_id=each, content="seen") for each in ("a", "b"))
    messages = [
        user_message("x", turn_id="t"),
        Message(role="assistant", content=calls, turn_id="t"),
        user_message(results, turn_id="t"),
    ]
    assert window(messages, ContextRules(mode="sliding", sliding_messages=1), "t") == messages


def test_a_configured_context_that_is_empty_is_not_replaced_by_a_default() -> None:
    """The rules count from the first message on, and hold for a conversation of nothing."""
    rules = ContextRules(mode="fresh", max_messages=1)
    rows = ContextRows()
    assert cut_for(rows, rules, "turn-0").of([]) == []
    rows.append(user_message("old", turn_id="turn-0"))
    rows.append(user_message("new", turn_id="turn-1"))
    assert cut_for(rows, rules, "turn-1").start == 1


# Limits, over random conversations


@given(histories(), RULES)
def test_a_call_and_its_result_are_never_separated(messages: list[Message], rules: ContextRules) -> None:
    check_pairs(window(messages, rules, turn_of(messages)))


@given(histories(), RULES)
def test_no_message_is_sent_twice_and_their_order_stays(messages: list[Message], rules: ContextRules) -> None:
    places = [
        next(n for n, each in enumerate(messages) if each is sent)
        for sent in window(messages, rules, turn_of(messages))
    ]
    assert places == sorted(set(places))


@given(histories(), RULES)
def test_the_last_message_always_stays_and_the_first_is_the_users(messages: list[Message], rules: ContextRules) -> None:
    sent = window(messages, rules, turn_of(messages))
    assert sent[-1] is messages[-1]
    assert is_prompt(sent[0])


@given(histories(), RULES)
def test_limits_hold_unless_the_last_unit_alone_is_more(messages: list[Message], rules: ContextRules) -> None:
    turn_id = turn_of(messages)
    rows = ContextRows(messages)
    sent = window(messages, rules, turn_id)
    last_unit = messages[rows[len(rows) - 1].unit :]
    if len(sent) <= len(last_unit) + 1:
        return
    for limit, value in (
        (rules.most_messages, len(sent)),
        (rules.max_chars, sum(map(chars_of, sent))),
        (rules.max_tokens * CHARS_PER_TOKEN, sum(map(chars_of, sent))),
        (rules.max_words, sum(map(words_of, sent))),
    ):
        assert not limit or value <= limit


@given(histories(), RULES)
def test_a_limit_leaves_out_no_more_than_it_must(messages: list[Message], rules: ContextRules) -> None:
    """One unit more would break a limit."""
    turn_id = turn_of(messages)
    rows = ContextRows(messages, counts_words=True)
    cut = cut_for(rows, rules, turn_id, rules.max_tokens * CHARS_PER_TOKEN)
    if cut.start == 0 or rules.mode == "fresh":
        return
    before = rows[cut.start - 1].unit
    head = rows[before].head
    more = [*([messages[head]] if head < before else []), *messages[before:]]
    limits = (
        (rules.most_messages, len(more)),
        (rules.max_chars, sum(map(chars_of, more))),
        (rules.max_tokens * CHARS_PER_TOKEN, sum(map(chars_of, more))),
        (rules.max_words, sum(map(words_of, more))),
    )
    assert any(limit and value > limit for limit, value in limits)


@given(histories(), RULES, st.data())
def test_what_was_left_out_when_a_message_was_added_is_not_missed_when_a_request_is_built(
    messages: list[Message], rules: ContextRules, data: st.DataObject
) -> None:
    """The limits hold at every message, and a context that is kept within them all the time is the same in the end."""
    turn_id = turn_of(messages)
    kept: list[Message] = []
    step = data.draw(st.integers(1, 4))
    for place in range(0, len(messages), step):
        added = messages[place : place + step]
        kept = window([*kept, *added], rules, turn_of([*kept, *added]))
    assert window(kept, rules, turn_id) == window(messages, rules, turn_id)


@given(histories())
def test_fresh_sends_nothing_of_an_earlier_turn(messages: list[Message]) -> None:
    turn_id = turn_of(messages)
    sent = window(messages, ContextRules(mode="fresh"), turn_id)
    earlier = {f"turn-{n}" for n in range(10)} - {turn_id}
    assert not any(each.turn_id in earlier for each in sent)
    own = [each for each in messages if each.turn_id == turn_id]
    assert [each for each in sent if each.turn_id == turn_id] == own


# Sizes


def test_all_that_is_sent_counts() -> None:
    call = ToolUseBlock(id="1", name="look", input={"path": "é"})
    message = Message(role="assistant", content=(TextBlock(text="ab cd"), call))
    assert chars_of(message) == 5 + len("look") + len('{"path": "é"}')
    assert words_of(message) == 4
    assert chars_of(user_message("ab cd")) == 5
