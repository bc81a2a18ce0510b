"""What a conversation is made of, and how usage adds up."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.messages import (
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    user_message,
)


def test_plain_text_reads_as_one_text_block() -> None:
    assert user_message("hello").blocks == (TextBlock(text="hello"),)
    assert user_message("hello").text == "hello"


def test_the_text_of_a_message_holds_neither_thinking_nor_tools() -> None:
    call = ToolUseBlock(id="1", name="read_file", input={"path": "a"})
    message = Message(
        role="assistant",
        content=(ThinkingBlock(thinking="hm"), TextBlock(text="I'll "), TextBlock(text="look."), call),
    )
    assert message.text == "I'll look."
    assert message.tool_calls == (call,)


def test_tool_results_are_no_tool_calls() -> None:
    assert user_message((ToolResultBlock(tool_use_id="1", content="x"),)).tool_calls == ()


def test_a_message_knows_its_turn_and_its_time_in_utc() -> None:
    message = user_message("x", turn_id="turn-1")
    assert message.turn_id == "turn-1"
    assert message.timestamp.tzinfo is UTC


def test_messages_are_frozen() -> None:
    with pytest.raises(AttributeError):
        user_message("x").content = "y"  # pyright: ignore[reportAttributeAccessIssue]


def test_usage_adds_up_over_calls_and_remembers_how_full_the_window_is() -> None:
    first = Usage(input_tokens=100, output_tokens=10, cache_read_tokens=60, cost_usd=0.5, context_limit=1000)
    second = Usage(input_tokens=200, output_tokens=20, cache_write_tokens=7, cost_usd=0.25)

    total = Usage().plus(first).plus(second)

    assert total == Usage(
        input_tokens=300,
        output_tokens=30,
        cache_read_tokens=60,
        cache_write_tokens=7,
        cost_usd=0.75,
        context_tokens=220,
        context_limit=1000,
    )
    assert total.total_tokens == 330


def test_a_cost_that_is_not_known_makes_the_sum_unknown_for_good() -> None:
    known, unknown = Usage(input_tokens=1, cost_usd=0.5), Usage(input_tokens=1)
    assert Usage().plus(known).plus(unknown).cost_usd is None
    assert Usage().plus(unknown).plus(known).cost_usd is None
    assert Usage().plus(known).cost_usd == 0.5


def test_the_totals_of_a_turn_keep_its_last_request_as_the_size_of_the_context() -> None:
    turn = Usage().plus(Usage(input_tokens=100, output_tokens=1)).plus(Usage(input_tokens=200, output_tokens=2))
    session = Usage().plus(turn)
    assert (session.total_tokens, session.context_tokens) == (303, 202)


def test_a_turn_without_a_model_call_changes_no_total() -> None:
    session = Usage().plus(Usage(input_tokens=100, output_tokens=1, cost_usd=0.5, context_limit=1000))
    assert session.plus(Usage()) == session


usages = st.builds(
    Usage,
    input_tokens=st.integers(0, 10_000),
    output_tokens=st.integers(0, 10_000),
    cost_usd=st.none() | st.integers(0, 100).map(float),
)


@given(st.lists(usages, max_size=6))
def test_the_cost_is_known_exactly_where_it_is_known_of_every_call_that_used_tokens(calls: list[Usage]) -> None:
    total = Usage()
    for call in calls:
        total = total.plus(call)
    assert total.total_tokens == sum(call.total_tokens for call in calls)
    costs = [call.cost_usd for call in calls if call.total_tokens or call.cost_usd is not None]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        assert total.cost_usd is None
    elif costs:
        assert total.cost_usd == sum(known)
    else:
        assert total.cost_usd is None
