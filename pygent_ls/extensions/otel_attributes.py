"""What a turn tells, in the words of OpenTelemetry's semantic conventions for generative AI.

The conventions are those of github.com/open-telemetry/semantic-conventions-genai as of 2026-10 (status: development);
what they have no word for begins with `pygent.`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pygent_ls.agent.answer import Answer
from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from pygent_ls.agent.model import FinishReason
from pygent_ls.agent.telemetry import (
    Began,
    Ended,
    ModelCallBegan,
    ModelCallEnded,
    PermissionWaitBegan,
    PermissionWaitEnded,
    ToolBegan,
    ToolEnded,
    TurnBegan,
    TurnEnded,
)

AttributeValue = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, AttributeValue]

PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Providers that the conventions call otherwise than litellm does."""

BARE: Mapping[str, str] = {"claude": "anthropic", "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai"}
"""Whose a model is that is named without a provider, by the word that its name begins with."""

FINISH: Mapping[FinishReason, str] = {
    "end_turn": "stop",
    "tools": "tool_call",
    "length": "length",
    "refusal": "content_filter",
    "unknown": "unknown",
}

OTHER = "_OTHER"
"""The conventions' word for an error that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStart:
    """How a span begins."""

    name: str
    kind: Literal["internal", "client"]
    attributes: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEnd:
    """How it ends; `error` is its kind, None where it is none."""

    attributes: Attributes
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Values of histograms, by their names, with their attributes."""

    values: Sequence[tuple[str, float, Attributes]] = field(default=())


def named(model: str) -> tuple[str, str]:
    """The provider, and the model as it calls it, of the string that chose it.

    A script's path and a program's options are the user's own business: of those no more is told than what they are.
    """
    for prefix in ("scripted", "cli"):
        if model.startswith(f"{prefix}:"):
            return prefix, prefix if prefix == "scripted" else model.removeprefix("cli:").split()[0]
    name = model.removeprefix("litellm/")
    provider, slash, rest = name.partition("/")
    if not slash:
        return BARE.get(name.partition("-")[0], OTHER), name
    return PROVIDERS.get(provider, provider), rest


def start_of(what: Began, *, with_content: bool) -> SpanStart:
    """`with_content` tells what was said, too."""
    match what:
        case TurnBegan():
            return _turn(what, with_content=with_content)
        case ModelCallBegan():
            return _model_call(what, with_content=with_content)
        case ToolBegan():
            return _tool(what, with_content=with_content)
        case PermissionWaitBegan(call=call):
            attributes = {
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.id": call.id,
                "gen_ai.conversation.id": what.session_id,
            }
            return SpanStart(name=f"wait_for_permission {call.name}", kind="internal", attributes=attributes)


def end_of(how: Ended, *, with_content: bool) -> SpanEnd:
    """Likewise."""
    match how:
        case TurnEnded():
            attributes: dict[str, AttributeValue] = {
                **_usage(how.usage),
                "pygent.turn.stop_reason": how.stop_reason,
                "pygent.turn.iterations": how.iterations,
            }
            if with_content and how.text:
                attributes["gen_ai.output.messages"] = _json([_said("assistant", [_text(how.text)])])
            return SpanEnd(attributes=attributes, error=(how.error or OTHER) if how.stop_reason == "error" else None)
        case ModelCallEnded():
            return _model_call_end(how, with_content=with_content)
        case ToolEnded(content=None):
            return SpanEnd(attributes={"pygent.cancelled": True})
        case ToolEnded(content=content):
            attributes = {"pygent.tool.cached": how.cached}
            if with_content and content is not None:
                attributes["gen_ai.tool.call.result"] = content
            error = "permission_denied" if how.is_denied else "tool_error"
            return SpanEnd(attributes=attributes, error=error if how.is_error else None)
        case PermissionWaitEnded(outcome=outcome, by=by):
            return SpanEnd(attributes={"pygent.permission.outcome": outcome, "pygent.permission.by": by})


def measured(what: Began, how: Ended, duration_s: float) -> Measured:
    """What goes into the histograms."""
    failed: Attributes = {"error.type": error} if (error := end_of(how, with_content=False).error) else {}
    match what, how:
        case TurnBegan(), _:
            attributes = {"gen_ai.agent.name": what.agent, **failed}
            return Measured(values=[("gen_ai.invoke_agent.duration", duration_s, attributes)])
        case ToolBegan(), _:
            attributes = {"gen_ai.tool.name": what.call.name, "gen_ai.agent.name": what.agent, **failed}
            return Measured(values=[("gen_ai.execute_tool.duration", duration_s, attributes)])
        case ModelCallBegan(), ModelCallEnded():
            return Measured(values=list(_of_model_call(what, how, duration_s, failed)))
        case _:
            return Measured()


def _of_model_call(
    what: ModelCallBegan, how: ModelCallEnded, duration_s: float, failed: Attributes
) -> Iterator[tuple[str, float, Attributes]]:
    attributes = _of_model("chat", what.model)
    yield "gen_ai.client.operation.duration", duration_s, {**attributes, **failed}
    if how.first_chunk_s is not None:
        yield "gen_ai.client.operation.time_to_first_chunk", how.first_chunk_s, attributes
    if how.usage.total_tokens:
        yield "gen_ai.client.token.usage", how.usage.input_tokens, {**attributes, "gen_ai.token.type": "input"}
        yield "gen_ai.client.token.usage", how.usage.output_tokens, {**attributes, "gen_ai.token.type": "output"}


def _of_model(operation: str, model: str) -> dict[str, AttributeValue]:
    provider, name = named(model)
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": name,
    }


def _turn(what: TurnBegan, *, with_content: bool) -> SpanStart:
    attributes = {
        **_of_model("invoke_agent", what.model),
        "gen_ai.agent.name": what.agent,
        "gen_ai.conversation.id": what.session_id,
        "pygent.turn.id": what.turn_id,
        "pygent.mode": what.mode,
        "pygent.subagent": what.is_subagent,
    }
    if with_content:
        attributes["gen_ai.input.messages"] = _json([_said("user", [_text(what.prompt)])])
    return SpanStart(name=f"invoke_agent {what.agent}", kind="internal", attributes=attributes)


def _model_call(what: ModelCallBegan, *, with_content: bool) -> SpanStart:
    request = what.request
    attributes = {
        **_of_model("chat", what.model),
        "gen_ai.agent.name": what.agent,
        "gen_ai.conversation.id": what.session_id,
        "gen_ai.request.max_tokens": request.max_output_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.stream": True,
    }
    if with_content:
        tools = [
            {"type": "function", "name": each.name, "description": each.description, "parameters": dict(each.schema)}
            for each in request.tools
        ]
        attributes["gen_ai.system_instructions"] = _json([_text(request.system)])
        attributes["gen_ai.input.messages"] = _json([_message(each) for each in request.messages])
        attributes["gen_ai.tool.definitions"] = _json(tools)
    return SpanStart(name=f"chat {attributes['gen_ai.request.model']}", kind="client", attributes=attributes)


def _model_call_end(how: ModelCallEnded, *, with_content: bool) -> SpanEnd:
    attributes: dict[str, AttributeValue] = dict(_usage(how.usage))
    if how.first_chunk_s is not None:
        attributes["gen_ai.response.time_to_first_chunk"] = how.first_chunk_s
    if how.status is not None:
        attributes["http.response.status_code"] = how.status
    if how.finish is not None:
        attributes["gen_ai.response.finish_reasons"] = [FINISH[how.finish]]
        if with_content and how.answer is not None:
            attributes["gen_ai.output.messages"] = _json([_answer(how.answer, FINISH[how.finish])])
    elif how.error is None:
        attributes["pygent.cancelled"] = True
    return SpanEnd(attributes=attributes, error=how.error)


def _tool(what: ToolBegan, *, with_content: bool) -> SpanStart:
    attributes: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": what.call.name,
        "gen_ai.tool.call.id": what.call.id,
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": what.agent,
        "gen_ai.conversation.id": what.session_id,
    }
    if what.description:
        attributes["gen_ai.tool.description"] = what.description.partition("\n")[0]
    if with_content:
        attributes["gen_ai.tool.call.arguments"] = _json(dict(what.call.input))
    return SpanStart(name=f"execute_tool {what.call.name}", kind="internal", attributes=attributes)


def _usage(usage: Usage) -> Attributes:
    if usage.is_nothing:
        return {}
    told: dict[str, AttributeValue] = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    if usage.cache_read_tokens:
        told["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens
    if usage.cache_write_tokens:
        told["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write_tokens
    if usage.cost_usd is not None:
        told["pygent.usage.cost_usd"] = usage.cost_usd
    return told


# What was said, in the form of the conventions' JSON schemas


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def _said(role: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _message(message: Message) -> dict[str, Any]:
    blocks = message.blocks
    is_results = any(isinstance(each, ToolResultBlock) for each in blocks)
    return _said("tool" if is_results else message.role, [_part(each) for each in blocks])


def _answer(answer: Answer, finish: str) -> dict[str, Any]:
    message = answer.message("", ())
    return {**_said("assistant", [_part(each) for each in message.blocks]), "finish_reason": finish}


def _part(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text=text):
            return _text(text)
        case ThinkingBlock(thinking=thinking):
            return {"type": "reasoning", "content": thinking}
        case ImageBlock():
            return _text("[a picture]")
        case ToolUseBlock(id=id_, name=name, input=given):
            return {"type": "tool_call", "id": id_, "name": name, "arguments": dict(given)}
        case ToolResultBlock(tool_use_id=id_, content=content):
            return {"type": "tool_call_response", "id": id_, "result": content}
