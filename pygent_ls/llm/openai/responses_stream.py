"""Conversion of OpenAI's Responses API events to our chunks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct, field

from pygent_ls.agent.json_fields import number, obj, objects, text, texts
from pygent_ls.agent.ports.model import Chunk, FinishChunk, SearchChunk, TextChunk, ThinkingChunk, UsageChunk
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.errors.answer_errors import AnswerError, parsed, stream_error, unreadable
from pygent_ls.llm.openai.call_fragments import CallFragments
from pygent_ls.llm.openai.chat_stream import DONE
from pygent_ls.llm.openai.responses_request import MESSAGE, REASONING, SEARCH
from pygent_ls.llm.openai.usage import charged_usd
from pygent_ls.llm.search_results import SEARCHED, shown_url
from pygent_ls.llm.server_sent_events import SentEvent

_LAST = ("response.completed", "response.incomplete", "response.failed", "error")

_TYPE = re.compile(r'\s*\{\s*"type"\s*:\s*"([\w.]+)"')

_OF_ITEMS = frozenset(
    {
        "response.output_text.delta",
        "response.refusal.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.reasoning_summary_part.added",
        "response.function_call_arguments.delta",
    }
)
"""Events with a piece of an output item."""

_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def is_last(event: SentEvent) -> bool:
    """Whether this is the provider's last event."""
    found = _TYPE.match(event.data)
    return (event.name or (found[1] if found else "")) in _LAST or event.data.strip() == DONE


class _Places(Struct):
    """Assigns events to output items, also for servers that leave `output_index` out, such as llama.cpp."""

    _by_id: dict[str, int] = field(default_factory=dict[str, int])
    _last: int = -1
    _is_open: bool = False

    def of(self, event: Mapping[str, Any], kind: str) -> int:
        """Return the item's index: the server's, or else ours by its id, or else that of the open item."""
        given = event.get("output_index")
        if isinstance(given, int):
            return given
        item = obj(event.get("item"))
        names = [name for name in (text(item.get("id")), text(item.get("call_id")), text(event.get("item_id"))) if name]
        begins = kind == "response.output_item.added"
        known = next((self._by_id[name] for name in names if name in self._by_id), None)
        if known is None and not begins and self._is_open:
            known = self._last
        if known is None:
            known = self._last = self._last + 1
        self._by_id |= dict.fromkeys(names, known)
        self._is_open = kind != "response.output_item.done"
        return known


class ResponsesStream(Struct, kw_only=True):
    """Translates one answer, event by event; `end` is called after the last event."""

    known: KnownModel
    finish: str | None = None
    """Why the model stopped; None until it is known."""
    was_closed: bool = False
    """Whether the provider sent its final event."""
    _calls: CallFragments = field(default_factory=CallFragments)
    _usage: Mapping[str, Any] | None = None
    _refused: bool = False
    _streamed: set[int] = field(default_factory=set[int])
    """Output items whose text, reasoning or arguments arrived in pieces."""
    _places: _Places = field(default_factory=_Places)
    _done: set[int] = field(default_factory=set[int])
    """Output items that are complete."""
    _n_searches: int = 0
    """Web searches of the provider; pages that it read do not count."""

    def chunks(self, event: SentEvent) -> Iterator[Chunk]:
        """Yield the chunks of one event. Raises `AnswerError` for an error event and for an unreadable one."""
        if event.data.strip() == DONE:
            self.was_closed = True
            return
        error = stream_error(event)
        if error:
            raise error
        piece = parsed(event)
        _check_dialect(piece)
        named = text(piece.get("type")) or event.name
        match named:
            case "response.output_item.added":
                yield from self._begun(self._places.of(piece, named), obj(piece.get("item")))
            case "response.output_item.done":
                yield from self._ended(self._places.of(piece, named), obj(piece.get("item")))
            case "response.completed" | "response.incomplete":
                yield from self._closed(obj(piece.get("response")))
            case "response.failed":
                failed = obj(obj(piece.get("response")).get("error"))
                raise AnswerError(event.data, body={"error": failed or {"message": "it failed"}})
            case "error":
                raise AnswerError(event.data, body={"error": piece.get("error") or piece})
            case kind if kind in _OF_ITEMS:
                yield from self._delta(kind, self._places.of(piece, kind), piece)
            case _:
                pass  # beginnings and ends of parts, the provider's own tools, and events added in the future

    def whole(self, body: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield the chunks of an answer that was not streamed. Raises `AnswerError` if it failed or cannot be read."""
        failed = obj(body.get("error"))
        if failed:
            raise AnswerError(text(failed.get("message")), body={"error": failed})
        _check_dialect(body)
        if not isinstance(body.get("output"), list):
            raise unreadable("its JSON is not a response")
        yield from self._closed(body)

    def _delta(self, kind: str, index: int, piece: Mapping[str, Any]) -> Iterator[Chunk]:
        delta = text(piece.get("delta"))
        match kind:
            case "response.output_text.delta":
                yield from self._text(index, delta)
            case "response.refusal.delta":
                self._refused = True
                yield from self._text(index, delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._thinking(index, delta)
            case "response.function_call_arguments.delta":
                self._streamed.add(index)
                yield self._calls.add(index, "", "", delta)
            case _:  # a part of a summary begins
                if index in self._streamed:
                    yield ThinkingChunk(thinking="\n\n")

    def end(self) -> Iterator[Chunk]:
        """Yield what is known once the stream is over."""
        if self._usage is not None:
            details = obj(self._usage.get("input_tokens_details"))
            charged = charged_usd(self._usage, self.known)
            usage = self.known.counted(
                n_input=number(self._usage.get("input_tokens")),
                n_output=number(self._usage.get("output_tokens")),
                cache_read=number(details.get("cached_tokens")),
                cache_write=number(details.get("cache_write_tokens")),
                cost_usd=charged,
            )
            yield UsageChunk(usage=usage if charged is not None else self.known.with_searches(usage, self._n_searches))
        if self.finish is not None or self.was_closed:
            yield FinishChunk(reason="refusal" if self._refused else self.finish or "")

    def _text(self, index: int, said: str) -> Iterator[Chunk]:
        if said:
            self._streamed.add(index)
            yield TextChunk(text=said)

    def _thinking(self, index: int, thought: str) -> Iterator[Chunk]:
        if thought:
            self._streamed.add(index)
            yield ThinkingChunk(thinking=thought)

    def _begun(self, index: int, item: Mapping[str, Any]) -> Iterator[Chunk]:
        if item.get("type") == "function_call":
            arguments = text(item.get("arguments"))
            if arguments:
                self._streamed.add(index)
            yield self._calls.add(index, text(item.get("call_id")), text(item.get("name")), arguments)

    def _ended(self, index: int, item: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield the parts of a complete item that were not streamed, and its data to send back to the provider."""
        if index in self._done:
            return
        self._done.add(index)
        has_come = index in self._streamed
        match item.get("type"):
            case "reasoning":
                said = "" if has_come else "\n\n".join(_texts(item.get("summary")) or _texts(item.get("content")))
                yield ThinkingChunk(thinking=said, provider_data={REASONING: dict(item)})
            case "message":
                yield from self._message(index, item)
            case "function_call":
                arguments = "" if has_come else text(item.get("arguments"))
                yield self._calls.add(index, text(item.get("call_id")), text(item.get("name")), arguments)
            case "web_search_call":
                yield from self._searched(item)
            case _:
                pass

    def _searched(self, item: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield a search, or a page that the provider read. Its action is known only when it is over."""
        action = obj(item.get("action"))
        kind, query, url = (text(action.get(name)) for name in ("type", "query", "url"))
        self._n_searches += kind == "search"
        given = {"url": url} if url else {"query": query or "; ".join(texts(action.get("queries")))}
        failed = item.get("status") == "failed"
        found = [shown_url(each) for each in _sources(action.get("sources"))]
        said = "The provider's search failed." if failed else "\n".join(found) or SEARCHED
        yield ThinkingChunk(thinking="", provider_data={SEARCH: dict(item)})
        yield SearchChunk(id=text(item.get("id")), input=given)
        yield SearchChunk(id=text(item.get("id")), input=given, result=said, is_error=failed)

    def _message(self, index: int, item: Mapping[str, Any]) -> Iterator[Chunk]:
        if index not in self._streamed:
            for part in objects(item.get("content")):
                self._refused = self._refused or part.get("type") == "refusal"
                yield from self._text(index, text(part.get("text")) or text(part.get("refusal")))
        if item.get("phase"):
            yield ThinkingChunk(thinking="", provider_data={MESSAGE: {"phase": item["phase"]}})

    def _closed(self, response: Mapping[str, Any]) -> Iterator[Chunk]:
        """Process the complete response: some servers send its items only with it."""
        self.was_closed = True
        if not self._done and not self._streamed:
            for index, item in enumerate(objects(response.get("output"))):
                yield from self._ended(index, item)
        usage = response.get("usage")
        if isinstance(usage, dict):
            self._usage = cast("Mapping[str, Any]", usage)
        reason = text(obj(response.get("incomplete_details")).get("reason"))
        if reason or response.get("status") == "incomplete":
            self.finish = _REASONS.get(reason, reason or "length")
        else:
            self.finish = "tool_calls" if self._calls.any else "stop"


def _check_dialect(piece: Mapping[str, Any]) -> None:
    """Raise `AnswerError` for a chat completion: some gateways without a Responses API send one at any path."""
    if isinstance(piece.get("choices"), list) and "type" not in piece:
        raise AnswerError("it sent a chat completion", status=404)


def _sources(sources: object) -> list[str]:
    return [name for each in objects(sources) if (name := text(each.get("url")) or text(each.get("name")))]


def _texts(parts: object) -> list[str]:
    return [said for each in objects(parts) if (said := text(each.get("text")))]
