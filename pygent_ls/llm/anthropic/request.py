"""Conversion of a request to the format of Anthropic's Messages API. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pygent_ls.agent.json_fields import obj
from pygent_ls.agent.messages import (
    ImageBlock,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from pygent_ls.agent.ports.model import ModelRequest, ToolDefinition
from pygent_ls.llm.anthropic import web_search
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.conversions import Conversion, converted
from pygent_ls.llm.effort import nearest, thinking_budget, wanted_effort
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.message_rules import NO_REASONING, RULES
from pygent_ls.llm.openai.chat_format import NO_OUTPUT, function_name, parameters, utf8

OWN_TEMPERATURE = 1.0
"""The API's default, which is not sent: newer models reject any explicit temperature. Also the maximum."""

LEAST_BUDGET = 1024
"""Minimum thinking budget that the API accepts, in tokens."""

_EFFORTS = ("low", "medium", "high")
"""Efforts of models with adaptive thinking, if the table lists none."""

LEFT_OUT = "(The beginning of the conversation is left out.)"

_RULES = RULES["anthropic"]

_THOUGHTS = ("thinking", "redacted_thinking")

_THINKING_NAMES = {"enabled": "thinking", "adaptive": "adaptive_thinking", "disabled": "disabled_thinking"}
"""Types of thinking and their names in `refusals.py`."""

Part = dict[str, Any]


def messages_request(
    request: ModelRequest, model: str, known: KnownModel, learned: Learned, cache_ttl: str = ""
) -> dict[str, Any]:
    """Return the request body, without what the model refused before; an empty `cache_ttl` means five minutes."""
    refused = learned.left_out
    searches = request.searches_web and "web_search" not in refused
    messages = anthropic_messages(
        request.messages,
        thinking="thinking_back" not in refused,
        unsealed="claude" not in model,
        searches=searches,
        reuse=request.reuse,
    )
    if learned.wants_reasoning:
        _think_before_calls(messages)
    tools = [*anthropic_tools(request.tools), *([dict(web_search.TOOL)] if searches else [])]
    body: dict[str, Any] = {"model": model, "messages": messages, "stream": True}
    if request.system.strip():
        body["system"] = [{"type": "text", "text": utf8(request.system)}]
    if not tools and (names := _called_names(messages)):  # the API requires declarations of all tools called before
        tools = anthropic_tools([ToolDefinition(name=name, description="", schema={}) for name in names])
        body["tool_choice"] = {"type": "none"}
    if tools:
        body["tools"] = tools
    body |= _bounds(request, messages, known, learned)
    if learned.drops_thoughts and body.get("thinking", {}).get("type") != "disabled" and "block_binding" not in refused:
        thinking = body.get("thinking") or {"type": "adaptive", "display": "summarized"}
        body["thinking"] = {**thinking, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    if not _thinks(body) and "idle_thoughts" in refused:
        _leave_out_last_thoughts(messages)
    if request.output_schema and "response_format" not in refused:
        schema = {"type": "json_schema", "schema": dict(request.output_schema)}
        body["output_config"] = {**body.get("output_config", {}), "format": schema}
    if "cache_control" not in refused:
        _mark_for_cache(body, "" if "cache_ttl" in refused else cache_ttl)
    return body


def _thinks(body: Mapping[str, Any]) -> bool:
    return body.get("thinking", {}).get("type") in ("enabled", "adaptive")


def adjustable(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parts of a body that may be left out if the model refuses them."""
    sent: dict[str, Any] = {name: body[name] for name in ("temperature", "max_tokens") if name in body}
    if "thinking" in body:
        sent[_THINKING_NAMES[body["thinking"]["type"]]] = True
    if "block_binding" in body.get("thinking", {}):
        sent["block_binding"] = True
    if "effort" in body.get("output_config", {}):
        sent["effort"] = body["output_config"]["effort"]
    if any(part["type"] in _THOUGHTS for each in body["messages"] for part in each["content"]):
        sent["thinking_back"] = True
        if not _thinks(body):
            sent["idle_thoughts"] = True
    if "format" in body.get("output_config", {}):
        sent["response_format"] = True
    if any(tool.get("type") == web_search.TOOL["type"] for tool in body.get("tools", ())):
        sent["web_search"] = True
    return {**sent, "cache_ttl": True, "cache_control": True}


def anthropic_tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """Return the tools in the format of the API."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": parameters(tool),
        }
        for tool in tools
    ]


def anthropic_messages(
    messages: Sequence[Message],
    *,
    thinking: bool,
    unsealed: bool = False,
    searches: bool = False,
    reuse: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the conversation with alternating roles, starting with the user; empty messages are left out.

    `unsealed` also sends thinking without a signature: models of other vendors behind this API sign none. `searches`
    also sends the provider's web searches. With `reuse`, the parts belong to several requests and must not be changed.
    """

    def add(message: Message, done: Conversion[tuple[Role, tuple[Part, ...]]]) -> None:
        done.ids.update((call.id, _RULES.sent_id(call)) for call in message.tool_calls)
        parts = _parts(message, done.ids, thinking=thinking, unsealed=unsealed, searches=searches)
        done.rows.append((message.role, tuple(parts)))

    kept = converted(messages, add, reuse, ("messages", thinking, unsealed, searches))
    rows: list[tuple[Role, list[Part]]] = [(role, list(parts)) for role, parts in kept]
    web_search.drop_unpaired(rows)
    given: list[dict[str, Any]] = []
    for role, parts in rows:
        while parts and role == "assistant" and parts[-1]["type"] in _THOUGHTS:
            parts.pop()  # left by an answer that was cut off: no message may end with thinking
        if not parts:
            continue
        if given and given[-1]["role"] == role:
            given[-1]["content"] += parts
        else:
            given.append({"role": role, "content": parts})
    for each in given:  # tool results must precede the rest of a user message
        each["content"].sort(key=_is_no_result)
    if given and given[0]["role"] != "user":
        given.insert(0, {"role": "user", "content": [{"type": "text", "text": LEFT_OUT}]})
    return given


def _think_before_calls(messages: list[dict[str, Any]]) -> None:
    """Put placeholder thinking before calls that have none, such as another model's; DeepSeek requires it here."""
    for message in messages:
        kinds = {part["type"] for part in message["content"]}
        if "tool_use" in kinds and not kinds.intersection(_THOUGHTS):
            message["content"].insert(0, {"type": "thinking", "thinking": NO_REASONING, "signature": ""})


def _leave_out_last_thoughts(messages: list[dict[str, Any]]) -> None:
    """Remove the thinking from an answer whose tools have just run: some models refuse it when thinking is off."""
    if len(messages) > 1 and _has_results(messages[-1]):
        answer = messages[-2]
        answer["content"] = [part for part in answer["content"] if part["type"] not in _THOUGHTS]


def _is_no_result(part: Part) -> bool:
    """Return a sort key that puts tool results first and leaves answers, which have none, unchanged."""
    return part["type"] != "tool_result"


def _parts(
    message: Message, ids: Mapping[str, str], *, thinking: bool, unsealed: bool, searches: bool
) -> Iterator[Part]:
    blocks = message.blocks
    for place, block in enumerate(blocks):
        match block:
            case TextBlock(text=text) if text.strip():
                yield {"type": "text", "text": utf8(text)} | (_cited(blocks[place + 1 :]) if searches else {})
            case ImageBlock(mime_type=mime_type, data=data):
                yield {"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}}
            case ThinkingBlock(provider_data=data) if data and (sent := obj(data.get(web_search.BLOCK))):
                if searches:
                    yield dict(sent)
            case ThinkingBlock() if thinking:
                yield from _thought(block, unsealed=unsealed)
            case ToolUseBlock(id=call_id, name=name, input=given):
                yield {"type": "tool_use", "id": ids[call_id], "name": function_name(name), "input": _utf8_in(given)}
            case ToolResultBlock(tool_use_id=call_id, content=content, is_error=is_error):
                sent_id = ids.get(call_id) or _RULES.fitting_id(call_id)
                result = {"type": "tool_result", "tool_use_id": sent_id, "content": utf8(content) or NO_OUTPUT}
                yield {**result, "is_error": True} if is_error else result
            case TextBlock() | ThinkingBlock():
                pass


def _thought(block: ThinkingBlock, *, unsealed: bool) -> Iterator[Part]:
    if block.redacted is not None:
        yield {"type": "redacted_thinking", "data": block.redacted}
    elif block.signature is not None:
        yield {"type": "thinking", "thinking": utf8(block.thinking), "signature": block.signature}
    elif unsealed and block.thinking.strip():
        yield {"type": "thinking", "thinking": utf8(block.thinking), "signature": ""}


def _cited(following: Sequence[object]) -> Part:
    """Return the citations of a text, which follow it."""
    match following:
        case [ThinkingBlock(provider_data={web_search.CITATIONS: [_, *_] as citations}), *_]:
            return {"citations": citations}
        case _:
            return {}


def _utf8_in(value: Any) -> Any:
    """Return the value with every text in it encodable as UTF-8."""
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, Mapping):
        return {utf8(str(key)): _utf8_in(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [_utf8_in(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _called_names(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    parts = (part for message in messages for part in message["content"])
    return list(dict.fromkeys(part["name"] for part in parts if part["type"] == "tool_use"))


def _bounds(
    request: ModelRequest, messages: Sequence[Mapping[str, Any]], known: KnownModel, learned: Learned
) -> dict[str, Any]:
    """Return the maximum number of output tokens, the thinking budget, and the temperature, which thinking excludes."""
    refused = learned.left_out
    most = min(filter(None, (known.max_output_tokens, refused.get("max_tokens"))), default=None)
    asked = request.max_output_tokens + thinking_budget(request)
    max_tokens = asked if most is None else min(asked, most)
    thinking = _thinking(request, messages, known, learned, max_tokens)
    bounds: dict[str, Any] = {"max_tokens": max_tokens, **thinking}
    may_tell = known.takes_temperature and "temperature" not in refused and not thinking
    if may_tell and request.temperature < OWN_TEMPERATURE:
        bounds["temperature"] = request.temperature
    return bounds


def _thinking(
    request: ModelRequest,
    messages: Sequence[Mapping[str, Any]],
    known: KnownModel,
    learned: Learned,
    max_tokens: int,
) -> dict[str, Any]:
    refused, effort = learned.left_out, wanted_effort(request)
    if effort == "none" and known.thinks_adaptively:
        return _least_thinking(known, learned)
    if effort in (None, "none") or known.thinks is False:
        return {}
    budget = min(max(thinking_budget(request), LEAST_BUDGET), max_tokens - 1)
    if not known.thinks_adaptively and "thinking" not in refused:
        if budget < LEAST_BUDGET or _acts_without_thought(messages):
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    if "adaptive_thinking" in refused:
        return {}
    adaptive = {"thinking": {"type": "adaptive", "display": "summarized"}}  # the API's default shows no thinking
    if "effort" in refused:
        return adaptive
    return adaptive | {"output_config": {"effort": nearest(effort, learned.efforts or known.efforts or _EFFORTS)}}


def _least_thinking(known: KnownModel, learned: Learned) -> dict[str, Any]:
    """Disable thinking, which newer models do by default, or reduce it to a minimum if it cannot be disabled."""
    if not known.thinks_always and "disabled_thinking" not in learned.left_out:
        return {"thinking": {"type": "disabled"}}
    return {} if "effort" in learned.left_out else {"output_config": {"effort": "low"}}


def _acts_without_thought(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether tools are running and the first answer after the user's last prompt has no thinking of this model.

    The API then accepts no budget until the tools are done. A model that thinks only before its first call keeps its
    budget.
    """
    if not messages or not _has_results(messages[-1]):
        return False
    first: Part = {}
    for message in reversed(messages):
        if message["role"] == "assistant":
            first = message["content"][0]
        elif not _has_results(message):
            break
    return bool(first) and first["type"] not in _THOUGHTS


def _has_results(message: Mapping[str, Any]) -> bool:
    return message["content"][0]["type"] == "tool_result"


def _mark_for_cache(body: dict[str, Any], ttl: str) -> None:
    """Set the four cache marks that the API accepts: after the tools, after the system prompt, and at the end of the
    last two user messages, so that the next request finds what this one cached."""
    ends: list[list[Part]] = [body[name] for name in ("tools", "system") if body.get(name)]
    ends += [message["content"] for message in body["messages"] if message["role"] == "user"][-2:]
    for parts in ends:
        parts[-1] = {**parts[-1], "cache_control": {"type": "ephemeral"} | ({"ttl": ttl} if ttl else {})}
