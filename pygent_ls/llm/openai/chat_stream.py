"""Conversion of chat completions events to our chunks, which tolerates providers' deviations. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct, field

from pygent_ls.agent.json_fields import obj, objects, text
from pygent_ls.agent.ports.model import Chunk, FinishChunk, TextChunk, ThinkingChunk, UsageChunk
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.errors.answer_errors import AnswerError, error_body, error_in, parsed, stream_error, unreadable
from pygent_ls.llm.message_rules import COMMON, MessageRules
from pygent_ls.llm.openai.call_fragments import CallFragments
from pygent_ls.llm.openai.chat_format import SEALED_THOUGHTS
from pygent_ls.llm.openai.think_tags import ThinkTags
from pygent_ls.llm.openai.usage import counted_usage, reported_usage
from pygent_ls.llm.server_sent_events import SentEvent

DONE = "[DONE]"


def is_last(event: SentEvent) -> bool:
    """Whether this is the provider's last event."""
    return event.data.strip() == DONE


class ChatStream(Struct, kw_only=True):
    """Translates one answer, event by event; `end` is called after the last event."""

    known: KnownModel
    finish: str | None = None
    """Why the model stopped; None until it is known."""
    was_closed: bool = False
    """Whether the provider sent its final event."""
    rules: MessageRules = COMMON
    """Rules of the model's family: which data it expects back."""
    tags: ThinkTags = field(default_factory=ThinkTags)
    _calls: CallFragments = field(default_factory=CallFragments)
    _details: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """OpenRouter's `reasoning_details`, the pieces of one text joined."""
    _blocks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Claude's thinking with its signatures, as a LiteLLM proxy passes it on, the pieces of one block joined."""
    _back: dict[str, Any] = field(default_factory=dict[str, Any])
    """Further fields of the message that are sent back unchanged."""
    _has_thought: bool = False
    _usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _refused: bool = False

    def chunks(self, event: SentEvent) -> Iterator[Chunk]:
        """Yield the chunks of one event. Raises `AnswerError` for an error event and for an unreadable one."""
        if is_last(event):
            self.was_closed = True
            return
        error = stream_error(event)
        if error:
            raise error
        yield from self._piece(parsed(event))

    def whole(self, body: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield the chunks of an answer that was not streamed. Raises `AnswerError` if the object is not an answer."""
        if not isinstance(body.get("choices"), list):
            raise unreadable("its JSON is not a chat completion")
        yield from self._piece(body)
        self.was_closed = True

    def _piece(self, piece: Mapping[str, Any]) -> Iterator[Chunk]:
        if error := error_in(piece):
            raise error
        self._usage = reported_usage(piece) or self._usage
        choices = piece.get("choices")
        if isinstance(choices, list) and choices:
            choice = obj(cast("list[object]", choices)[0])
            self.finish = text(choice.get("finish_reason")) or self.finish
            if failure := _failure(self.finish or ""):
                raise AnswerError("it failed", body=error_body(choice.get("error") or failure))
            yield from self._delta(obj(choice.get("delta")) or obj(choice.get("message")))

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        thinking = text(delta.get("reasoning_content")) or text(delta.get("reasoning"))
        self._keep_for_provider(delta)
        if thinking:
            self._has_thought = True
            yield from self.tags.off()
            yield ThinkingChunk(thinking=thinking)
        content = delta.get("content")
        if isinstance(content, list):
            yield from _parts(cast("list[object]", content))
        elif content and isinstance(content, str):
            yield from self.tags.feed(content)
        refusal = text(delta.get("refusal"))
        if refusal:
            self._refused = True
            yield TextChunk(text=refusal)
        calls = delta.get("tool_calls")
        if calls:
            yield from self.tags.off()
        for given in objects(calls):
            function, index = obj(given.get("function")), given.get("index")
            yield self._calls.add(
                index if isinstance(index, int) else None,
                text(given.get("id")),
                text(function.get("name")),
                _arguments(function.get("arguments")),
                {"extra_content": given["extra_content"]} if obj(given.get("extra_content")) else None,
            )

    def _keep_for_provider(self, delta: Mapping[str, Any]) -> None:
        """Keep data to send back verbatim; empty reasoning text is sent back as an empty text."""
        for detail in objects(delta.get("reasoning_details")):
            if detail:
                add_detail(self._details, dict(detail))
        for block in objects(delta.get("thinking_blocks")):
            add_thinking_block(self._blocks, dict(block))
        if extra := obj(delta.get("extra_content")):
            self._back["extra_content"] = extra
        if self.rules.reasoning_field and delta.get(self.rules.reasoning_field) == "":
            self._back[self.rules.reasoning_field] = ""

    def end(self) -> Iterator[Chunk]:
        """Yield what is known once the stream is over."""
        yield from self.tags.close()
        back = dict(self._back)
        if self._has_thought:
            back.pop(self.rules.reasoning_field, None)
        if self._details:
            back["reasoning_details"] = self._details
        if any(each.get("signature") or each.get("data") for each in self._blocks):
            back[SEALED_THOUGHTS] = self._blocks
        if back:
            yield ThinkingChunk(thinking="", provider_data=back)
        if self._usage:
            yield UsageChunk(usage=counted_usage(self._usage, self.known))
        if self.finish is not None or self.was_closed:  # a complete answer may come without a finish reason
            yield FinishChunk(reason="refusal" if self._refused else self.finish or "")


_TEXTS_OF_DETAILS = ("text", "summary")


def add_detail(details: list[dict[str, Any]], new: dict[str, Any]) -> None:
    """Add a piece of OpenRouter's `reasoning_details`; pieces with the same type and index are joined.

    The signature may come with the last piece, or as a separate piece.
    """
    last = details[-1] if details else {}
    names = [name for name in _TEXTS_OF_DETAILS if isinstance(new.get(name), str)]
    goes_on = last.get("type") == new.get("type") and last.get("index") == new.get("index")
    if (
        not goes_on
        or not (names or "signature" in new)
        or (last.get("id") and new.get("id") and last["id"] != new["id"])
        or last.get("signature")
    ):
        details.append(new)
        return
    for name, value in new.items():
        if name in names:
            last[name] = str(last.get(name) or "") + value
        elif value is not None:
            last[name] = value


def add_thinking_block(blocks: list[dict[str, Any]], new: dict[str, Any]) -> None:
    """Add a piece of a LiteLLM proxy's `thinking_blocks`; the piece with the signature ends a block."""
    last = blocks[-1] if blocks else {}
    if new.get("type") != "thinking" or last.get("type") != "thinking" or last.get("signature"):
        blocks.append(new)
        return
    last["thinking"] = text(last.get("thinking")) + text(new.get("thinking"))
    last["signature"] = text(new.get("signature"))


_FAILURES: Mapping[str, Mapping[str, str]] = {
    "error": {"type": "server_error", "message": "it failed"},
    "network_error": {"type": "server_error", "message": "its network connection failed"},
    "insufficient_system_resource": {"type": "insufficient_system_resource", "message": "it has too few resources"},
    "malformed_function_call": {"type": "tool_use_failed", "message": "the model wrote a malformed call"},
}
"""Finish reasons of failed answers, as OpenRouter, Z.ai, DeepSeek and Gemini name them."""


def _failure(finish: str) -> Mapping[str, str] | None:
    """Return the error that a finish reason indicates; Gemini prefixes it with the name of a filter."""
    return _FAILURES.get(finish.rpartition(": ")[2].lower())


def _parts(content: list[object]) -> Iterator[Chunk]:
    """Yield the chunks of Mistral's content: a list of texts and thinking parts."""
    for each in map(obj, content):
        match each.get("type"):
            case "text" if text(each.get("text")):
                yield TextChunk(text=text(each.get("text")))
            case "thinking":
                inner: object = each.get("thinking")
                thinking = "".join(text(thought.get("text")) for thought in objects(inner)) or text(inner)
                if thinking:
                    yield ThinkingChunk(thinking=thinking)
            case _:
                pass


def _arguments(given: object) -> str:
    """Return a fragment of JSON; some servers send the whole object at once."""
    return json.dumps(given) if isinstance(given, dict) else text(given)
