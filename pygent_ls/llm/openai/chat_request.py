"""A request as a provider that speaks chat completions takes it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pygent_ls.agent.model import ModelRequest
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.known_model import KnownModel
from pygent_ls.llm.openai.chat_format import ChatMessage, chat_messages, chat_tools, mark_for_cache
from pygent_ls.llm.providers import Habits

EFFORTS = ((4096, "low"), (16_384, "medium"))
"""The effort for a budget of up to so many tokens; above, `high`."""


def chat_request(
    request: ModelRequest, target: NativeTarget, known: KnownModel, refused: Mapping[str, int]
) -> dict[str, Any]:
    """The body, without what the model refused before."""
    back = target.provider.habits.thinking_back if "thinking_back" not in refused else ""
    messages = chat_messages(request.system, request.messages, thinking_field=back)
    _rename_ids(messages, target)
    if _takes_marks(target) and "cache_control" not in refused:
        mark_for_cache(messages)
    body: dict[str, Any] = {"model": target.model, "messages": messages, "stream": True}
    if request.tools:
        body["tools"] = chat_tools(request.tools)
    body |= _optional(request, target, known, refused)
    return body


def adjustable(body: Mapping[str, Any], target: NativeTarget) -> Mapping[str, Any]:
    """What of a body may be left out where the model refuses it."""
    names = ("temperature", "max_tokens", "max_completion_tokens", "stream_options", "reasoning_effort", "reasoning")
    sent = {name: body[name] for name in (*names, "thinking") if name in body}
    if target.provider.habits.thinking_back:
        sent["thinking_back"] = True
    if _takes_marks(target):
        sent["cache_control"] = True
    return sent


def _optional(
    request: ModelRequest, target: NativeTarget, known: KnownModel, refused: Mapping[str, int]
) -> dict[str, Any]:
    habits = target.provider.habits
    wanted: dict[str, Any] = {"stream_options": {"include_usage": True}}
    is_default = target.is_own_address and request.temperature == habits.own_temperature
    if known.takes_temperature and not is_default:
        wanted["temperature"] = request.temperature
    if request.max_thinking_tokens > 0 and known.thinks is not False:
        wanted |= _thinking(request.max_thinking_tokens, target)
    kept = {name: value for name, value in wanted.items() if name not in refused}
    return kept | _most_tokens(request, target, known, refused)


def _most_tokens(
    request: ModelRequest, target: NativeTarget, known: KnownModel, refused: Mapping[str, int]
) -> dict[str, int]:
    """The limit of the answer, under the name that the model takes; nothing where it takes neither."""
    most = min(request.max_output_tokens, known.max_output_tokens or request.max_output_tokens)
    first = target.provider.habits.max_tokens if target.is_own_address else "max_tokens"
    second = "max_completion_tokens" if first == "max_tokens" else "max_tokens"
    for name in (first, second):
        limit = refused.get(name)
        if limit is None or limit > 0:
            return {name: min(most, limit) if limit else most}
    return {}


def _thinking(n_tokens: int, target: NativeTarget) -> dict[str, Any]:
    match target.provider.habits.thinking:
        case "budget":
            return {"reasoning": {"max_tokens": n_tokens}}
        case "switch":
            return {"thinking": {"type": "enabled"}}
        case "effort":
            return {"reasoning_effort": effort(n_tokens)}


def effort(n_tokens: int) -> str:
    """The word for a budget, where a model takes no number."""
    return next((word for most, word in EFFORTS if n_tokens <= most), "high")


def _takes_marks(target: NativeTarget) -> bool:
    """OpenRouter hands the marks on to Anthropic; others cache without being told."""
    return target.provider.name == "openrouter" and target.model.startswith("anthropic/")


def _rename_ids(messages: list[ChatMessage], target: NativeTarget) -> None:
    """Give calls and their results ids that the provider takes."""
    habits = target.provider.habits
    if not habits.id_chars and not (habits.max_id_chars and target.is_own_address):
        return
    for message in messages:
        if "tool_call_id" in message:
            message["tool_call_id"] = _fitting(message["tool_call_id"], habits)
        for call in message.get("tool_calls", ()):
            call["id"] = _fitting(call["id"], habits)


def _fitting(call_id: str, habits: Habits) -> str:
    n_chars = habits.id_chars
    fits = len(call_id) == n_chars and call_id.isascii() and call_id.isalnum()
    if fits or (not n_chars and len(call_id) <= habits.max_id_chars):
        return call_id
    return hashlib.sha256(call_id.encode()).hexdigest()[: n_chars or habits.max_id_chars]
