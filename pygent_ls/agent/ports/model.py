"""Model port: requests and the chunks of their answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from msgspec import Struct

from pygent_ls.agent.messages import Message, Usage
from pygent_ls.errors import ModelError

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

EFFORTS: tuple[Effort, ...] = get_args(Effort)
"""All efforts, lowest first."""


class ToolDefinition(Struct, frozen=True, kw_only=True):
    """Tool as it is described to the model; `schema` is the JSON Schema of its arguments object."""

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
    """Maximum thinking tokens; 0 asks for no thinking, unless `effort` does."""
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema that the answer's text must match; only for models with `formats_output`."""
    effort: Effort | None = None
    """How much the model reasons; None leaves it to `max_thinking_tokens`, or else to the provider."""
    cache_key: str = ""
    """Same for all requests of a session: providers route requests with one key to one prompt cache."""
    searches_web: bool = False
    """Whether the provider may search the web while it answers; only for models with `searches_web`."""
    reuse: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)
    """Memory for the adapter, the same object for all requests of a conversation: what its messages were converted
    to."""


class TextChunk(Struct, frozen=True, kw_only=True):
    """Piece of the answer's text."""

    text: str


class ThinkingChunk(Struct, frozen=True, kw_only=True):
    """Piece of the model's thinking; the last piece of a thought has its `signature`, if any.

    A `redacted` thought is one chunk, without text. `provider_data` ends a thought; a chunk that has nothing else is a
    thought without text.
    """

    thinking: str
    signature: str | None = None
    redacted: str | None = None
    provider_data: Mapping[str, Any] | None = None


class ToolCallChunk(Struct, frozen=True, kw_only=True):
    """Piece of a tool call. `index` distinguishes calls; `arguments` are pieces of JSON text to be joined."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    provider_data: Mapping[str, Any] | None = None
    """Data for the provider; the last one of a call counts."""


class SearchChunk(Struct, frozen=True, kw_only=True):
    """Web search that the provider runs while it answers: once when it begins, and once with its `result`, as the user
    is shown it. What the model reads of it goes back as `ThinkingChunk.provider_data`."""

    id: str
    input: Mapping[str, Any]
    """Search terms (`query`), or the page that is read (`url`)."""
    result: str | None = None
    is_error: bool = False


class UsageChunk(Struct, frozen=True, kw_only=True):
    """Usage of the call; the last one counts."""

    usage: Usage


class FinishChunk(Struct, frozen=True, kw_only=True):
    """End of a complete answer. `reason` is why the model stopped, in the provider's own word; empty if the provider
    gives none."""

    reason: str


class NoticeChunk(Struct, frozen=True, kw_only=True):
    """Notice about the call for the user; not part of the answer."""

    content: str


ENDLESS = "endless"
"""`FinishChunk.reason` of an answer that was stopped because it went far beyond its limit."""

CHARS_A_TOKEN = 16
"""Characters per token that an answer may have: four times as many as prose and code have. Runs of spaces may have
more."""

MARGIN_CHARS = 1_000_000
"""Characters allowed on top: some providers do not count their model's reasoning as output."""

MAX_ANSWER_CHARS = 8_000_000
"""Maximum characters of an answer, whatever its limit: two million tokens, more than any model writes."""

CHUNK_CHARS = 2
"""Characters that a chunk counts for besides its text, so that a stream of empty chunks ends too."""

CALL_CHARS = 500
"""Characters that a tool call counts for besides its arguments."""


Chunk = TextChunk | ThinkingChunk | ToolCallChunk | SearchChunk | UsageChunk | FinishChunk | NoticeChunk

FinishReason = Literal["end_turn", "tools", "paused", "length", "refusal", "unknown"]

FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "end_turn",
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_calls": "tools",
    "tool_use": "tools",
    "function_call": "tools",
    "pause_turn": "paused",
    "length": "length",
    ENDLESS: "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",
}
"""Finish reasons by the providers' spellings; any other is `unknown`. A `paused` answer continues when it is sent
back."""


class ModelFacts(Struct, frozen=True, kw_only=True):
    """Properties of a model that are known without calling it."""

    context_limit: int | None = None
    """Maximum tokens of a request and its answer together; None if unknown."""
    max_output_tokens: int | None = None
    has_price: bool = False
    """Whether a call's usage includes its cost."""
    has_native_tools: bool = True
    """Whether it has tool calls; if False, tools are offered and called as text. True for unknown models."""
    takes_images: bool = True
    """Whether it accepts images; False only if it is known not to."""
    formats_output: bool = False
    """Whether it accepts an `output_schema`."""
    searches_web: bool = False
    """Whether its provider can search the web while it answers."""
    family: str = ""
    """Name shared by models that read each other's `provider_data`; empty for models that send none."""


class Completion(Struct, frozen=True, kw_only=True):
    """Complete answer without tools."""

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
        """Return when the model can be called. Raises `ModelError` if it never can."""
        ...

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the form in which this model is offered them."""
        ...

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the complete answer to a request without tools. Raises as `stream` does."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Call the model. Cancelling the consumer, or `aclose()`, closes the connection.

        Raises `ModelError` for every failure that it foresees. A stream that ends without a `FinishChunk` was broken.
        """
        ...


def max_chars(request: ModelRequest) -> int:
    """Return the number of characters of text, thinking and arguments after which an answer to this request is
    stopped."""
    tokens = request.max_output_tokens + max(request.max_thinking_tokens, 0)
    return min(CHARS_A_TOKEN * tokens + MARGIN_CHARS, MAX_ANSWER_CHARS)


async def within_limit(chunks: AsyncGenerator[Chunk], request: ModelRequest) -> AsyncGenerator[Chunk]:
    """Yield the chunks. An answer that goes far beyond its limit is replaced by its beginning, a notice and a finish
    chunk that says so, and its stream is closed. Raises as `chunks` does."""
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
        case SearchChunk():
            return len(chunk.result or "") + _length_of(chunk.input) + CHUNK_CHARS
        case UsageChunk() | FinishChunk() | NoticeChunk():
            return CHUNK_CHARS


def _length_of(data: Mapping[str, Any] | None) -> int:
    return len(str(data)) if data else 0


async def completed(chunks: AsyncGenerator[Chunk], request: ModelRequest) -> Completion:
    """Return the complete answer to a request, for adapters that implement `complete` by `stream`. Raises `ModelError`
    as the stream does, and if it ends without a finish or far beyond its limit."""
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
                case ThinkingChunk() | ToolCallChunk() | SearchChunk() | NoticeChunk():
                    pass
    if finish is None:
        raise ModelError("The answer broke off. Try again.", type="network")
    if finish == ENDLESS:
        raise ModelError("The answer went far beyond its limit and was stopped.")
    return Completion(text="".join(parts), usage=usage)
