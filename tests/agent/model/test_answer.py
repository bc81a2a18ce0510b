"""Chunks of a stream put together into the model's answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from pygent_ls.agent.model.answer import CUT_OFF, ModelAnswer
from pygent_ls.agent.ports.model import (
    Chunk,
    FinishChunk,
    FinishReason,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)


def answer_of(*chunks: Chunk) -> ModelAnswer:
    answer = ModelAnswer()
    for chunk in chunks:
        answer.add(chunk)
    answer.close()
    return answer


def message_of(*chunks: Chunk, taken: frozenset[str] = frozenset()) -> Message:
    return answer_of(*chunks).message("turn-1", taken)


def test_text_thinking_usage_and_finish_come_together() -> None:
    answer = answer_of(
        ThinkingChunk(thinking="let me "),
        ThinkingChunk(thinking="see", signature="sealed"),
        TextChunk(text="Hel"),
        TextChunk(text="lo"),
        UsageChunk(usage=Usage(input_tokens=1)),
        UsageChunk(usage=Usage(input_tokens=2)),
        FinishChunk(reason="stop"),
    )
    assert answer.usage == Usage(input_tokens=2)
    assert answer.finish_reason == "end_turn"
    assert answer.message("turn-1", ()).content == (
        ThinkingBlock(thinking="let me see", signature="sealed"),
        TextBlock(text="Hello"),
    )


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        *((word, "end_turn") for word in ("stop", "end_turn", "stop_sequence")),
        *((word, "tools") for word in ("tool_calls", "tool_use", "function_call")),
        *((word, "length") for word in ("length", "max_tokens")),
        *((word, "refusal") for word in ("content_filter", "refusal", "safety")),
        ("eos", "unknown"),
        ("", "unknown"),
    ],
)
def test_finish_reasons_are_read_as_providers_spell_them(word: str, reason: FinishReason) -> None:
    assert answer_of(FinishChunk(reason=word)).finish_reason == reason


def test_a_stream_without_a_finish_is_unknown() -> None:
    assert answer_of(TextChunk(text="x")).finish_reason == "unknown"
    assert answer_of(TextChunk(text="x")).finish is None


def test_the_pieces_of_several_calls_may_come_interleaved() -> None:
    message = message_of(
        ToolCallChunk(index=1, id="b", name="grep_search", arguments='{"pat'),
        ToolCallChunk(index=0, id="a", name="read_file"),
        ToolCallChunk(index=1, arguments='tern": "x"}'),
        ToolCallChunk(index=0, arguments='{"path": "a.py"}'),
    )
    assert message.tool_calls == (
        ToolUseBlock(id="a", name="read_file", input={"path": "a.py"}),
        ToolUseBlock(id="b", name="grep_search", input={"pattern": "x"}),
    )


def test_arguments_are_closed_for_the_tools_that_only_read() -> None:
    open_object = ToolCallChunk(index=0, id="a", name="read_file", arguments='{"path": "a.py"')
    (call,) = answer_of(open_object).message("turn-1", (), {"read_file"}).tool_calls
    assert call == ToolUseBlock(id="a", name="read_file", input={"path": "a.py"})

    (call,) = answer_of(open_object).message("turn-1", (), {"grep_search"}).tool_calls
    assert (call.input, call.problem is None) == ({}, False)


def test_empty_repeated_and_taken_ids_are_made_unique_and_good_ones_stay() -> None:
    ids = ["", "", "same", "same", "taken", "call_turn-1_1", "good"]
    chunks = [ToolCallChunk(index=n, id=each, name="t", arguments="{}") for n, each in enumerate(ids)]

    message = message_of(*chunks, taken=frozenset({"taken", "call_turn-1_0"}))

    made = [call.id for call in message.tool_calls]
    assert len(set(made)) == len(ids)
    assert "" not in made
    assert not {"taken", "call_turn-1_0"} & set(made)
    assert (made[2], made[6]) == ("same", "good")


@given(st.lists(st.sampled_from(["", "a", "b", "call_t_0", "call_t_1", "call_t_2"]), max_size=8))
def test_ids_are_unique_whatever_the_provider_sends(ids: list[str]) -> None:
    answer = answer_of(*(ToolCallChunk(index=n, id=each, name="t") for n, each in enumerate(ids)))
    taken = {"b", "call_t_1"}
    made = [call.id for call in answer.message("t", taken).tool_calls]
    assert len(made) == len(ids) == len(set(made))
    assert all(made)
    assert not taken & set(made)


def test_arguments_that_are_not_json_stand_as_an_empty_object_with_the_problem() -> None:
    (call,) = message_of(ToolCallChunk(index=0, id="a", name="read_file", arguments='{"path": ')).tool_calls
    assert call.input == {}
    assert call.problem is not None
    assert '{"path": ' in call.problem


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4), st.integers(1, 7), st.booleans())
def test_every_json_object_survives_in_whatever_pieces_it_comes(
    value: dict[str, Any], size: int, ascii_only: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    (call,) = message_of(*(ToolCallChunk(index=0, id="a", name="t", arguments=piece) for piece in pieces)).tool_calls
    assert call.problem is None
    assert call.input == value


def test_an_answer_of_white_space_or_thinking_alone_is_empty() -> None:
    assert answer_of().is_empty
    assert answer_of(TextChunk(text=" \n"), ThinkingChunk(thinking="hm")).is_empty
    assert not answer_of(TextChunk(text="x")).is_empty
    assert not answer_of(ToolCallChunk(index=0, name="t")).is_empty


def test_white_space_before_a_call_is_no_text_block_which_some_providers_would_reject() -> None:
    message = message_of(TextChunk(text="\n"), ToolCallChunk(index=0, id="a", name="t", arguments="{}"))
    assert message.content == (ToolUseBlock(id="a", name="t", input={}),)


def test_without_its_calls_an_answer_keeps_its_text_and_says_that_it_was_cut_off() -> None:
    answer = answer_of(TextChunk(text="I will"), ToolCallChunk(index=0, id="a", name="t", arguments="{}"))
    whole = answer.message_without_calls("turn-1", cut_off=False)
    cut = answer.message_without_calls("turn-1", cut_off=True)
    assert whole is not None
    assert cut is not None
    assert (whole.text, whole.tool_calls) == ("I will", ())
    assert (cut.text, cut.tool_calls) == ("I will" + CUT_OFF, ())


def test_without_its_calls_an_answer_without_text_is_nothing() -> None:
    answer = answer_of(ThinkingChunk(thinking="hm"), ToolCallChunk(index=0, id="a", name="t"))
    assert answer.message_without_calls("turn-1", cut_off=True) is None
