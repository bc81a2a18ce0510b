"""The conversation in the OpenAI chat format, which litellm and most providers take. Pure."""

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
from pygent_ls.agent.model import ToolDefinition

NO_OUTPUT = "(no output)"
"""The content of a tool message whose result is empty: several providers reject an empty one."""

MAX_NAME_CHARS = 64
"""Of a function's name; OpenAI's limit."""

SEALED_THOUGHTS = "thinking_blocks"
"""The field in which litellm takes thoughts with their seals, for Anthropic's models wherever they run."""

ChatMessage = dict[str, Any]


def chat_messages(system: str, messages: Sequence[Message], *, thinking_field: str = "") -> list[ChatMessage]:
    """The system prompt, then the conversation; messages with nothing in them are left out.

    Every string in it can be written as UTF-8. Thinking is left out, since the format has no place for it, but where
    a provider has a `thinking_field`, and wants back what it thought since the user last said something.
    """
    chat: list[ChatMessage] = [{"role": "system", "content": utf8(system)}] if system.strip() else []
    asked = max((number for number, message in enumerate(messages) if _is_said(message)), default=0)
    for number, message in enumerate(messages):
        match message.role:
            case "user":
                _extend(chat, _user(message))
            case "assistant":
                _extend(chat, _assistant(message, thinking_field if number > asked else ""))
    return chat


def mark_for_cache(chat: list[ChatMessage]) -> None:
    """Mark what comes before the end as worth keeping, in the way that Anthropic's models are told it: the system
    prompt, and the last two messages that can be marked, so that the next request finds what this one kept."""
    texts = [message for message in chat if message["content"] and message["role"] != "system"]
    for message in [each for each in chat[:1] if each["role"] == "system"] + texts[-2:]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message["content"] = [*parts[:-1], {**parts[-1], "cache_control": {"type": "ephemeral"}}]


def _is_said(message: Message) -> bool:
    """Whether the user says something, and not tools."""
    return message.role == "user" and not any(isinstance(block, ToolResultBlock) for block in message.blocks)


def _extend(chat: list[ChatMessage], new: Iterator[ChatMessage]) -> None:
    """Append, texts of the user that follow each other as one: strict templates want the roles to alternate."""
    for message in new:
        last = chat[-1] if chat else None
        if last and last["role"] == message["role"] == "user" and _is_text(last) and _is_text(message):
            last["content"] += "\n\n" + message["content"]
        else:
            chat.append(message)


def _is_text(message: ChatMessage) -> bool:
    return isinstance(message["content"], str)


def chat_tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """The tools as functions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                # OpenAI rejects an object schema without `properties`, which a tool without arguments has
                "parameters": {"type": "object", "properties": {}, **tool.schema},
            },
        }
        for tool in tools
    ]


def _user(message: Message) -> Iterator[ChatMessage]:
    """Tool results first, each a message of its own, since they must follow their calls; then what the user said."""
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        match block:
            case ToolResultBlock(tool_use_id=call_id, content=content):
                yield {"role": "tool", "tool_call_id": call_id, "content": utf8(content) or NO_OUTPUT}
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


def _assistant(message: Message, thinking_field: str) -> Iterator[ChatMessage]:
    text = utf8(message.text)
    thinking = _thinking(message, thinking_field)
    back = {thinking_field: thinking} if thinking_field and thinking else {}
    calls = [_call(call.id, call.name, call.input) for call in message.tool_calls]
    said = text if text.strip() else None
    if calls:
        yield {"role": "assistant", "content": said, "tool_calls": calls, **back}
    elif said is not None:
        yield {"role": "assistant", "content": said, **back}


def _thinking(message: Message, field: str) -> str | list[dict[str, str]]:
    """As text, or sealed thoughts as Anthropic has them."""
    thoughts = [block for block in message.blocks if isinstance(block, ThinkingBlock)]
    if field != SEALED_THOUGHTS:
        return utf8("".join(each.thinking for each in thoughts))
    return [
        {"type": "redacted_thinking", "data": each.redacted}
        if each.redacted
        else {"type": "thinking", "thinking": utf8(each.thinking), "signature": each.signature or ""}
        for each in thoughts
        if each.redacted or each.signature
    ]


def _call(call_id: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    arguments = utf8(json.dumps(dict(given), ensure_ascii=False))
    return {"id": call_id, "type": "function", "function": {"name": function_name(name), "arguments": arguments}}


def function_name(name: str) -> str:
    """The name as providers take it; a model may have called a tool that can have no such name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MAX_NAME_CHARS] or "unnamed"


def utf8(text: str) -> str:
    """The text with half surrogate pairs replaced: JSON lets a model send them, UTF-8 cannot send them back."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
