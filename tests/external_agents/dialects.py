"""What agents ask a model, and its answers, in the formats of four providers: one text or one tool call an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

from pygent_ls.agent.json_fields import obj, objects, text

Json = Mapping[str, Any]

WORDS = ("Hello ", "from ", "the ", "mock.")
"""The answer, piece by piece."""

N_READ, N_WRITTEN = 100, 4
"""Tokens of each request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request asks for."""

    heard: Sequence[str | None]
    """Texts of the user in order; None for the result of a tool."""
    tools: Mapping[str, Json | None]
    """Schema of the arguments of each tool; None for one that takes a text."""
    streams: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """Tool call of an answer."""

    id: str
    name: str
    arguments: Json | str

    @property
    def as_text(self) -> str:
        """The arguments as a text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Dialect(Protocol):
    """Format of one provider's API."""

    def read(self, path: str, body: Json) -> Asked:
        """Return what a request asks for."""
        ...

    def answer(self, use: ToolUse | None) -> Json:
        """Return an answer as one object; a text if no tool is used."""
        ...

    def events(self, use: ToolUse | None) -> Iterator[Json]:
        """Yield the events of a streamed answer."""
        ...


class ChatCompletions:
    """Implements `Dialect` for OpenAI's chat completions."""

    def read(self, path: str, body: Json) -> Asked:
        messages = [(each.get("role"), each.get("content")) for each in objects(body.get("messages"))]
        functions = [obj(each.get("function")) for each in objects(body.get("tools"))]
        heard = [
            None if role == "tool" else _text_of(content) for role, content in messages if role in ("tool", "user")
        ]
        tools = {text(each.get("name")): obj(each.get("parameters")) for each in functions}
        return Asked(heard=heard, tools=tools, streams=bool(body.get("stream")))

    def answer(self, use: ToolUse | None) -> Json:
        message = {"role": "assistant", "content": None if use else "".join(WORDS)}
        message |= {"tool_calls": [self._call(use)]} if use else {}
        choice = {"index": 0, "message": message, "finish_reason": self._finish(use)}
        return {**self._envelope("chat.completion"), "choices": [choice], "usage": self._usage()}

    def events(self, use: ToolUse | None) -> Iterator[Json]:
        deltas = [{"tool_calls": [{"index": 0, **self._call(use)}]}] if use else [{"content": each} for each in WORDS]
        for delta in ({"role": "assistant", "content": ""}, *deltas):
            yield self._chunk(delta, None)
        yield self._chunk({}, self._finish(use))
        yield {**self._envelope("chat.completion.chunk"), "choices": [], "usage": self._usage()}

    def _chunk(self, delta: Json, finish: str | None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**self._envelope("chat.completion.chunk"), "choices": [choice]}

    def _envelope(self, kind: str) -> Json:
        return {"id": "chatcmpl-mock", "object": kind, "created": 1, "model": "mock"}

    def _call(self, use: ToolUse) -> Json:
        return {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": use.as_text}}

    def _finish(self, use: ToolUse | None) -> str:
        return "tool_calls" if use else "stop"

    def _usage(self) -> Json:
        return {"prompt_tokens": N_READ, "completion_tokens": N_WRITTEN, "total_tokens": N_READ + N_WRITTEN}


class Responses:
    """Implements `Dialect` for OpenAI's responses."""

    def read(self, path: str, body: Json) -> Asked:
        items = objects(body.get("input"))
        results = [text(each.get("type")).endswith("_output") for each in items]
        heard = [
            None if is_result else _text_of(each.get("content"))
            for each, is_result in zip(items, results, strict=True)
            if is_result or each.get("role") == "user"
        ]
        tools = {
            text(each.get("name")): None if each.get("type") == "custom" else obj(each.get("parameters"))
            for each in objects(body.get("tools"))
            if each.get("type") in ("function", "custom")
        }
        return Asked(heard=heard, tools=tools, streams=bool(body.get("stream")))

    def answer(self, use: ToolUse | None) -> Json:
        usage = {
            "input_tokens": N_READ,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": N_WRITTEN,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": N_READ + N_WRITTEN,
        }
        return {**self._begun(), "status": "completed", "output": [self._item(use)], "usage": usage}

    def events(self, use: ToolUse | None) -> Iterator[Json]:
        item = self._item(use)
        begun: Json = {**item, "status": "in_progress", **({} if use else {"content": []})}
        place: Json = {"item_id": item["id"], "output_index": 0, "content_index": 0, "logprobs": []}
        texts: list[Json] = [{"type": "response.output_text.delta", **place, "delta": each} for each in WORDS]
        events: Sequence[Json] = (
            {"type": "response.created", "response": {**self._begun(), "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": begun},
            *([] if use else texts),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": self.answer(use)},
        )
        for number, event in enumerate(events):
            yield {**event, "sequence_number": number}

    def _begun(self) -> Json:
        return {
            "id": "resp_mock",
            "object": "response",
            "created_at": 1,
            "model": "mock",
            "output": [],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
        }

    def _item(self, use: ToolUse | None) -> Json:
        done = {"id": "item_mock", "status": "completed"}
        if use is None:
            content: list[Json] = [{"type": "output_text", "text": "".join(WORDS), "annotations": []}]
            return {**done, "type": "message", "role": "assistant", "content": content}
        called = {**done, "call_id": use.id, "name": use.name}
        if isinstance(use.arguments, str):
            return {**called, "type": "custom_tool_call", "input": use.arguments}
        return {**called, "type": "function_call", "arguments": use.as_text}


class Messages:
    """Implements `Dialect` for Anthropic's messages."""

    def read(self, path: str, body: Json) -> Asked:
        contents = [each.get("content") for each in objects(body.get("messages")) if each.get("role") == "user"]
        blocks = [block for each in contents for block in objects(each) or [{"text": each}]]
        heard = [None if each.get("type") == "tool_result" else text(each.get("text")) for each in blocks]
        given = [each for each in objects(body.get("tools")) if "input_schema" in each]
        tools = {text(each.get("name")): obj(each.get("input_schema")) for each in given}
        return Asked(heard=heard, tools=tools, streams=bool(body.get("stream")))

    def answer(self, use: ToolUse | None) -> Json:
        block = {**self._block(use), **({"input": use.arguments} if use else {"text": "".join(WORDS)})}
        return {**self._message(), "content": [block], "stop_reason": self._finish(use)}

    def events(self, use: ToolUse | None) -> Iterator[Json]:
        texts = [{"type": "text_delta", "text": each} for each in WORDS]
        deltas = [{"type": "input_json_delta", "partial_json": use.as_text}] if use else texts
        yield {"type": "message_start", "message": {**self._message(), "content": [], "stop_reason": None}}
        yield {"type": "content_block_start", "index": 0, "content_block": self._block(use)}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        end = {"stop_reason": self._finish(use), "stop_sequence": None}
        yield {"type": "message_delta", "delta": end, "usage": self._message()["usage"]}
        yield {"type": "message_stop"}

    def _message(self) -> Json:
        cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        usage = {"input_tokens": N_READ, "output_tokens": N_WRITTEN, **cache}
        head = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": "mock"}
        return {**head, "stop_sequence": None, "usage": usage}

    def _block(self, use: ToolUse | None) -> Json:
        if use is None:
            return {"type": "text", "text": ""}
        return {"type": "tool_use", "id": use.id, "name": use.name, "input": {}}

    def _finish(self, use: ToolUse | None) -> str:
        return "tool_use" if use else "end_turn"


class Gemini:
    """Implements `Dialect` for Gemini's `generateContent`."""

    def read(self, path: str, body: Json) -> Asked:
        contents = [each for each in objects(body.get("contents")) if each.get("role") != "model"]
        parts = [part for each in contents for part in objects(each.get("parts"))]
        heard = [None if "functionResponse" in each else text(each.get("text")) for each in parts]
        declared = [tool for each in objects(body.get("tools")) for tool in objects(each.get("functionDeclarations"))]
        tools = {
            text(each.get("name")): obj(each.get("parametersJsonSchema") or each.get("parameters")) for each in declared
        }
        return Asked(heard=heard, tools=tools, streams="stream" in path)

    def answer(self, use: ToolUse | None) -> Json:
        return self._chunk(self._parts(use), is_last=True)

    def events(self, use: ToolUse | None) -> Iterator[Json]:
        parts = self._parts(use)
        for each in parts:
            yield self._chunk([each], is_last=each is parts[-1])

    def _parts(self, use: ToolUse | None) -> Sequence[Json]:
        if use is None:
            return [{"text": each} for each in WORDS]
        return [{"functionCall": {"id": use.id, "name": use.name, "args": use.arguments}}]

    def _chunk(self, parts: Sequence[Json], *, is_last: bool) -> Json:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
        usage = {
            "promptTokenCount": N_READ,
            "candidatesTokenCount": N_WRITTEN,
            "totalTokenCount": N_READ + N_WRITTEN,
        }
        end = {"finishReason": "STOP"} if is_last else {}
        return {"candidates": [{**candidate, **end}], "usageMetadata": usage, "modelVersion": "mock"}


def dialect_of(path: str) -> Dialect | None:
    """Return the format of requests to a path; None for another path."""
    known: Mapping[str, Dialect] = {
        "/chat/completions": ChatCompletions(),
        "/responses": Responses(),
        "/messages": Messages(),
        ":generateContent": Gemini(),
        ":streamGenerateContent": Gemini(),
    }
    return next((dialect for ending, dialect in known.items() if path.partition("?")[0].endswith(ending)), None)


def _text_of(content: object) -> str:
    return text(content) or "\n".join(text(each.get("text")) for each in objects(content))
