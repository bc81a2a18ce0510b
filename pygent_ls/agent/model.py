"""The model port: a request goes out, chunks come back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pygent_ls.agent.messages import Message, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """What the model is told of a tool; `schema` is the JSON Schema of its arguments object."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One model call."""

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolDefinition]
    max_output_tokens: int
    temperature: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChunk:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingChunk:
    """A piece of the model's thinking; `signature` comes with the last piece, where there is one."""

    thinking: str
    signature: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallChunk:
    """A piece of a tool call. `index` tells calls apart; `arguments` are pieces of JSON text to be joined."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChunk:
    """What the call cost; the last one counts."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishChunk:
    """Why the model stopped, in the provider's own word."""

    reason: str


Chunk = TextChunk | ThinkingChunk | ToolCallChunk | UsageChunk | FinishChunk

FinishReason = Literal["end_turn", "tools", "length", "refusal", "unknown"]

FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "end_turn",
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_calls": "tools",
    "tool_use": "tools",
    "function_call": "tools",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
}
"""Finish reasons as providers spell them; anything else is `unknown`."""


class Model(Protocol):
    """One configured model.

    `name` is the string that chose it. `ready` is False while something heavy has yet to load.
    """

    @property
    def name(self) -> str: ...

    @property
    def ready(self) -> bool: ...

    async def prepare(self) -> None:
        """Return when the model can be called; raises `ModelError` where it never can."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Call the model. Cancelling the consumer, or `aclose()`, closes the connection.

        Raises `ModelError`, and nothing else that it foresees. A stream that ends without a
        `FinishChunk` was broken.
        """
        ...
