"""Chat completions as all families have them: how a stream looks, and how calls and results are found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.providers.servers.answers import Body, Given, Memory
from tests.providers.servers.rules import Broken

CHUNK = 9
"""Characters of a text in one event."""

N_WRITTEN = 20
"""Tokens that every answer counts."""

Delta = dict[str, Any]


def pieces(text: str, size: int = CHUNK) -> list[str]:
    """A text in the pieces in which it is streamed."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def tokens_of(body: Body) -> int:
    """Tokens of a request, roughly: a conversation that grows fills the window."""
    return max(100, len(json.dumps(body)) // 4)


def chat_events(body: Body, deltas: Iterable[Delta], finish: str) -> Iterator[str]:
    """The events of an answer that has these deltas."""
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}

    def event(choices: list[Delta], **more: object) -> str:
        return f"data: {json.dumps({**envelope, 'choices': choices, **more})}\n\n"

    yield event([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
    for delta in deltas:
        yield event([{"index": 0, "delta": delta, "finish_reason": None}])
    yield event([{"index": 0, "delta": {}, "finish_reason": finish}])
    if "include_usage" in str(body.get("stream_options")):
        n_read = tokens_of(body)
        usage = {"prompt_tokens": n_read, "completion_tokens": N_WRITTEN, "total_tokens": n_read + N_WRITTEN}
        yield event([], usage=usage)
    yield "data: [DONE]\n\n"


def finish_of(given: Given) -> str:
    """The finish reason of an answer."""
    if given.answer.cut_off:
        return "length"
    return "tool_calls" if given.answer.calls else "stop"


def text_deltas(given: Given) -> Iterator[Delta]:
    """The text of an answer."""
    for piece in pieces(given.answer.text):
        yield {"content": piece}


def call_deltas(given: Given, ids: Sequence[str] = (), extras: Mapping[int, Delta] | None = None) -> Iterator[Delta]:
    """The tool calls of an answer; `extras` are more fields of a call, by its number."""
    for index, call in enumerate(given.answer.calls):
        call_id = ids[index] if ids else given.call_id(index)
        first: Delta = {"index": index, "type": "function", "function": {"name": call.name, "arguments": ""}}
        first |= {"id": call_id} if call_id else {}
        yield {"tool_calls": [first | (extras or {}).get(index, {})]}
        arguments = json.dumps(dict(call.arguments))
        if given.answer.cut_off and index == len(given.answer.calls) - 1:
            arguments = arguments[: len(arguments) // 2]
        for piece in pieces(arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def plain_events(body: Body, given: Given) -> Iterator[str]:
    """An answer of a family that shows no thoughts."""
    return chat_events(body, [*text_deltas(given), *call_deltas(given)], finish_of(given))


def reasoning_events(body: Body, given: Given) -> Iterator[str]:
    """An answer whose thoughts come as `reasoning_content`."""
    thoughts = [{"reasoning_content": piece} for thought in given.answer.thoughts for piece in pieces(thought)]
    return chat_events(body, [*thoughts, *text_deltas(given), *call_deltas(given)], finish_of(given))


def openai_error(broken: Broken) -> Body:
    """A refusal as OpenAI, and most that are compatible, word it."""
    error = {"message": broken.message, "type": broken.type, "param": broken.param, "code": broken.code}
    return {"error": error}


# What stands in a conversation


def messages_of(body: Body) -> list[Body]:
    """The messages of a request."""
    return body["messages"]


def calls_of(message: Body) -> list[Body]:
    """The tool calls of a message."""
    return message.get("tool_calls") or []


def unanswered(messages: Sequence[Body]) -> tuple[int, list[str]] | None:
    """The first message whose calls are not all answered directly after it, and the ids of these calls."""
    for index, message in enumerate(messages):
        wanted = [call["id"] for call in calls_of(message)]
        for following in messages[index + 1 :]:
            if following["role"] != "tool":
                break
            if following["tool_call_id"] in wanted:
                wanted.remove(following["tool_call_id"])
        if wanted:
            return index, wanted
    return None


def orphans(messages: Sequence[Body]) -> Iterator[tuple[int, str]]:
    """Tool messages whose call does not stand in the assistant message before them."""
    open_ids: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                yield index, message["tool_call_id"]
            else:
                open_ids.remove(message["tool_call_id"])
        else:
            open_ids = [call["id"] for call in calls_of(message)]


def current_turn(messages: Sequence[Body]) -> int:
    """The number of the first message after the user's last words."""
    said = [index for index, message in enumerate(messages) if message["role"] == "user"]
    return said[-1] + 1 if said else 0


def given_of(message: Body, memory: Memory) -> Given | None:
    """The answer that an assistant message with calls stands for; None where another model gave it."""
    for call in calls_of(message):
        given = memory.of_call(call["function"]["name"], call["function"]["arguments"])
        if given is not None:
            return given
    return None


def lost_reasoning(body: Body, memory: Memory) -> Iterator[str]:
    """Messages with calls of this server whose `reasoning_content` did not come back word for word."""
    for index, message in enumerate(messages_of(body)):
        given = given_of(message, memory)
        if given is not None and given.answer.thoughts and message.get("reasoning_content") != given.thinking:
            sent = message.get("reasoning_content")
            yield f"messages[{index}].reasoning_content is {sent!r}, and was {given.thinking!r}"
