"""Token counts and costs, in all places where chat completions providers report them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pygent_ls.agent.json_fields import amount, number, obj
from pygent_ls.agent.messages import Usage
from pygent_ls.llm.catalog.known_model import KnownModel

TICKS_A_USD = 10**10
"""xAI bills in ticks (docs.x.ai/developers/cost-tracking)."""


def reported_usage(piece: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the usage object of a chunk or of a whole answer; empty if missing.

    Groq sends it in `x_groq`, and Moonshot in the choice.
    """
    choices = piece.get("choices")
    choice = obj(cast("list[object]", choices)[0]) if isinstance(choices, list) and choices else obj(None)
    found = (obj(each.get("usage")) for each in (piece, obj(piece.get("x_groq")), choice))
    return next(filter(None, found), obj(None))


def counted_usage(usage: Mapping[str, Any], known: KnownModel) -> Usage:
    """Return the usage of a call as reported in `usage`; its cost is reported too, or computed from known prices."""
    return known.counted(
        n_input=number(usage.get("prompt_tokens")),
        n_output=_n_output(usage),
        cache_read=_n_cache_read(usage),
        cache_write=_n_cache_write(usage),
        cost_usd=charged_usd(usage, known),
    )


def charged_usd(usage: Mapping[str, Any], known: KnownModel) -> float | None:
    """Return the reported cost if it is credible: gateways that do not bill report 0 for everything."""
    cost = told_cost_usd(usage)
    return None if cost == 0 and known.rates and not known.tells_cost else cost


def _n_output(usage: Mapping[str, Any]) -> int:
    """Return the completion tokens; xAI's count excludes reasoning, which its total includes."""
    completion = number(usage.get("completion_tokens"))
    details = obj(usage.get("completion_tokens_details"))
    reasoning = number(details.get("reasoning_tokens")) or number(usage.get("reasoning_tokens"))
    beyond = number(usage.get("total_tokens")) - number(usage.get("prompt_tokens")) - completion
    return completion + (reasoning if 0 < reasoning <= beyond else 0)


def _n_cache_read(usage: Mapping[str, Any]) -> int:
    """Return the cached tokens, as named by OpenAI, DeepSeek, Moonshot, Together, Mistral or Anthropic gateways."""
    for details in ("prompt_tokens_details", "prompt_token_details", "input_tokens_details"):
        if found := number(obj(usage.get(details)).get("cached_tokens")):
            return found
    names = ("prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens", "cache_read_input_tokens")
    return next(filter(None, (number(usage.get(name)) for name in names)), 0)


def _n_cache_write(usage: Mapping[str, Any]) -> int:
    details = obj(usage.get("prompt_tokens_details"))
    names = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
    found = (number(each.get(name)) for each in (details, usage) for name in names)
    return next(filter(None, found), 0)


def told_cost_usd(usage: Mapping[str, Any]) -> float | None:
    """Return the cost in dollars that the provider reports for the call; None if it reports none."""
    ticks = amount(usage.get("cost_in_usd_ticks"))
    if ticks is not None:
        return ticks / TICKS_A_USD
    cost = usage.get("cost")
    if isinstance(cost, dict):  # Perplexity; Hyper
        parts = obj(usage.get("cost"))
        told = (amount(parts.get(name)) for name in ("total_cost", "usd"))
        return next((each for each in told if each is not None), None)
    charged = amount(cost)
    if charged is None:
        return amount(usage.get("estimated_cost"))  # DeepInfra
    if usage.get("is_byok") is True:  # OpenRouter charges a fee, and the upstream provider bills the user for the rest
        return charged + (amount(obj(usage.get("cost_details")).get("upstream_inference_cost")) or 0.0)
    return charged
