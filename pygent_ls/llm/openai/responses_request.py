"""Conversion of a request to OpenAI's Responses API. Pure.

Nothing is stored at the provider: reasoning arrives encrypted and is sent back with the conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pygent_ls.agent.json_fields import obj
from pygent_ls.agent.messages import ImageBlock, Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.ports.model import ModelRequest, ToolDefinition
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.conversions import Conversion, converted
from pygent_ls.llm.effort import nearest, thinking_budget, wanted_effort
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.message_rules import COMMON
from pygent_ls.llm.openai.chat_format import NO_OUTPUT, function_name, named_schema, parameters, utf8
from pygent_ls.llm.openai.chat_request import takes_temperature

REASONING = "reasoning"
"""Key of a thinking block's provider data that holds the whole reasoning item."""

MESSAGE = "message"
"""Key of provider data that follows a text and holds the further fields of its output item."""

SEARCH = "web_search_call"
"""Key of provider data that holds a whole item of the provider's web search, and type of that item."""

SEARCH_TOOL: Mapping[str, Any] = {"type": "web_search"}
"""Declaration of the provider's web search (platform.openai.com/docs/guides/tools-web-search)."""

LEAST_OUTPUT = 16
"""Minimum output limit that the API accepts, in tokens."""

_ENCRYPTED = "reasoning.encrypted_content"

_SOURCES = "web_search_call.action.sources"

_NEEDS_RESPONSES = re.compile(r"gpt-(?:5|[6-9]|\d\d)(?!.*(?:chat|search))|.*codex|o\d-(?:pro|deep-research)")

Item = dict[str, Any]


def needs_responses(model: str) -> bool:
    """Whether OpenAI serves a model with tools, or with its reasoning, only through this API.

    Gateways put a vendor before the name.
    """
    return bool(_NEEDS_RESPONSES.match(model.rpartition("/")[2]))


def responses_request(
    request: ModelRequest, target: NativeTarget, known: KnownModel, learned: Learned
) -> dict[str, Any]:
    """Return the request body, without what the model refused before."""
    body: dict[str, Any] = {
        "model": target.model,
        "input": responses_input(
            request.messages, reasoning="thinking_back" not in learned.left_out, reuse=request.reuse
        ),
        "stream": True,
        "store": False,
    }
    if request.system.strip():
        body["instructions"] = utf8(request.system)
    searches = request.searches_web and "web_search" not in learned.left_out
    if request.tools or searches:
        body["tools"] = [*responses_tools(request.tools), *([dict(SEARCH_TOOL)] if searches else [])]
    if request.output_schema and "response_format" not in learned.left_out:
        body["text"] = {"format": {"type": "json_schema", **named_schema(request.output_schema)}}
    optional = _optional(request, target, known, learned)
    if searches and "include" not in learned.left_out:
        optional["include"] = [*optional.get("include", ()), _SOURCES]
    return body | optional


def adjustable(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parts of a body that may be left out or changed if the model refuses them."""
    names = ("temperature", "max_output_tokens", "prompt_cache_key", "include")
    sent = {name: body[name] for name in names if name in body}
    reasoning = body.get("reasoning", {})
    if "summary" in reasoning:
        sent["reasoning_summary"] = True
    if "effort" in reasoning:
        sent["reasoning_effort"] = reasoning["effort"]
    if "text" in body:
        sent["response_format"] = True
    if any(item.get("type") == "reasoning" for item in body["input"]):
        sent["thinking_back"] = True
    if SEARCH_TOOL in body.get("tools", ()):
        sent["web_search"] = True
    return sent


def responses_tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """Return the tools as functions; `strict` would require schemas in which every argument is required."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters(tool),
            "strict": False,
        }
        for tool in tools
    ]


def responses_input(messages: Sequence[Message], *, reasoning: bool, reuse: dict[str, Any] | None = None) -> list[Item]:
    """Return the conversation as items, without empty messages and without reasoning that nothing follows. With
    `reuse`, the items belong to several requests and must not be changed."""

    def add(message: Message, done: Conversion[Item]) -> None:
        done.ids.update((call.id, COMMON.sent_id(call)) for call in message.tool_calls)
        if message.role == "user":
            done.rows += _user(message, done.ids)
            return
        said = list(_assistant(message, done.ids, reasoning=reasoning))
        while said and said[-1]["type"] == "reasoning":
            said.pop()
        done.rows += said

    return converted(messages, add, reuse, ("responses", reasoning))


def _user(message: Message, ids: Mapping[str, str]) -> Iterator[Item]:
    """Yield tool results first, then what the user said."""
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        match block:
            case ToolResultBlock(tool_use_id=call_id, content=content):
                sent_id = ids.get(call_id) or COMMON.fitting_id(call_id)
                yield {"type": "function_call_output", "call_id": sent_id, "output": utf8(content) or NO_OUTPUT}
            case TextBlock(text=text) if text.strip():
                parts.append({"type": "input_text", "text": utf8(text)})
            case ImageBlock(mime_type=mime_type, data=data):
                url = f"data:{mime_type};base64,{data}"
                parts.append({"type": "input_image", "image_url": url, "detail": "auto"})
            case TextBlock() | ThinkingBlock() | ToolUseBlock():
                pass
    if parts:
        yield {"type": "message", "role": "user", "content": parts}


def _assistant(message: Message, ids: Mapping[str, str], *, reasoning: bool) -> Iterator[Item]:
    """Yield the items in order, without their ids: the provider would look them up, and has stored nothing."""
    blocks = message.blocks
    for place, block in enumerate(blocks):
        match block:
            case ThinkingBlock(provider_data={"reasoning": {"type": "reasoning", "encrypted_content": str()} as item}):
                if reasoning:
                    yield {name: value for name, value in item.items() if value is not None}
            case ThinkingBlock(provider_data={"web_search_call": {"type": "web_search_call"} as item}):
                if reasoning:  # the API refuses one without the other
                    yield _search(item)
            case TextBlock(text=text) if text.strip():
                yield {"type": "message", "role": "assistant", "content": utf8(text)} | _phase(blocks[place + 1 :])
            case ToolUseBlock(id=call_id, name=name, input=given):
                arguments = utf8(json.dumps(dict(given), ensure_ascii=False))
                call = {"type": "function_call", "call_id": ids[call_id], "name": function_name(name)}
                yield call | {"arguments": arguments}
            case TextBlock() | ThinkingBlock() | ImageBlock() | ToolResultBlock():
                pass


def _search(item: Mapping[str, Any]) -> Item:
    """Return a search without the sources that only answers have: the API's type of a request lists pages alone."""
    action = dict(obj(item.get("action")))
    if isinstance(action.get("sources"), list):
        action["sources"] = [each for each in action["sources"] if obj(each).get("type") == "url"]
    return {**item, "action": action}


def _phase(following: Sequence[object]) -> dict[str, Any]:
    """Return whether a text is commentary or the final answer, which newer models expect back."""
    match following:
        case [ThinkingBlock(provider_data={"message": {"phase": "commentary" | "final_answer" as phase}}), *_]:
            return {"phase": phase}
        case _:
            return {}


def _optional(request: ModelRequest, target: NativeTarget, known: KnownModel, learned: Learned) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if known.thinks is not False:
        wanted["include"] = [_ENCRYPTED]
        wanted |= _reasoning(request, known, learned)
    if takes_temperature(known, target.model):
        wanted["temperature"] = request.temperature
    if request.cache_key:
        wanted["prompt_cache_key"] = request.cache_key
    kept = {name: value for name, value in wanted.items() if name not in learned.left_out}
    return kept | _most_tokens(request, known, learned)


def _reasoning(request: ModelRequest, known: KnownModel, learned: Learned) -> dict[str, Any]:
    effort = wanted_effort(request)
    level = nearest(effort, learned.efforts or known.efforts) if effort else None
    asked: dict[str, Any] = {}
    if level and "reasoning_effort" not in learned.left_out:
        asked["effort"] = level
    if level != "none" and "reasoning_summary" not in learned.left_out:
        asked["summary"] = "auto"
    return {"reasoning": asked} if asked else {}


def _most_tokens(request: ModelRequest, known: KnownModel, learned: Learned) -> dict[str, int]:
    """Return the output limit, which includes reasoning."""
    limit = learned.left_out.get("max_output_tokens")
    if limit == 0:
        return {}
    asked = request.max_output_tokens + thinking_budget(request)
    return {"max_output_tokens": max(min(filter(None, (asked, known.max_output_tokens, limit))), LEAST_OUTPUT)}
