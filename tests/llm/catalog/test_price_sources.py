"""Which source a price was taken from, and the models that only our own table has."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from pygent_ls.llm.catalog.builtin_models import OWN_MODELS
from pygent_ls.llm.catalog.known_model import KnownModel, OwnFacts, Rates
from pygent_ls.llm.catalog.pricing import PriceTable

LITELLM = f"litellm {version('litellm')}"


async def found(provider: str, bare: str, **own: OwnFacts) -> KnownModel:
    return await PriceTable().look_up(f"{provider}/{bare}", provider, bare, own)


async def test_each_price_names_its_source() -> None:
    own = OwnFacts(input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)

    assert (await found("openai", "gpt-4o")).price_from == LITELLM
    assert (await PriceTable().look_up("m", "openai", "gpt-4o", {"m": own})).price_from == "your settings"
    assert (await found("zai", "glm-5-turbo")).price_from == "pygent-ls table, models.dev, 2026-07-01"
    assert (await found("openai", "nobody")).price_from == ""
    assert (await found("openrouter", "nobody")).price_from == "the provider reports it with each answer"
    assert (await found("xai", "grok-4.7")).price_from == (
        f"the provider reports it with each answer; estimated from {LITELLM}"
    )


async def test_a_window_of_ones_own_leaves_the_price_and_its_source() -> None:
    known = await PriceTable().look_up("m", "openai", "gpt-4o", {"m": OwnFacts(context_limit=5)})

    assert (known.context_limit, known.price_from) == (5, LITELLM)


async def test_a_price_of_the_provider_stands_above_the_table() -> None:
    listed = KnownModel(rates=(Rates(input=1, output=2, cache_read=1, cache_write=1),), source="its own list")

    known = await PriceTable().look_up("openai/gpt-4o", "openai", "gpt-4o", {}, listed)

    assert (known.rates, known.price_from) == (listed.rates, "its own list")
    assert known.context_limit == 128_000, "what the provider does not say is the table's"


@pytest.mark.parametrize("name", OWN_MODELS)
async def test_an_entry_of_our_own_is_whole_and_still_needed(name: str) -> None:
    provider, _, bare = name.partition("/")
    known = await found(provider, bare)

    assert known.rates[0].input < known.rates[0].output
    assert known.rates[0].cache_read < known.rates[0].input
    assert known.context_limit
    assert known.max_output_tokens
    assert known.source.startswith("pygent-ls table, "), "litellm knows it now: take the entry out"


async def test_litellms_entry_is_used_as_soon_as_there_is_one(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    table.write_text(
        '{"zai/glm-5-turbo": {"litellm_provider": "zai", "input_cost_per_token": 1, "output_cost_per_token": 2}}'
    )

    known = await PriceTable(table).look_up("zai/glm-5-turbo", "zai", "glm-5-turbo", {})

    assert (known.rates[0].input, known.source) == (1, LITELLM)
