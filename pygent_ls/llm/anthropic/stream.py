"""Conversion of Anthropic's Messages API events to our chunks. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct, field

from pygent_ls.agent.json_fields import number, obj, text
from pygent_ls.agent.ports.model import Chunk, FinishChunk, TextChunk, ThinkingChunk, UsageChunk
from pygent_ls.llm.anthropic.web_search import SearchBlocks
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.errors.answer_errors import AnswerError, parsed, stream_error, unreadable
from pygent_ls.llm.openai.call_fragments import CallFragments
from pygent_ls.llm.server_sent_events import SentEvent

_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def is_last(event: SentEvent) -> bool:
    """Whether this is the provider's last event."""
    return event.name == "message_stop" or event.data.startswith('{"type":"message_stop"')


class MessageStream(Struct, kw_only=True):
    """Translates one answer, event by event; `end` is called after the last event."""

    known: KnownModel
    finish: str | None = None
    """Why the model stopped; None until it is known."""
    was_closed: bool = False
    """Whether the provider sent its final event."""
    _id: str = ""
    """The provider's id of the answer."""
    _calls: CallFragments = field(default_factory=CallFragments)
    _usage: dict[str, int] = field(default_factory=dict[str, int])
    _n_kept_1h: int = 0
    """Tokens written to the one-hour cache."""
    _called: set[int] = field(default_factory=set[int])
    """Indices of the blocks that call our tools; the provider's own tools have input too."""
    _searches: SearchBlocks = field(default_factory=SearchBlocks)
    _n_searches: int = 0
    """Web searches of the provider, as it counts them."""

    def chunks(self, event: SentEvent) -> Iterator[Chunk]:
        """Yield the chunks of one event. Raises `AnswerError` for an error event and for an unreadable one."""
        error = stream_error(event)
        if error:
            raise error
        piece = parsed(event)
        match piece.get("type"):
            case "message_start":
                self._open(obj(piece.get("message")))
            case "content_block_start":
                yield from self._begun(number(piece.get("index")), obj(piece.get("content_block")))
            case "content_block_delta":
                yield from self._delta(number(piece.get("index")), obj(piece.get("delta")))
            case "content_block_stop":
                yield from self._searches.ended(number(piece.get("index")))
            case "message_delta":
                self.finish = text(obj(piece.get("delta")).get("stop_reason")) or self.finish
                self._count(obj(piece.get("usage")))
            case "message_stop":
                self.was_closed = True
            case "error":
                raise AnswerError(event.data, body=piece)
            case _:
                pass  # pings, and events added in the future

    def whole(self, body: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield the chunks of an answer that was not streamed. Raises `AnswerError` if the object is not an answer."""
        content = body.get("content")
        if not isinstance(content, list):
            raise unreadable("its JSON is not a message")
        for index, block in enumerate(map(obj, cast("list[object]", content))):
            yield from self._begun(index, block)
            if block.get("type") == "thinking" and text(block.get("signature")):
                yield ThinkingChunk(thinking="", signature=text(block.get("signature")))
            yield from self._searches.ended(index)
        self.finish = text(body.get("stop_reason")) or self.finish
        self._count(obj(body.get("usage")))
        self.was_closed = True

    def end(self) -> Iterator[Chunk]:
        """Yield what is known once the stream is over."""
        if self._usage:
            read, write = (self._usage.get(name, 0) for name in _COUNTS[2:])
            usage = self.known.counted(
                n_input=self._usage.get("input_tokens", 0) + read + write,
                n_output=self._usage.get("output_tokens", 0),
                cache_read=read,
                cache_write=write,
                cache_write_1h=min(self._n_kept_1h, write),
            )
            yield UsageChunk(usage=self.known.with_searches(usage, self._n_searches))
        if self.finish is not None or self.was_closed:  # a complete answer may come without a stop reason
            yield FinishChunk(reason=self.finish or "")

    def _open(self, message: Mapping[str, Any]) -> None:
        """Begin the answer, or do nothing if it has begun. Raises `AnswerError` for a second answer in the stream."""
        name = text(message.get("id"))
        if name and self._id and name != self._id:
            raise unreadable("a second answer started in the same stream")
        self._id = name or self._id
        self._count(obj(message.get("usage")))

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Update the token counts. Later counts replace earlier ones; a 0 from a gateway counts as missing."""
        written = obj(usage.get("cache_creation"))  # the same count, split by cache lifetime
        self._n_kept_1h = number(written.get("ephemeral_1h_input_tokens")) or self._n_kept_1h
        if written and not usage.get("cache_creation_input_tokens"):
            usage = {**usage, "cache_creation_input_tokens": sum(map(number, written.values()))}
        searched = obj(usage.get("server_tool_use"))
        self._n_searches = number(searched.get("web_search_requests")) or self._n_searches
        for name in _COUNTS:
            if isinstance(usage.get(name), int):
                self._usage[name] = number(usage[name]) or self._usage.get(name, 0)

    def _begun(self, index: int, block: Mapping[str, Any]) -> Iterator[Chunk]:
        self._called.discard(index)
        yield from self._searches.begun(index, block)
        match block.get("type"):
            case "text" if text(block.get("text")):
                yield TextChunk(text=text(block.get("text")))
            case "thinking" if text(block.get("thinking")):
                yield ThinkingChunk(thinking=text(block.get("thinking")))
            case "redacted_thinking":
                yield ThinkingChunk(thinking="", redacted=text(block.get("data")))
            case "tool_use":
                self._called.add(index)
                given = block.get("input")
                arguments = json.dumps(given) if given else ""  # some gateways send the complete input at once
                yield self._calls.add(index, text(block.get("id")), text(block.get("name")), arguments)
            case _:
                pass

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        match delta.get("type"):
            case "text_delta" if text(delta.get("text")):
                yield TextChunk(text=text(delta.get("text")))
            case "thinking_delta" if text(delta.get("thinking")):
                yield ThinkingChunk(thinking=text(delta.get("thinking")))
            case "signature_delta" if text(delta.get("signature")):
                yield ThinkingChunk(thinking="", signature=text(delta.get("signature")))
            case "input_json_delta" if index in self._called:
                yield self._calls.add(index, "", "", text(delta.get("partial_json")))
            case _:
                self._searches.add(index, delta)
