"""Facts about a model that are known without calling it, and the cost of a call. Pure."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.json_fields import objects
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.model import EFFORTS, Effort, ModelFacts

LISTS_ABILITIES = frozenset({"openai", "anthropic", "gemini", "mistral", "xai", "deepseek", "groq", "ollama"})
"""Providers whose abilities litellm's table lists completely: what it leaves out is not supported."""


OWN = "your settings"
"""Source of prices that the user set."""

MAX_NUMBER = 10**15
"""Maximum number of a table; a larger one counts as missing."""

SEARCH_USD = 0.01
"""Price of a provider's web search in dollars, if litellm's table lists none: that of Anthropic and of OpenAI's
reasoning models (platform.claude.com/docs/en/about-claude/pricing, platform.openai.com/docs/pricing)."""


class OwnFacts(Struct, frozen=True, kw_only=True):
    """The user's facts about one model. Prices are dollars per million tokens; None keeps the table's value."""

    input_usd_per_mtok: float | None = None
    output_usd_per_mtok: float | None = None
    cache_read_usd_per_mtok: float | None = None
    cache_write_usd_per_mtok: float | None = None
    context_limit: int | None = None
    max_output_tokens: int | None = None
    effort: Effort | None = None


class Rates(Struct, frozen=True, kw_only=True):
    """Prices in dollars per token, for requests of more than `above_tokens` tokens."""

    above_tokens: int = 0
    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float | None = None
    """Price of one-hour cache writes; None if they cost the same as short ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """Facts about a model from a table and the user's settings; by default nothing is known."""

    rates: tuple[Rates, ...] = ()
    """Sorted by `above_tokens`; empty if the price is unknown."""
    context_limit: int | None = None
    max_output_tokens: int | None = None
    mode: str = ""
    """`chat`, `responses`, `embedding` …; empty if unknown."""
    has_native_tools: bool = True
    takes_images: bool = True
    takes_temperature: bool = True
    thinks: bool | None = None
    """Whether it can be asked to think; None if unknown."""
    thinks_adaptively: bool = False
    """Whether it chooses the amount of thinking itself, and takes an effort instead of a number of tokens."""
    thinks_always: bool = False
    """Whether its thinking cannot be disabled."""
    efforts: tuple[str, ...] | None = None
    """Efforts that it accepts, the lowest first; None if unknown."""
    effort: Effort | None = None
    """The user's default effort for this model."""
    caches_prompts: bool = False
    formats_output: bool = False
    """Whether its text can follow a JSON Schema while it is offered tools."""
    search_usd: float = SEARCH_USD
    """Price of one web search of the provider, in dollars."""
    tells_cost: bool = False
    """Whether the provider reports the cost of each call."""
    source: str = field(default="", compare=False)
    """Source of the price, as shown to the user; empty if unknown."""

    @property
    def facts(self) -> ModelFacts:
        """The facts in the form that the core takes."""
        return ModelFacts(
            context_limit=self.context_limit,
            max_output_tokens=self.max_output_tokens,
            has_price=bool(self.rates) or self.tells_cost,
            has_native_tools=self.has_native_tools,
            takes_images=self.takes_images,
            formats_output=self.formats_output,
        )

    @property
    def price_from(self) -> str:
        """Source of a call's cost, as shown to the user; empty if unknown."""
        if not self.tells_cost:
            return self.source
        return f"the provider reports it with each answer{f'; estimated from {self.source}' if self.source else ''}"

    def counted(
        self,
        *,
        n_input: int,
        n_output: int,
        cache_read: int = 0,
        cache_write: int = 0,
        cache_write_1h: int = 0,
        cost_usd: float | None = None,
    ) -> Usage:
        """Return the usage of one call; `n_input` counts everything that the model read, cached or not.

        `cache_write_1h` is the part of `cache_write` with a one-hour lifetime. `cost_usd` is the charge that the
        provider reports; None computes the cost from the known prices.
        """
        if cost_usd is None:
            cost_usd = self._cost(n_input, n_output, cache_read, cache_write)
            if cost_usd is not None:
                cost_usd += self._extra_1h(n_input, cache_write_1h)
        return Usage(
            input_tokens=n_input,
            output_tokens=n_output,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
            cost_usd=cost_usd,
            context_tokens=n_input + n_output,
            context_limit=self.context_limit,
        )

    def with_searches(self, usage: Usage, n_searches: int) -> Usage:
        """Return the usage with the price of the provider's web searches, if its cost was computed from prices."""
        if usage.cost_usd is None:
            return usage
        return replace(usage, cost_usd=usage.cost_usd + n_searches * self.search_usd)

    def _rates_for(self, n_input: int) -> Rates | None:
        """Return the rates of the highest tier reached, which apply to every token."""
        reached = (each for each in reversed(self.rates) if n_input > each.above_tokens or each is self.rates[0])
        return next(reached, None)

    def _cost(self, n_input: int, n_output: int, cache_read: int, cache_write: int) -> float | None:
        """Return the cost in dollars; None if the price is unknown."""
        rates = self._rates_for(n_input)
        if rates is None:
            return None
        fresh = max(n_input - cache_read - cache_write, 0)
        return (
            fresh * rates.input
            + cache_read * rates.cache_read
            + cache_write * rates.cache_write
            + n_output * rates.output
        )

    def _extra_1h(self, n_input: int, written: int) -> float:
        """Return the surcharge for caching these tokens for an hour."""
        rates = self._rates_for(n_input)
        if rates is None or rates.cache_write_1h is None:
            return 0.0
        return written * (rates.cache_write_1h - rates.cache_write)

    def updated(self, listed: KnownModel | None) -> KnownModel:
        """Return the model updated with the provider's own facts, which are newer than a table."""
        if listed is None:
            return self
        return dataclasses.replace(
            self,
            rates=listed.rates or self.rates,
            context_limit=listed.context_limit or self.context_limit,
            max_output_tokens=listed.max_output_tokens or self.max_output_tokens,
            has_native_tools=listed.has_native_tools,
            takes_images=listed.takes_images,
            takes_temperature=listed.takes_temperature,
            thinks=self.thinks if listed.thinks is None else listed.thinks,
            source=listed.source if listed.rates else self.source,
        )

    def under(self, own: OwnFacts | None) -> KnownModel:
        """Return the model with the user's facts, which take precedence."""
        if own is None:
            return self
        rates, source = self.rates, self.source
        if own.input_usd_per_mtok is not None and own.output_usd_per_mtok is not None:
            read, write = own.cache_read_usd_per_mtok, own.cache_write_usd_per_mtok
            rates = (
                Rates(
                    input=own.input_usd_per_mtok / 1e6,
                    output=own.output_usd_per_mtok / 1e6,
                    cache_read=(own.input_usd_per_mtok if read is None else read) / 1e6,
                    cache_write=(own.input_usd_per_mtok if write is None else write) / 1e6,
                ),
            )
            source = OWN
        return dataclasses.replace(
            self,
            rates=rates,
            source=source,
            context_limit=own.context_limit or self.context_limit,
            max_output_tokens=own.max_output_tokens or self.max_output_tokens,
            effort=own.effort or self.effort,
        )


def known_model(entry: Mapping[str, Any]) -> KnownModel:
    """Return the facts in an entry of litellm's table."""
    listed = str(entry.get("litellm_provider", "")) in LISTS_ABILITIES

    def can(ability: str) -> bool:
        return bool(entry.get(f"supports_{ability}", not listed))

    return KnownModel(
        rates=_rates(entry),
        context_limit=_whole(entry, "max_input_tokens"),
        max_output_tokens=_whole(entry, "max_output_tokens"),
        mode=str(entry.get("mode", "")),
        has_native_tools=can("function_calling"),
        takes_images=can("vision"),
        takes_temperature=entry.get("supports_sampling_params") is not False,
        thinks=bool(entry["supports_reasoning"]) if "supports_reasoning" in entry else (False if listed else None),
        thinks_adaptively=bool(entry.get("supports_adaptive_thinking")),
        thinks_always=bool(entry.get("thinking_always_on")),
        efforts=_efforts(entry),
        caches_prompts=bool(entry.get("supports_prompt_caching")),
        formats_output=_formats_output(entry),
        search_usd=_search_usd(entry),
    )


def _formats_output(entry: Mapping[str, Any]) -> bool:
    """Return whether a schema can be combined with tools.

    Other vendors are listed as supporting schemas too, but refuse one together with tools, or accept only
    `json_object`.
    """
    by_schema = entry.get("litellm_provider") in ("openai", "xai") and entry.get("supports_response_schema")
    return bool(by_schema or entry.get("supports_native_structured_output"))


def _efforts(entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the efforts that the table lists or allows one by one; then `low` to `high` count unless denied."""
    listed = entry.get("reasoning_effort_levels")
    if isinstance(listed, list):
        return tuple(str(each) for each in cast("list[object]", listed))
    said = {effort: entry.get(f"supports_{effort}_reasoning_effort") for effort in EFFORTS}
    if all(each is None for each in said.values()):
        return None
    usual = ("low", "medium", "high")
    return tuple(effort for effort, takes in said.items() if takes or (takes is None and effort in usual))


def _whole(entry: Mapping[str, Any], key: str) -> int | None:
    value = _finite(entry.get(key))
    return int(value) if value else None


def _rates(entry: Mapping[str, Any]) -> tuple[Rates, ...]:
    """Return the rates, which come in two forms: keys that end in `_above_200k_tokens`, or a list of ranges."""
    tiers = entry.get("tiered_pricing")
    if isinstance(tiers, list):
        ranges = (each for each in objects(cast("list[object]", tiers)) if _is_range(each.get("range")))
        found = [_rate(each, "", int(each["range"][0])) for each in ranges]
    else:
        base = _rate(entry, "", 0)
        found = [base, *(_rate(entry, suffix, above) for suffix, above in _tiers(entry))] if base else []
    return tuple(sorted((each for each in found if each), key=lambda each: each.above_tokens))


def _is_range(value: object) -> bool:
    return isinstance(value, list) and bool(value) and _finite(value[0]) is not None  # pyright: ignore[reportUnknownArgumentType]


def _tiers(entry: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for key in entry:
        found = re.fullmatch(r"input_cost_per_token(_above_(\d{1,9})k_tokens)", key)
        if found:
            yield found[1], int(found[2]) * 1000


def _rate(entry: Mapping[str, Any], suffix: str, above: int) -> Rates | None:
    price, output = _dollars(entry, "input_cost_per_token" + suffix), _dollars(entry, "output_cost_per_token" + suffix)
    if price is None or output is None:
        return None
    read = _dollars(entry, "cache_read_input_token_cost" + suffix)
    if read is None and not suffix:
        read = _dollars(entry, "input_cost_per_token_cache_hit")
    write = _dollars(entry, "cache_creation_input_token_cost" + suffix)
    write_1h = _dollars(entry, "cache_creation_input_token_cost_above_1hr" + suffix)
    return Rates(
        above_tokens=above,
        input=price,
        output=output,
        cache_read=price if read is None else read,
        cache_write=price if write is None else write,
        cache_write_1h=None if write is None else write_1h,
    )


def _search_usd(entry: Mapping[str, Any]) -> float:
    """Return the price of a search with the amount of context that a provider uses by default."""
    prices: object = entry.get("search_context_cost_per_query")
    if not isinstance(prices, dict):
        return SEARCH_USD
    listed = _dollars(cast("dict[str, Any]", prices), "search_context_size_medium")
    return SEARCH_USD if listed is None else listed


def _dollars(entry: Mapping[str, Any], key: str) -> float | None:
    value = _finite(entry.get(key))
    return None if value is None else float(value)


def _finite(value: object) -> int | float | None:
    """Return a number from 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= MAX_NUMBER else None
