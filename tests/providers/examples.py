"""Requests that every provider takes: the second turn of a conversation, while tools run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.providers.servers.answers import Answer, Body, Given, Memory, ToolCall
from tests.providers.servers.families import FAMILIES
from tests.providers.servers.openrouter import details_of
from tests.providers.servers.rules import Endpoint

FIRST = Answer(
    thoughts=("Both files.",),
    calls=(ToolCall(name="read", arguments={"path": "a"}), ToolCall(name="read", arguments={"path": "b"})),
)
SECOND = Answer(thoughts=("Enough.",), text="They are alike.")
THIRD = Answer(thoughts=("Once more.",), calls=(ToolCall(name="read", arguments={"path": "c"}),))

MODELS: Mapping[str, str] = {
    "openai": "gpt-5.6",
    "anthropic": "claude-sonnet-4-5",
    "deepseek": "deepseek-v4-pro",
    "moonshot": "kimi-k2.6",
    "openrouter": "google/gemini-3.1-pro-preview",
    "mistral": "mistral-medium-latest",
    "groq": "openai/gpt-oss-120b",
    "gemini": "gemini-3.1-pro-preview",
    "xai": "grok-4.7",
    "zai": "glm-4.7",
}

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}


def remembered(family: str) -> Memory:
    """The memory of a server that gave the three answers."""
    memory = Memory(family)
    for answer in (FIRST, SECOND, THIRD):
        memory.keep(answer, MODELS[family])
    return memory


def example(family: str, endpoint: Endpoint, model: str = "") -> Body:
    """A request that breaks no rule of this endpoint."""
    given = remembered(family).given
    match endpoint.types:
        case "chat":
            return _chat(family, model or MODELS[family], given)
        case "responses":
            return _responses(model or MODELS[family], given)
        case "messages":
            return _messages(model or MODELS[family], given)
        case _:
            return _gemini(model or MODELS[family], given)


def endpoints() -> list[tuple[str, Endpoint]]:
    """Every endpoint, with the name of its family."""
    return [(family.name, endpoint) for family in FAMILIES.values() for endpoint in family.endpoints]


def endpoint_of(family: str, types: str) -> Endpoint:
    """The endpoint of a family that has bodies of this type."""
    return next(each for each in FAMILIES[family].endpoints if each.types == types)


def _chat(family: str, model: str, given: list[Given]) -> Body:
    first, second, third = given
    messages: list[Body] = [
        {"role": "system", "content": "You are a test."},
        {"role": "user", "content": "Compare a and b."},
        _calling(family, first),
        *_results(family, first),
        {"role": "assistant", "content": second.answer.text},
        {"role": "user", "content": "And c?"},
        _calling(family, third),
        *_results(family, third),
    ]
    function = {"name": "read", "description": "Read a file.", "parameters": dict(SCHEMA)}
    body: Body = {
        "model": model,
        "messages": messages,
        "tools": [{"type": "function", "function": function}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return body | ({"reasoning_effort": "none"} if family == "openai" else {})


def _calling(family: str, given: Given) -> Body:
    """An answer with calls as the provider wants it back."""
    calls: list[Body] = [
        {
            "id": given.short_id(index) if family == "mistral" else given.call_id(index),
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(given.answer.calls)
    ]
    message: Body = {"role": "assistant", "content": None, "tool_calls": calls}
    match family:
        case "deepseek" | "moonshot":
            message["reasoning_content"] = given.thinking
        case "openrouter":
            message["reasoning_details"] = details_of(given)
        case "gemini":
            calls[0]["extra_content"] = {"google": {"thought_signature": given.seal()}}
        case _:
            pass
    return message


def _results(family: str, given: Given) -> list[Body]:
    return [
        {
            "role": "tool",
            "tool_call_id": given.short_id(index) if family == "mistral" else given.call_id(index),
            "content": "sheep",
        }
        for index in range(len(given.answer.calls))
    ]


def _responses(model: str, given: list[Given]) -> Body:
    first, second, third = given
    items: list[Body] = [
        {"role": "user", "content": "Compare a and b."},
        *_items(first),
        _reasoning(second),
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": second.answer.text, "annotations": []}],
        },
        {"role": "user", "content": [{"type": "input_text", "text": "And c?"}]},
        *_items(third),
    ]
    tool = {
        "type": "function",
        "name": "read",
        "description": "Read a file.",
        "parameters": dict(SCHEMA),
        "strict": False,
    }
    return {
        "model": model,
        "input": items,
        "instructions": "You are a test.",
        "tools": [tool],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "medium", "summary": "auto"},
        "max_output_tokens": 1000,
        "stream": True,
    }


def _reasoning(given: Given) -> Body:
    summary = [{"type": "summary_text", "text": thought} for thought in given.answer.thoughts]
    return {
        "type": "reasoning",
        "id": f"rs_{given.number}",
        "summary": summary,
        "encrypted_content": given.seal(),
    }


def _items(given: Given) -> list[Body]:
    calls: list[Body] = [
        {
            "type": "function_call",
            "call_id": given.call_id(index),
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        }
        for index, call in enumerate(given.answer.calls)
    ]
    outputs: list[Body] = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": "sheep"} for call in calls
    ]
    return [_reasoning(given), *calls, *outputs]


def _messages(model: str, given: list[Given]) -> Body:
    first, second, third = given
    thinks = {"type": "adaptive"} if "sonnet-5" in model else {"type": "enabled", "budget_tokens": 2000}
    return {
        "model": model,
        "max_tokens": 4000,
        "system": [{"type": "text", "text": "You are a test.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Compare a and b."}]},
            *_uses(first),
            {"role": "assistant", "content": [_thought(second), {"type": "text", "text": second.answer.text}]},
            {"role": "user", "content": [{"type": "text", "text": "And c?"}]},
            *_uses(third),
        ],
        "tools": [{"name": "read", "description": "Read a file.", "input_schema": dict(SCHEMA)}],
        "thinking": thinks,
        "stream": True,
    }


def _thought(given: Given) -> Body:
    return {"type": "thinking", "thinking": given.answer.thoughts[0], "signature": given.seal(0)}


def _uses(given: Given) -> list[Body]:
    uses: list[Body] = [
        {"type": "tool_use", "id": given.call_id(index), "name": call.name, "input": dict(call.arguments)}
        for index, call in enumerate(given.answer.calls)
    ]
    results: list[Body] = [{"type": "tool_result", "tool_use_id": use["id"], "content": "sheep"} for use in uses]
    return [{"role": "assistant", "content": [_thought(given), *uses]}, {"role": "user", "content": results}]


def _gemini(model: str, given: list[Given]) -> Body:
    first, second, third = given
    return {
        "model": model,
        "systemInstruction": {"parts": [{"text": "You are a test."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Compare a and b."}]},
            *_functions(first),
            {"role": "model", "parts": [{"text": second.answer.text}]},
            {"role": "user", "parts": [{"text": "And c?"}]},
            *_functions(third),
        ],
        "tools": [{"functionDeclarations": [{"name": "read", "parameters": dict(SCHEMA)}]}],
    }


def _functions(given: Given) -> list[Body]:
    calls: list[Body] = [
        {"functionCall": {"name": call.name, "args": dict(call.arguments)}} for call in given.answer.calls
    ]
    calls[0]["thoughtSignature"] = given.seal()
    results: list[Body] = [
        {"functionResponse": {"name": call.name, "response": {"result": "sheep"}}} for call in given.answer.calls
    ]
    return [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
