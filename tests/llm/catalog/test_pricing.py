"""Prices and limits, from litellm's table and the user's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.model import ModelFacts
from pygent_ls.llm.catalog.known_model import KnownModel, OwnFacts, Rates, known_model
from pygent_ls.llm.catalog.pricing import PriceTable
from pygent_ls.llm.litellm.loader import LitellmLoader


async def test_a_known_model_has_price_window_and_abilities() -> None:
    known = await PriceTable().look_up("openai/gpt-4o", "openai", "gpt-4o", {})

    assert known.facts == ModelFacts(
        context_limit=128_000, max_output_tokens=16_384, has_price=True, formats_output=True
    )
    usage = known.counted(n_input=1000, n_output=100, cache_read=600)
    # 400 at $2.50, 600 cached at $1.25, 100 at $10 a million
    assert usage.cost_usd == pytest.approx((400 * 2.5 + 600 * 1.25 + 100 * 10) / 1e6)
    assert (usage.context_tokens, usage.context_limit) == (1100, 128_000)


async def test_what_is_written_to_the_cache_has_a_price_of_its_own() -> None:
    known = await PriceTable().look_up("c", "anthropic", "claude-sonnet-4-5", {})

    usage = known.counted(n_input=1000, n_output=0, cache_read=300, cache_write=500)
    assert usage.cost_usd == pytest.approx((200 * 3 + 300 * 0.3 + 500 * 3.75) / 1e6)


async def test_what_is_kept_for_an_hour_costs_more() -> None:
    known = await PriceTable().look_up("c", "anthropic", "claude-sonnet-4-5", {})

    usage = known.counted(n_input=1000, n_output=0, cache_write=500, cache_write_1h=200)
    assert usage.cost_usd == pytest.approx((500 * 3 + 300 * 3.75 + 200 * 6) / 1e6)


@pytest.mark.parametrize(("provider", "model"), [("openai", "nobody"), ("hosted_vllm", "gpt-4o"), ("groq", "gpt-4o")])
async def test_the_cost_of_an_unknown_model_is_unknown_and_not_nothing(provider: str, model: str) -> None:
    known = await PriceTable().look_up(f"{provider}/{model}", provider, model, {})

    assert known == KnownModel()
    assert known.counted(n_input=10, n_output=10).cost_usd is None
    assert not known.facts.has_price


async def test_a_local_model_of_the_table_costs_nothing() -> None:
    known = await PriceTable().look_up("o", "ollama_chat", "llama3.1", {})

    assert known.counted(n_input=10, n_output=10).cost_usd == 0.0


@pytest.mark.parametrize("name", ["openai/my-model", "litellm/openai/my-model", "my-model"])
async def test_ones_own_prices_count_under_any_of_the_models_names(name: str) -> None:
    own = {
        "openai/my-model" if "/" in name else "my-model": OwnFacts(
            input_usd_per_mtok=1.0, output_usd_per_mtok=5.0, context_limit=32_000, max_output_tokens=900
        )
    }

    known = await PriceTable().look_up(name, "openai", "my-model", own)

    assert known.facts == ModelFacts(context_limit=32_000, max_output_tokens=900, has_price=True)
    assert known.counted(n_input=1000, n_output=100, cache_read=500).cost_usd == pytest.approx(0.0015)


async def test_ones_own_facts_stand_above_the_tables_where_they_are_given() -> None:
    own = {"gpt-4o": OwnFacts(context_limit=1000)}

    known = await PriceTable().look_up("gpt-4o", "openai", "gpt-4o", own)

    assert (known.context_limit, known.max_output_tokens, len(known.rates)) == (1000, 16_384, 1)


@pytest.mark.parametrize(
    "entry",
    [
        {
            "input_cost_per_token": 1.0,
            "output_cost_per_token": 2.0,
            "input_cost_per_token_above_200k_tokens": 3.0,
            "output_cost_per_token_above_200k_tokens": 4.0,
            "input_cost_per_token_above_200k_tokens_batches": 9.0,
        },
        {
            "tiered_pricing": [
                {"input_cost_per_token": 3.0, "output_cost_per_token": 4.0, "range": [200_000, 1e6]},
                {"input_cost_per_token": 1.0, "output_cost_per_token": 2.0, "range": [0, 200_000.0]},
            ]
        },
    ],
    ids=["suffixes", "ranges"],
)
def test_a_long_request_costs_its_tier_for_every_token(entry: dict[str, object]) -> None:
    known = known_model(entry)

    assert known.counted(n_input=200_000, n_output=1).cost_usd == 200_002
    assert known.counted(n_input=200_001, n_output=1).cost_usd == 600_007


@pytest.mark.parametrize("number", [float("inf"), float("nan"), -1, True, "1", None])
def test_a_number_that_is_none_is_not_known(number: object) -> None:
    names = ("max_input_tokens", "max_output_tokens", "input_cost_per_token", "output_cost_per_token")
    entry: dict[str, object] = dict.fromkeys(names, number)
    tier = {"input_cost_per_token": 1.0, "output_cost_per_token": 2.0, "range": [number, number]}

    assert known_model(entry) == known_model({})
    assert known_model({**entry, f"input_cost_per_token_above_{'9' * 5_000}k_tokens": 1}) == known_model({})
    assert known_model({"tiered_pricing": [tier]}) == known_model({})
    assert known_model({"tiered_pricing": [number, "a range"]}) == known_model({})


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_cost_is_never_below_nothing(n_input: int, n_output: int, read: int, write: int) -> None:
    known = KnownModel(rates=(Rates(input=3.0, output=5.0, cache_read=1.0, cache_write=4.0),))

    cost = known.counted(n_input=n_input, n_output=n_output, cache_read=read, cache_write=write).cost_usd
    assert cost is not None
    assert cost >= 0


@pytest.mark.parametrize("table", ["", "{", "[]", '{"m": 3}', '{"m": {"litellm_provider"', '{"m": {}}'])
async def test_a_table_that_cannot_be_read_knows_nothing(tmp_path: Path, table: str) -> None:
    file = tmp_path / "table.json"
    file.write_text(table)
    prices = PriceTable(file)

    assert await prices.look_up("openai/m", "openai", "m", {}) == KnownModel()
    assert await prices.provider_of("m") == ""
    assert await PriceTable(tmp_path / "none").chat_models(["openai"]) == {"openai": []}


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.integers(1, 9), min_size=1, max_size=5), st.booleans())
def test_each_entry_is_found_by_its_name_however_the_table_is_written(table: dict[str, int], spaced: bool) -> None:
    entries = {name: {"litellm_provider": "p", "max_input_tokens": value} for name, value in table.items()}
    raw = json.dumps({"comment": list(table), **entries}, indent=2 if spaced else None)

    prices = _Written(raw.encode())
    assert {name: prices.entry(name)["max_input_tokens"] for name in table} == table


class _Written(PriceTable):
    """A table that stands nowhere on the disk."""

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        self._raw = raw

    def _read(self) -> bytes:
        return self._raw

    def entry(self, name: str) -> dict[str, int]:
        return dict(self._find(name)[0])


async def test_the_table_is_read_without_importing_litellm(loader: LitellmLoader) -> None:
    await loader.wait()
    assert "litellm" in sys.modules
    table = loader.litellm.model_cost

    for name in ("gpt-4o", "claude-sonnet-4-5", "deepseek/deepseek-chat", "groq/openai/gpt-oss-120b"):
        known = known_model(table[name])
        provider = table[name]["litellm_provider"]
        assert await PriceTable().look_up(name, provider, name.removeprefix(f"{provider}/"), {}) == known
