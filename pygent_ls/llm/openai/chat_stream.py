"""The events of a chat completions stream as our chunks, also where a provider's habits are odd. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pygent_ls.agent.messages import Usage
from pygent_ls.agent.model import Chunk, FinishChunk, TextChunk, ThinkingChunk, UsageChunk
from pygent_ls.llm.http.answers import AnswerError
from pygent_ls.llm.http.server_sent_events import SentEvent
from pygent_ls.llm.known_model import KnownModel
from pygent_ls.llm.message_rules import COMMON, MessageRules
from pygent_ls.llm.openai.call_fragments import CallFragments

DONE = "[DONE]"

MAX_COUNT = 10**12
"""Of tokens; more is no count."""


def is_last(event: SentEvent) -> bool:
    """Whether the provider says that this is all."""
    return event.data.strip() == DONE


@dataclass(slots=True, kw_only=True)
class ChatStream:
    """Translates one answer, event by event; `end` once the stream is over."""

    known: KnownModel
    finish: str | None = None
    """Why the model stopped; None until it is said."""
    was_closed: bool = False
    """The provider said that this was all."""
    rules: MessageRules = COMMON
    """Of the model's family: what it wants back."""
    _calls: CallFragments = field(default_factory=CallFragments)
    _details: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """OpenRouter's `reasoning_details`, the pieces of one text joined."""
    _back: dict[str, Any] = field(default_factory=dict[str, Any])
    """Further fields of the message that go back as they came."""
    _has_thought: bool = False
    _usage: Mapping[str, Any] | None = None
    _refused: bool = False

    def chunks(self, event: SentEvent) -> Iterator[Chunk]:
        """What one event brings. Raises `AnswerError` for an error in the stream, and for what cannot be read."""
        if is_last(event):
            self.was_closed = True
            return
        piece = parsed(event)
        error = piece.get("error") or (piece.get("object") == "error" and piece)
        if error:
            raise AnswerError(event.data, body=_error_body(error))
        usage = piece.get("usage") or obj(piece.get("x_groq")).get("usage")
        if isinstance(usage, dict):
            self._usage = cast("Mapping[str, Any]", usage)
        choices = piece.get("choices")
        if isinstance(choices, list) and choices:
            choice = obj(cast("list[object]", choices)[0])
            self.finish = text(choice.get("finish_reason")) or self.finish
            if self.finish == "error":  # OpenRouter's, where a provider behind it failed
                raise AnswerError("it failed", body=_error_body(choice.get("error") or "it failed"))
            yield from self._delta(obj(choice.get("delta")))

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[Chunk]:
        thinking = text(delta.get("reasoning_content")) or text(delta.get("reasoning"))
        self._keep_for_provider(delta)
        if thinking:
            self._has_thought = True
            yield ThinkingChunk(thinking=thinking)
        content = delta.get("content")
        if isinstance(content, list):
            yield from _parts(cast("list[object]", content))
        elif content and isinstance(content, str):
            yield TextChunk(text=content)
        refusal = text(delta.get("refusal"))
        if refusal:
            self._refused = True
            yield TextChunk(text=refusal)
        calls = delta.get("tool_calls")
        for call in cast("list[object]", calls) if isinstance(calls, list) else ():
            given = obj(call)
            function, index = obj(given.get("function")), given.get("index")
            yield self._calls.add(
                index if isinstance(index, int) else None,
                text(given.get("id")),
                text(function.get("name")),
                _arguments(function.get("arguments")),
                {"extra_content": given["extra_content"]} if obj(given.get("extra_content")) else None,
            )

    def _keep_for_provider(self, delta: Mapping[str, Any]) -> None:
        """Keep what goes back verbatim; an answer whose reasoning is an empty text goes back with an empty text."""
        details = delta.get("reasoning_details")
        for each in cast("list[object]", details) if isinstance(details, list) else ():
            if detail := dict(obj(each)):
                add_detail(self._details, detail)
        if extra := obj(delta.get("extra_content")):
            self._back["extra_content"] = extra
        if self.rules.reasoning_field and delta.get(self.rules.reasoning_field) == "":
            self._back[self.rules.reasoning_field] = ""

    def end(self) -> Iterator[Chunk]:
        """What is known once the stream is over."""
        back = dict(self._back)
        if self._has_thought:
            back.pop(self.rules.reasoning_field, None)
        if self._details:
            back["reasoning_details"] = self._details
        if back:
            yield ThinkingChunk(thinking="", provider_data=back)
        if self._usage is not None:
            yield UsageChunk(usage=self._counted(self._usage))
        if self.finish is not None or self.was_closed:  # some never say why; that it was all is enough
            yield FinishChunk(reason="refusal" if self._refused else self.finish or "")

    def _counted(self, usage: Mapping[str, Any]) -> Usage:
        details = obj(usage.get("prompt_tokens_details"))
        read = number(details.get("cached_tokens")) or number(usage.get("prompt_cache_hit_tokens"))
        write = number(details.get("cache_write_tokens")) or number(usage.get("cache_creation_input_tokens"))
        counted = self.known.counted(
            n_input=number(usage.get("prompt_tokens")),
            n_output=number(usage.get("completion_tokens")),
            cache_read=read,
            cache_write=write,
        )
        cost = usage.get("cost")  # OpenRouter tells what it took, in dollars
        if (
            counted.cost_usd is None
            and isinstance(cost, int | float)
            and not isinstance(cost, bool)
            and 0 <= cost <= MAX_COUNT
        ):
            return replace(counted, cost_usd=float(cost))
        return counted


_TEXTS_OF_DETAILS = ("text", "summary")


def add_detail(details: list[dict[str, Any]], new: dict[str, Any]) -> None:
    """Add a piece of OpenRouter's `reasoning_details`; it joins the last one if it goes on with its text.

    Other fields, such as the signature that comes with the last piece, replace empty ones.
    """
    last = details[-1] if details else {}
    names = [name for name in _TEXTS_OF_DETAILS if isinstance(new.get(name), str)]
    goes_on = last.get("type") == new.get("type") and last.get("index") == new.get("index") and names
    if not goes_on or (last.get("id") and new.get("id") and last["id"] != new["id"]) or last.get("signature"):
        details.append(new)
        return
    for name, value in new.items():
        if name in names:
            last[name] = str(last.get(name) or "") + value
        elif value is not None:
            last[name] = value


def parsed(event: SentEvent) -> Mapping[str, Any]:
    """The event's object. Raises `AnswerError`."""
    try:
        value: object = json.loads(event.data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        message = "a piece of its stream cannot be read"
        raise AnswerError(message, body={"type": "server_error", "message": message})
    return cast("dict[str, Any]", value)


def _error_body(error: object) -> Mapping[str, Any]:
    return {"error": error if isinstance(error, dict) else {"type": "server_error", "message": str(error)}}


def _parts(content: list[object]) -> Iterator[Chunk]:
    """Mistral's: a list of texts and thoughts."""
    for each in map(obj, content):
        match each.get("type"):
            case "text" if text(each.get("text")):
                yield TextChunk(text=text(each.get("text")))
            case "thinking":
                inner: object = each.get("thinking")
                thoughts = cast("list[object]", inner) if isinstance(inner, list) else []
                thinking = "".join(text(obj(thought).get("text")) for thought in thoughts) or text(each.get("thinking"))
                if thinking:
                    yield ThinkingChunk(thinking=thinking)
            case _:
                pass


def _arguments(given: object) -> str:
    """Pieces of JSON; some servers send the whole object at once."""
    return json.dumps(given) if isinstance(given, dict) else text(given)


def obj(value: object) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def text(value: object) -> str:
    """The value where it is text, else none."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """The value where it is a count, else 0."""
    return value if isinstance(value, int) and 0 < value <= MAX_COUNT else 0
