"""Conversion of a request to chat completions. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.ports.model import Effort, ModelRequest
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.effort import is_reasoning_name, nearest, wanted_effort
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.message_rules import MessageRules, chat_family, rules_of, signs_calls
from pygent_ls.llm.openai.chat_format import chat_messages, chat_tools, mark_for_cache, named_schema

_NO_TOOLS_WITH_EFFORT = re.compile(r"gpt-(5\.[4-9]|[6-9])")
"""OpenAI models that refuse function tools in chat completions unless the effort is `none` (litellm 1.106.2,
`responses_api_bridge_check`)."""


def chat_request(request: ModelRequest, target: NativeTarget, known: KnownModel, learned: Learned) -> dict[str, Any]:
    """Return the request body, without what the model refused before and with what it required."""
    optional = _optional(request, target, known, learned)
    rules = _rules(target, learned)
    thinks = _thinks(optional, known)
    messages = chat_messages(request.system, request.messages, rules, thinks=thinks, reuse=request.reuse)
    if _takes_marks(target) and "cache_control" not in learned.left_out:
        mark_for_cache(messages)
    body: dict[str, Any] = {"model": target.model, "messages": messages, "stream": True}
    if request.tools:
        body["tools"] = chat_tools(request.tools)
    if request.output_schema and "response_format" not in learned.left_out:
        body["response_format"] = {"type": "json_schema", "json_schema": named_schema(request.output_schema)}
    return body | optional


def adjustable(body: Mapping[str, Any], target: NativeTarget) -> Mapping[str, Any]:
    """Return the parts of a body that may be left out or changed if the model refuses them."""
    names = ("temperature", "max_tokens", "max_completion_tokens", "stream_options", "reasoning", "thinking")
    more = ("prompt_cache_key", "reasoning_effort", "response_format")
    sent = {name: body[name] for name in (*names, *more) if name in body}
    messages: list[Mapping[str, Any]] = body["messages"]
    if any(key.startswith(("reasoning", "thinking")) for message in messages for key in message):
        sent["thinking_back"] = True
    if _takes_marks(target):
        sent["cache_control"] = True
    return sent


def _rules(target: NativeTarget, learned: Learned) -> MessageRules:
    provider = target.provider.name
    rules = rules_of(chat_family(provider, target.model))
    if learned.wants_signatures or (provider in ("openrouter", "openai") and signs_calls(target.model)):
        rules = replace(rules, unsigned_calls="reasoning_details" if provider == "openrouter" else "extra_content")
    if learned.wants_reasoning:
        return replace(rules, reasoning_field="reasoning_content", needs_reasoning=True)
    if "thinking_back" in learned.left_out:
        return replace(rules, reasoning_field="", needs_reasoning=False, takes_data=False)
    return rules


def _thinks(optional: Mapping[str, Any], known: KnownModel) -> bool:
    """Whether the answer may include reasoning: it is not disabled, and the model is not known to lack it."""
    return known.thinks is not False and optional.get("thinking", {}).get("type") != "disabled"


def _optional(request: ModelRequest, target: NativeTarget, known: KnownModel, learned: Learned) -> dict[str, Any]:
    habits = target.provider.habits
    wanted: dict[str, Any] = {"stream_options": {"include_usage": True}}
    is_default = target.is_own_address and request.temperature == habits.own_temperature
    reasons = wanted_effort(request) not in (None, "none")  # such a request must not set a temperature
    if takes_temperature(known, target.model) and not is_default and not (reasons and known.thinks is not False):
        wanted["temperature"] = request.temperature
    if habits.caches_by_key and target.is_own_address and request.cache_key:
        wanted["prompt_cache_key"] = request.cache_key
    wanted |= _thinking(request, target, known, learned)
    kept = {name: value for name, value in wanted.items() if name not in learned.left_out}
    return kept | _most_tokens(request, target, known, learned)


def takes_temperature(known: KnownModel, model: str) -> bool:
    """Whether a temperature is sent: reasoning models refuse or ignore it."""
    reasons = is_reasoning_name(model) if known.thinks is None else known.thinks
    return known.takes_temperature and not reasons


def _most_tokens(request: ModelRequest, target: NativeTarget, known: KnownModel, learned: Learned) -> dict[str, int]:
    """Return the output limit under the name that the model accepts; nothing if it accepts neither."""
    most = min(request.max_output_tokens, known.max_output_tokens or request.max_output_tokens)
    first = target.provider.habits.max_tokens if target.is_own_address else "max_tokens"
    second = "max_completion_tokens" if first == "max_tokens" else "max_tokens"
    for name in (first, second):
        limit = learned.left_out.get(name)
        if limit is None or limit > 0:
            return {name: min(most, limit) if limit else most}
    return {}


def _thinking(request: ModelRequest, target: NativeTarget, known: KnownModel, learned: Learned) -> dict[str, Any]:
    """Return the reasoning parameters in the provider's form; nothing if the choice is left to the provider."""
    if known.thinks is False:
        return {}
    effort = wanted_effort(request)
    levels = learned.efforts or known.efforts or target.provider.habits.efforts or None
    if _takes_no_effort(request, target, known, learned):
        return {"reasoning_effort": "none"}
    match target.provider.habits.thinking:
        case "switch":
            return _switched(effort or "none", known, levels)
        case "budget" if request.effort is None and effort is not None:
            return {"reasoning": {"max_tokens": request.max_thinking_tokens}}
        case "budget":
            return {"reasoning": {"effort": nearest(effort, levels)}} if effort else {}
        case "effort":
            level = nearest(effort, levels) if effort else None
            return {"reasoning_effort": level} if level else {}


def _switched(effort: Effort, known: KnownModel, levels: Collection[str] | None) -> dict[str, Any]:
    """Return the parameters for models that think by default; `none` disables it if the model accepts that."""
    if known.thinks_always or (known.efforts is not None and "none" not in known.efforts):
        level = nearest(effort, levels) if levels and effort != "none" else None
        return {"reasoning_effort": level} if level else {}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    level = nearest(effort, levels) if levels else None
    return {"thinking": {"type": "enabled"}} | ({"reasoning_effort": level} if level else {})


def _takes_no_effort(request: ModelRequest, target: NativeTarget, known: KnownModel, learned: Learned) -> bool:
    """Whether tools are refused unless the effort is `none`, which the model accepts."""
    if learned.efforts is not None:
        return learned.efforts == ("none",)
    by_rule = target.provider.name == "openai" and bool(_NO_TOOLS_WITH_EFFORT.match(target.model))
    return by_rule and bool(request.tools) and (known.efforts is None or "none" in known.efforts)


def _takes_marks(target: NativeTarget) -> bool:
    """Whether cache marks are sent: OpenRouter passes them on to Anthropic; others cache automatically."""
    return target.provider.name == "openrouter" and target.model.startswith("anthropic/")
