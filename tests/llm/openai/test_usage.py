"""What calls took and cost, as providers report it: real usage objects, read through the adapters."""

from __future__ import annotations

from typing import Any

import pytest

from pygent_ls.agent.messages import Usage
from pygent_ls.llm.catalog.known_model import KnownModel, Rates
from pygent_ls.llm.catalog.pricing import PriceTable
from pygent_ls.llm.openai.usage import counted_usage, told_cost_usd
from tests.llm.answers import answered, events, named_events, whole
from tests.llm.model_contract import joined
from tests.model_server import Step

XAI = {
    "prompt_tokens": 432,
    "completion_tokens": 68,
    "total_tokens": 636,
    "prompt_tokens_details": {"text_tokens": 432, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 153},
    "completion_tokens_details": {"reasoning_tokens": 136, "audio_tokens": 0},
    "num_sources_used": 0,
    "cost_in_usd_ticks": 1654500,
}

OPENROUTER = {
    "prompt_tokens": 254,
    "completion_tokens": 5,
    "total_tokens": 259,
    "cost": 0.000837,
    "is_byok": False,
    "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "cost_details": {"upstream_inference_cost": 0.000837, "upstream_inference_prompt_cost": 0.000762},
    "completion_tokens_details": {"reasoning_tokens": 0},
}

PRICED = KnownModel(rates=(Rates(input=1.0, output=1.0, cache_read=1.0, cache_write=1.0),))


async def usage_of(usage: object, name: str = "openai/mock", *, at: str = "usage") -> Usage:
    """The usage of an answer whose last chunk reports it."""
    choice: dict[str, Any] = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}
    last: dict[str, Any] = {"choices": []}
    if at == "choice":
        last = {"choices": [{"index": 0, "delta": {}, "usage": usage}]}
    elif at == "x_groq":
        last["x_groq"] = {"id": "req", "usage": usage}
    else:
        last["usage"] = usage
    return joined(await answered(events({"choices": [choice]}, last), name)).usage


async def test_reasoning_on_top_of_the_completion_is_output() -> None:
    usage = await usage_of(XAI, "xai/grok-4-fast")

    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (432, 204, 153)
    assert usage.cost_usd == pytest.approx(0.00016545)


@pytest.mark.parametrize(
    ("total", "completion", "reasoning", "output"),
    [
        (353, 49, 23, 49),  # Groq: a part of the completion
        (67, 10, 37, 10),  # Vercel's gateway: the total leaves it out
        (0, 10, 5, 10),  # no total
        (304 + 49 + 5, 49, 23, 49),  # something else is in the total
    ],
)
def test_reasoning_counts_once_whatever_the_total_says(
    total: int, completion: int, reasoning: int, output: int
) -> None:
    usage = {
        "prompt_tokens": 304 if total > 100 else 57,
        "completion_tokens": completion,
        "total_tokens": total,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }

    assert counted_usage(usage, KnownModel()).output_tokens == output


@pytest.mark.parametrize(
    "cached",
    [
        {"prompt_tokens_details": {"cached_tokens": 64}},
        {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36, "prompt_tokens_details": None},
        {"cached_tokens": 64},
        {"num_cached_tokens": 64},
        {"cache_read_input_tokens": 64},
    ],
    ids=["OpenAI", "DeepSeek", "Moonshot", "Mistral", "gateway"],
)
async def test_cached_tokens_are_read_wherever_they_are_reported(cached: dict[str, Any]) -> None:
    usage = await usage_of({"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101, **cached})

    assert (usage.input_tokens, usage.cache_read_tokens) == (100, 64)


@pytest.mark.parametrize("at", ["usage", "choice", "x_groq"])
async def test_usage_is_found_in_each_place_where_providers_put_it(at: str) -> None:
    usage = await usage_of({"prompt_tokens": 19, "completion_tokens": 13, "total_tokens": 32}, at=at)

    assert (usage.input_tokens, usage.output_tokens) == (19, 13)


async def test_what_anthropic_wrote_to_its_cache_is_the_sum_of_its_parts() -> None:
    written = {"ephemeral_5m_input_tokens": 72, "ephemeral_1h_input_tokens": 8}
    begun = {"usage": {"input_tokens": 6, "cache_read_input_tokens": 1276, "cache_creation": written}}

    answer = await answered(
        named_events(
            {"type": "message_start", "message": begun},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "1"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
            {"type": "message_stop"},
        ),
        "anthropic/mock",
    )

    usage = joined(answer).usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (1362, 1276, 80)


async def test_what_anthropic_keeps_for_an_hour_costs_more() -> None:
    def message(**written: int) -> Step:
        usage = {"input_tokens": 6, "cache_creation_input_tokens": 80, "cache_creation": written, "output_tokens": 4}
        return whole({"content": [{"type": "text", "text": "1"}], "stop_reason": "end_turn", "usage": usage})

    name = "anthropic/claude-sonnet-4-5"
    brief = joined(await answered(message(ephemeral_5m_input_tokens=80), name)).usage.cost_usd
    long = joined(await answered(message(ephemeral_1h_input_tokens=80), name)).usage.cost_usd

    assert brief == pytest.approx((6 * 3 + 80 * 3.75 + 4 * 15) / 1e6)
    assert long == pytest.approx((6 * 3 + 80 * 6 + 4 * 15) / 1e6)


@pytest.mark.parametrize(("said_last", "n_input"), [(612, 612), (0, 60_385)])
async def test_the_last_count_of_anthropic_stands_unless_nothing_was_counted(said_last: int, n_input: int) -> None:
    last = {"input_tokens": said_last, "output_tokens": 4}

    answer = await answered(
        named_events(
            {"type": "message_start", "message": {"usage": {"input_tokens": 60_385, "output_tokens": 1}}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last},
            {"type": "message_stop"},
        ),
        "anthropic/mock",
    )

    assert joined(answer).usage.input_tokens == n_input


async def test_the_cost_that_openrouter_tells_is_the_cost() -> None:
    assert (await usage_of(OPENROUTER, "openrouter/anthropic/claude-sonnet-4.6")).cost_usd == 0.000837


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost_in_usd_ticks": 37756000}, 0.0037756),
        ({"cost": 0.95, "is_byok": True, "cost_details": {"upstream_inference_cost": 19}}, 19.95),
        ({"cost": 0.95, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.95}}, 0.95),
        ({"cost": {"input_tokens_cost": 0.001, "output_tokens_cost": 0.002, "total_cost": 0.008}}, 0.008),
        ({"cost": {"usd": 0.013, "hypercredits": 0.26}}, 0.013),
        ({"estimated_cost": 2.4e-06}, 2.4e-06),
        ({"cost": True}, None),
        ({"cost": -1}, None),
        ({"cost": float("nan")}, None),
        ({"cost": "0.5"}, None),
        ({}, None),
    ],
)
def test_a_told_cost_is_read_in_each_form(usage: dict[str, Any], cost: float | None) -> None:
    assert told_cost_usd(usage) == (None if cost is None else pytest.approx(cost))


def test_a_told_cost_stands_above_the_table() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 10}

    assert counted_usage(usage, PRICED).cost_usd == 20
    assert counted_usage({**usage, "cost": 0.5}, PRICED).cost_usd == 0.5


def test_a_gateway_that_tells_no_cost_but_0_does_not_make_a_priced_model_free() -> None:
    assert counted_usage({"prompt_tokens": 10, "completion_tokens": 10, "cost": 0}, PRICED).cost_usd == 20


@pytest.mark.parametrize(
    ("provider", "has_price"), [("openrouter", True), ("xai", True), ("deepinfra", True), ("nvidia_nim", False)]
)
async def test_a_provider_that_tells_costs_needs_no_known_price(provider: str, has_price: bool) -> None:
    known = await PriceTable().look_up(f"{provider}/newest", provider, "newest", {})

    assert known.facts.has_price == has_price


async def test_the_usage_of_an_answer_that_is_not_streamed_counts() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}

    usage = joined(await answered(whole({"choices": [choice], "usage": XAI}), "xai/grok-4-fast")).usage

    assert (usage.output_tokens, usage.cost_usd) == (204, pytest.approx(0.00016545))
