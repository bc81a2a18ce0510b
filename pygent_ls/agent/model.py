"""The model port: a request goes out, chunks come back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

from pygent_ls.agent.messages import Message, Usage
from pygent_ls.errors import ModelError

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

EFFORTS: tuple[Effort, ...] = get_args(Effort)
"""All efforts, the least first."""


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
    max_thinking_tokens: int = 0
    """0 asks for no thinking, unless `effort` does."""
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer's text must be valid against; only for models with `formats_output`."""
    effort: Effort | None = None
    """How much the model reasons; None leaves it to `max_thinking_tokens`, or else to the provider."""
    cache_key: str = ""
    """Same for all requests of a session: providers route requests with one key to one prompt cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChunk:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingChunk:
    """A piece of the model's thinking; `signature` comes with the last piece of a thought, where there is one.

    A thought that is `redacted` is one chunk, without text. `provider_data` ends a thought; a chunk that has it alone
    is a thought without text.
    """

    thinking: str
    signature: str | None = None
    redacted: str | None = None
    provider_data: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallChunk:
    """A piece of a tool call. `index` tells calls apart; `arguments` are pieces of JSON text to be joined."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    provider_data: Mapping[str, Any] | None = None
    """The last one of a call counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageChunk:
    """What the call cost; the last one counts."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishChunk:
    """The answer is whole, and why the model stopped, in the provider's own word; empty where it says no more than that
    this was all."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeChunk:
    """What the user should know of the call; no part of the answer."""

    content: str


ENDLESS = "endless"
"""The `FinishChunk.reason` of an answer that was stopped because it went on far beyond its limit."""

CHARS_A_TOKEN = 16
"""Of an answer within its limit: four times what prose and code have. Runs of spaces may have more."""

MARGIN_CHARS = 1_000_000
"""On top of it: some providers do not count their model's reasoning as output."""

MAX_ANSWER_CHARS = 8_000_000
"""Whatever the limit: two million tokens, more than any model writes."""

CHUNK_CHARS = 2
"""What a chunk counts beside its text, so that empty ones come to an end too."""

CALL_CHARS = 500
"""What a tool call counts beside its arguments."""


Chunk = TextChunk | ThinkingChunk | ToolCallChunk | UsageChunk | FinishChunk | NoticeChunk

FinishReason = Literal["end_turn", "tools", "length", "refusal", "unknown"]

FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "end_turn",
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_calls": "tools",
    "tool_use": "tools",
    "function_call": "tools",
    "length": "length",
    ENDLESS: "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",
}
"""Finish reasons as providers spell them; anything else is `unknown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of a model without calling it."""

    context_limit: int | None = None
    """Tokens that a request and its answer may have together; None where not known."""
    max_output_tokens: int | None = None
    has_price: bool = False
    """Whether a call's usage will tell its cost."""
    has_native_tools: bool = True
    """False where tools have to be offered, and called, as text; a model that nobody knows has them."""
    takes_images: bool = True
    """False where it is known to take none."""
    formats_output: bool = False
    """Whether it takes an `output_schema`."""
    family: str = ""
    """Models that read each other's `provider_data`; empty for models that send none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A whole answer without tools."""

    text: str
    usage: Usage


class Model(Protocol):
    """One configured model.

    `name` is the string that chose it. `ready` is False while something heavy has yet to load; `facts` may know more
    after `prepare`.
    """

    @property
    def name(self) -> str: ...

    @property
    def ready(self) -> bool: ...

    @property
    def facts(self) -> ModelFacts: ...

    async def prepare(self) -> None:
        """Return when the model can be called; raises `ModelError` where it never can."""
        ...

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """The tools in the form in which this model is offered them."""
        ...

    async def complete(self, request: ModelRequest) -> Completion:
        """The whole answer to a request without tools; raises as `stream` does."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Call the model. Cancelling the consumer, or `aclose()`, closes the connection.

        Raises `ModelError`, and nothing else that it foresees. A stream that ends without a
        `FinishChunk` was broken.
        """
        ...


def max_chars(request: ModelRequest) -> int:
    """Characters of text, thinking and arguments after which an answer to this request is stopped."""
    tokens = request.max_output_tokens + max(request.max_thinking_tokens, 0)
    return min(CHARS_A_TOKEN * tokens + MARGIN_CHARS, MAX_ANSWER_CHARS)


async def within_limit(chunks: AsyncGenerator[Chunk], request: ModelRequest) -> AsyncGenerator[Chunk]:
    """Yield the chunks, but of an answer that goes on far beyond its limit only the beginning, a notice and a finish
    that says so; its stream is closed then. Raises as `chunks` does."""
    most = left = max_chars(request)
    calls: set[int] = set()
    async with aclosing(chunks):
        async for chunk in chunks:
            if isinstance(chunk, ToolCallChunk) and chunk.index not in calls:
                calls.add(chunk.index)
                left -= CALL_CHARS
            size = _size_of(chunk)
            if size <= left:
                left -= size
                yield chunk
                continue
            if isinstance(chunk, TextChunk) and left > 0:
                yield TextChunk(text=chunk.text[:left])
            yield NoticeChunk(
                content=f"The answer was stopped after {most} characters: it went far beyond its limit of "
                f"{request.max_output_tokens} tokens (max_output_tokens)."
            )
            yield FinishChunk(reason=ENDLESS)
            return


def _size_of(chunk: Chunk) -> int:
    match chunk:
        case TextChunk(text=text):
            return len(text) + CHUNK_CHARS
        case ThinkingChunk():
            sealed = len(chunk.signature or "") + len(chunk.redacted or "") + _length_of(chunk.provider_data)
            return len(chunk.thinking) + sealed + CHUNK_CHARS
        case ToolCallChunk():
            named = len(chunk.id or "") + len(chunk.name or "") + _length_of(chunk.provider_data)
            return len(chunk.arguments) + named + CHUNK_CHARS
        case UsageChunk() | FinishChunk() | NoticeChunk():
            return CHUNK_CHARS


def _length_of(data: Mapping[str, Any] | None) -> int:
    return len(str(data)) if data else 0


async def completed(chunks: AsyncGenerator[Chunk], request: ModelRequest) -> Completion:
    """The whole answer to a request, for adapters whose `complete` is their `stream` to its end. Raises `ModelError`
    as it does, and where the stream ends without a finish, or not in time."""
    parts: list[str] = []
    usage = Usage()
    finish: str | None = None
    async with aclosing(within_limit(chunks, request)) as limited:
        async for chunk in limited:
            match chunk:
                case TextChunk(text=text):
                    parts.append(text)
                case UsageChunk(usage=told):
                    usage = told
                case FinishChunk(reason=reason):
                    finish = reason
                case ThinkingChunk() | ToolCallChunk() | NoticeChunk():
                    pass
    if finish is None:
        raise ModelError("The answer broke off. Try again.", type="network")
    if finish == ENDLESS:
        raise ModelError("The answer went far beyond its limit and was stopped.")
    return Completion(text="".join(parts), usage=usage)
