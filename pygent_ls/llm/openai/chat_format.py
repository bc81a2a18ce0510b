"""Conversion of a conversation to the OpenAI chat format, which litellm and most providers take. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pygent_ls.agent.messages import (
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from pygent_ls.agent.ports.model import ToolDefinition
from pygent_ls.llm.conversions import Conversion, converted
from pygent_ls.llm.message_rules import COMMON, NO_REASONING, NO_SIGNATURE, STAND_IN, MessageRules

NO_OUTPUT = "(no output)"
"""Content of a tool message whose result is empty: several providers reject an empty one."""

MAX_NAME_CHARS = 64
"""Maximum length of a function's name; OpenAI's limit."""

SEALED_THOUGHTS = "thinking_blocks"
"""Field in which litellm takes thinking with its signatures, for Anthropic's models wherever they run."""

DATA_OF_CALLS = frozenset({"extra_content", "provider_specific_fields"})
"""Fields of a tool call that are sent back unchanged: Gemini's thought signature, in its own form and in litellm's."""

DATA_OF_MESSAGES = frozenset(
    {"reasoning_details", "reasoning_content", "extra_content", "provider_specific_fields", SEALED_THOUGHTS}
)
"""Fields of an assistant message that are sent back unchanged: OpenRouter's reasoning, Gemini's signatures, and
Claude's thinking behind a LiteLLM proxy."""

ChatMessage = dict[str, Any]


def chat_messages(
    system: str,
    messages: Sequence[Message],
    rules: MessageRules = COMMON,
    *,
    thinks: bool = False,
    reuse: dict[str, Any] | None = None,
) -> list[ChatMessage]:
    """Return the system prompt and the conversation, by the rules of a family; empty messages are left out.

    Every string is encodable as UTF-8. Thinking is sent back only if the family has a field for it, or as data that its
    provider expects back. `thinks` says that the request asks for reasoning. With `reuse`, the messages belong to
    several requests and must not be changed.
    """

    def add(message: Message, done: Conversion[ChatMessage]) -> None:
        match message.role:
            case "user":
                _extend(done.rows, _user(message, done.ids, rules), rules)
            case "assistant":
                _extend(done.rows, _assistant(message, done.ids, rules, thinks=thinks), rules)

    first = [{"role": "system", "content": utf8(system)}] if system.strip() else []
    return [*first, *converted(messages, add, reuse, ("chat", rules, thinks))]


def mark_for_cache(chat: list[ChatMessage]) -> None:
    """Set cache marks in Anthropic's form on the system prompt and on the last two messages that can have one, so that
    the next request finds what this one cached."""
    texts = [place for place, message in enumerate(chat) if message["content"] and message["role"] != "system"]
    for place in [*(place for place, each in enumerate(chat[:1]) if each["role"] == "system"), *texts[-2:]]:
        content = chat[place]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        marked = {**parts[-1], "cache_control": {"type": "ephemeral"}}
        chat[place] = {**chat[place], "content": [*parts[:-1], marked]}


def _extend(chat: list[ChatMessage], new: Iterator[ChatMessage], rules: MessageRules) -> None:
    """Append the messages and join consecutive user texts, since strict templates require alternating roles."""
    for message in new:
        last = chat[-1] if chat else None
        if last and last["role"] == message["role"] == "user" and _is_text(last) and _is_text(message):
            chat[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
            continue
        if last and last["role"] == "tool" and message["role"] == "user" and not rules.user_may_follow_tool:
            chat.append({"role": "assistant", "content": STAND_IN})
        chat.append(message)


def _is_text(message: ChatMessage) -> bool:
    return isinstance(message["content"], str)


def parameters(tool: ToolDefinition) -> dict[str, Any]:
    """Return the schema of a tool's arguments. OpenAI always requires `properties`, even for a tool without any."""
    return {"type": "object", "properties": {}, **tool.schema}


def named_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a structured answer with the name that OpenAI's protocols require."""
    return {"name": "answer", "schema": dict(schema), "strict": False}


def chat_tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """Return the tools as functions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": parameters(tool),
            },
        }
        for tool in tools
    ]


def _user(message: Message, ids: Mapping[str, str], rules: MessageRules) -> Iterator[ChatMessage]:
    """Yield one message per tool result, since these must follow their calls, and then what the user said."""
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        match block:
            case ToolResultBlock(tool_use_id=call_id, content=content):
                sent_id = ids.get(call_id) or rules.fitting_id(call_id)
                yield {"role": "tool", "tool_call_id": sent_id, "content": utf8(content) or NO_OUTPUT}
            case TextBlock(text=text) if text.strip():
                parts.append({"type": "text", "text": utf8(text)})
            case ImageBlock(mime_type=mime_type, data=data):
                parts.append({"type": "image_url", "image_url": {"url": f"data:{mime_type};base64,{data}"}})
            case TextBlock() | ThinkingBlock() | ToolUseBlock():
                pass
    if all(part["type"] == "text" for part in parts):
        if parts:
            yield {"role": "user", "content": "\n\n".join(part["text"] for part in parts)}
    else:
        yield {"role": "user", "content": parts}


def _assistant(message: Message, ids: dict[str, str], rules: MessageRules, *, thinks: bool) -> Iterator[ChatMessage]:
    """Yield the message; `ids` maps calls to the ids they are sent with, and those of this message are added."""
    text = utf8(message.text)
    calls = [_call(call, ids, rules) for call in message.tool_calls]
    said = text if text.strip() else None
    if calls:
        back = _back(message, rules, thinks=thinks)
        _sign(calls, back, rules)
        yield {"role": "assistant", "content": said, "tool_calls": calls, **back}
    elif said is not None:
        yield {"role": "assistant", "content": said, **_back(message, rules, thinks=thinks)}


def _sign(calls: list[dict[str, Any]], back: dict[str, Any], rules: MessageRules) -> None:
    """Give calls of another model a placeholder signature; Gemini requires one per answer."""
    if rules.unsigned_calls == "reasoning_details" and "reasoning_details" not in back:
        seal = {"type": "reasoning.encrypted", "data": NO_SIGNATURE, "format": "google-gemini-v1"}
        back["reasoning_details"] = [{**seal, "id": calls[0]["id"], "index": 0}]
    elif rules.unsigned_calls == "extra_content" and not any("extra_content" in call for call in calls):
        calls[0]["extra_content"] = {"google": {"thought_signature": NO_SIGNATURE}}


def _back(message: Message, rules: MessageRules, *, thinks: bool) -> dict[str, Any]:
    """Return the fields that send back the provider's own data, and the reasoning if the family expects it."""
    thoughts = [block for block in message.blocks if isinstance(block, ThinkingBlock)]
    fields: dict[str, Any] = {}
    for each in thoughts if rules.takes_data else ():
        fields |= {key: value for key, value in (each.provider_data or {}).items() if key in DATA_OF_MESSAGES}
    if rules.seals_reasoning:
        sealed = [_sealed(each) for each in thoughts if each.redacted or each.signature]
        return fields | ({SEALED_THOUGHTS: sealed} if sealed else {})
    if not rules.reasoning_field or rules.reasoning_field in fields:
        return fields
    reasoning = utf8("".join(each.thinking for each in thoughts))
    if reasoning or (thinks and rules.needs_reasoning):
        fields[rules.reasoning_field] = reasoning or NO_REASONING
    return fields


def _sealed(thought: ThinkingBlock) -> dict[str, str]:
    if thought.redacted:
        return {"type": "redacted_thinking", "data": thought.redacted}
    return {"type": "thinking", "thinking": utf8(thought.thinking), "signature": thought.signature or ""}


def _call(call: ToolUseBlock, ids: dict[str, str], rules: MessageRules) -> dict[str, Any]:
    ids[call.id] = rules.sent_id(call)
    arguments = utf8(json.dumps(dict(call.input), ensure_ascii=False))
    back = {key: value for key, value in (call.provider_data or {}).items() if key in DATA_OF_CALLS}
    function = {"name": function_name(call.name), "arguments": arguments}
    return {"id": ids[call.id], "type": "function", "function": function, **back}


def function_name(name: str) -> str:
    """Return the name in the form that providers accept; a model may have called a tool by an invalid name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_NAME_CHARS] or "unnamed"


def utf8(text: str) -> str:
    """Return the text with lone surrogates replaced: JSON lets a model send them, but UTF-8 cannot encode them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
