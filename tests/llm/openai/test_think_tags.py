"""Thinking between tags in the text of an answer, cut in any pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from time import thread_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pygent_ls.agent.ports.model import TextChunk, ToolCallChunk
from pygent_ls.llm.openai.think_tags import ThinkTags, opens_in_prompt
from tests.llm.answers import answered, events, thinking_of
from tests.llm.model_contract import joined


def split(pieces: Sequence[str], *, may_be_open: bool = False) -> tuple[str, str]:
    """Thinking and text of an answer that comes in these pieces."""
    tags = ThinkTags(may_be_open=may_be_open)
    chunks = [chunk for piece in pieces for chunk in tags.feed(piece)] + list(tags.close())
    return thinking_of(chunks), "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


@pytest.mark.parametrize(
    ("answer", "thinking", "text"),
    [
        ("<think>\nI add.\n</think>\n\n4.", "\nI add.\n", "4."),
        ("\n <think>a</think>b", "a", "b"),
        ("<think></think>\n\nHi", "", "Hi"),
        ("<think>cut off in the mid</thi", "cut off in the mid</thi", ""),
        ("a < b and <b>", "", "a < b and <b>"),
        ("<thinker>", "", "<thinker>"),
        ("<thi", "", "<thi"),
        ("The tag `<think>` opens, `</think>` closes.", "", "The tag `<think>` opens, `</think>` closes."),
        ("```\n<think>x</think>\n```", "", "```\n<think>x</think>\n```"),
        ("<think>a</think>b <think>c</think>", "a", "b <think>c</think>"),
        ("I add.\n</think>\n\n4.", "", "I add.\n</think>\n\n4."),
    ],
)
def test_only_a_tag_at_the_beginning_holds_thinking(answer: str, thinking: str, text: str) -> None:
    assert split([answer]) == (thinking, text)


@pytest.mark.parametrize(
    ("answer", "thinking", "text"),
    [
        ("I add.\n</think>\n\n4.", "I add.\n", "4."),
        ("<think>I add.</think>4.", "I add.", "4."),
        ("No thinking at all.", "", "No thinking at all."),
        ("a</think>b</think>", "a", "b</think>"),
    ],
)
def test_a_template_may_have_opened_the_tag_in_the_prompt(answer: str, thinking: str, text: str) -> None:
    assert split([answer], may_be_open=True) == (thinking, text)


PARTS = st.sampled_from(["<think>", "</think>", "<", "think", ">", "/", "\n", " ", "a", "<b>", "`"])


@given(st.lists(PARTS, max_size=12).map("".join), st.lists(st.integers(0, 60), max_size=8), st.booleans())
@example("<think>a</think>\n\nb", list(range(20)), False)
@example("a</think>b", list(range(20)), True)
def test_it_does_not_matter_how_an_answer_is_cut(answer: str, cuts: list[int], may_be_open: bool) -> None:
    places = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    pieces = [answer[start:end] for start, end in pairwise(places)]

    assert split(pieces, may_be_open=may_be_open) == split([answer], may_be_open=may_be_open)


@given(st.lists(PARTS, max_size=12).map("".join), st.booleans())
def test_nothing_is_lost_but_the_tags_and_the_space_around_them(answer: str, may_be_open: bool) -> None:
    thinking, text = split([answer], may_be_open=may_be_open)

    said = "".join((thinking + text).split())
    assert said in (
        "".join(answer.split()),
        "".join(answer.replace("<think>", "", 1).split()),
        "".join(answer.replace("</think>", "", 1).split()),
        "".join(answer.replace("<think>", "", 1).replace("</think>", "", 1).split()),
    )


@pytest.mark.parametrize("name", ["deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "deepseek_r1", "Qwen/QwQ-32B"])
def test_models_whose_template_opens_the_tag_are_known_by_name(name: str) -> None:
    assert opens_in_prompt(name)
    assert opens_in_prompt("Qwen/Qwen3-235B-A22B-Thinking-2507")
    assert not opens_in_prompt("deepseek-chat")


@pytest.mark.parametrize("piece", [" ", "\n", "a -> b ", "</think"])
@pytest.mark.parametrize("may_be_open", [True, False])
def test_each_piece_that_is_held_back_takes_as_long_as_the_first(piece: str, *, may_be_open: bool) -> None:
    def seconds_for(n_pieces: int) -> float:
        began_s = thread_time()
        assert split([piece * 200] * n_pieces, may_be_open=may_be_open)[0] == ""
        return thread_time() - began_s

    few_s, many_s = (min(seconds_for(n_pieces) for _ in range(3)) for n_pieces in (1_000, 10_000))
    assert many_s < 40 * few_s


def deltas(*given: dict[str, object]) -> list[object]:
    pieces: list[object] = [{"choices": [{"index": 0, "delta": each}]} for each in given]
    return [*pieces, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


async def test_the_thinking_of_a_local_model_is_not_its_answer() -> None:
    pieces = deltas({"content": "<thi"}, {"content": "nk>I add."}, {"content": "</think>\n"}, {"content": "\n4"})

    chunks = await answered(events(*pieces), "hosted_vllm/qwen3")

    assert (thinking_of(chunks), joined(chunks).text) == ("I add.", "4")


async def test_a_missing_opening_tag_is_seen_in_an_answer_of_such_a_model() -> None:
    pieces = deltas({"content": "I add."}, {"content": "\n</think>\n\n4"})

    chunks = await answered(events(*pieces), "hosted_vllm/deepseek-r1-distill-qwen-7b")

    assert (thinking_of(chunks), joined(chunks).text) == ("I add.\n", "4")


async def test_where_thinking_has_a_field_of_its_own_the_text_is_left_as_it_is() -> None:
    pieces = deltas({"reasoning_content": "I quote."}, {"content": "<think>a</think> is a"}, {"content": " tag."})

    chunks = await answered(events(*pieces), "hosted_vllm/deepseek-r1")

    assert (thinking_of(chunks), joined(chunks).text) == ("I quote.", "<think>a</think> is a tag.")


async def test_text_that_was_held_back_comes_before_a_tool_call() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": "{}"}}
    pieces = deltas({"content": "I look."}, {"tool_calls": [call]})

    answer = joined(await answered(events(*pieces), "hosted_vllm/deepseek-r1"))

    assert (answer.text, [call.name for call in answer.message("t", ()).tool_calls]) == ("I look.", ["read_file"])


async def test_thinking_in_the_text_of_litellms_answers_is_read() -> None:
    pieces = deltas({"role": "assistant", "content": "<thi"}, {"content": "nk>I add.</think>"}, {"content": "\n\n4"})

    chunks = await answered(events(*pieces), "litellm/openai/qwen3")

    assert (thinking_of(chunks), joined(chunks).text) == ("I add.", "4")


async def test_text_that_litellms_answer_held_back_comes_before_a_tool_call() -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    pieces = deltas({"role": "assistant", "content": "I look."}, {"tool_calls": [call]})

    chunks = await answered(events(*pieces), "litellm/openai/deepseek-r1")

    answer = joined(chunks)
    assert [type(chunk) for chunk in chunks][:2] == [TextChunk, ToolCallChunk]
    assert (answer.text, [each.name for each in answer.message("t", ()).tool_calls]) == ("I look.", ["read_file"])
