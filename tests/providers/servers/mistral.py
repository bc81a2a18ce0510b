"""Mistral. The rules are those of its own validator (mistralai/mistral-common, protocol/instruct/validator.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tests.providers.servers.answers import Body, Given, Memory
from tests.providers.servers.chat import (
    call_deltas,
    calls_of,
    chat_events,
    finish_of,
    messages_of,
    text_deltas,
)
from tests.providers.servers.rules import Broken, Endpoint, Family

ID = re.compile(r"^[a-zA-Z0-9]{9}$")
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")

ORDER = "invalid_request_message_order"

FOLLOWS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"user", "assistant", "system"}),
    "user": frozenset({"assistant", "system", "user"}),
    "assistant": frozenset({"assistant", "user", "tool"}),
    "tool": frozenset({"assistant", "tool"}),
}
"""Which roles may follow a role."""


# datapizza-labs/datapizza-ai#98 has the whole answer
def roles_follow(body: Body, _: Memory) -> Broken | None:
    """No user message stands directly after a tool message."""
    roles = [message["role"] for message in messages_of(body)]
    for before, after in pairwise(roles):
        if after not in FOLLOWS.get(before, frozenset()):
            message = f"Unexpected role '{after}' after role '{before}'"
            return Broken(message=message, type=ORDER, code="3230")
    return None


# mistralai/client-ts#106
def calls_and_results_are_as_many(body: Body, _: Memory) -> Broken | None:
    """As many tool messages as calls follow each message that calls."""
    broken = Broken(message="Not the same number of function calls and responses", type=ORDER, code="3230")
    expected = 0
    for message in messages_of(body):
        if message["role"] == "tool":
            expected -= 1
        elif message["role"] == "assistant":
            if expected != 0:
                return broken
            expected = len(calls_of(message))
    return broken if expected else None


def the_last_word_is_not_the_assistants(body: Body, _: Memory) -> Broken | None:
    """The last message is the user's or a tool's."""
    last = messages_of(body)[-1]
    if last["role"] == "assistant" and not last.get("prefix"):
        message = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
        return Broken(message=message, type=ORDER, code="3230")
    return None


# editor-code-assistant/eca#233 has the whole answer
def ids_have_nine_characters(body: Body, _: Memory) -> Broken | None:
    """Ids of calls are nine letters and digits."""
    for message in messages_of(body):
        for call_id in (*(call["id"] for call in calls_of(message)), *_result_id(message)):
            if not ID.match(call_id):
                refusal = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
                return Broken(message=refusal, type="invalid_function_call", code="3280")
    return None


def _result_id(message: Body) -> Iterator[str]:
    if message["role"] == "tool":
        yield message["tool_call_id"]


# The newer models take both together.
def assistants_say_something(body: Body, _: Memory) -> Broken | None:
    """A message of the assistant has content or calls."""
    for message in messages_of(body):
        if message["role"] == "assistant" and not message.get("content") and not calls_of(message):
            refusal = "Assistant message must have either content or tool_calls, but not both."
            return Broken(message=refusal, type="invalid_request_assistant_message", code="3240")
    return None


def names_are_names(body: Body, _: Memory) -> Broken | None:
    """Names of functions have at most 64 characters of few kinds."""
    called = [call["function"]["name"] for message in messages_of(body) for call in calls_of(message)]
    for name in [*(tool["function"]["name"] for tool in body.get("tools") or ()), *called]:
        if not NAME.match(name):
            refusal = (
                f"Function name was {name} but must be a-z, A-Z, 0-9, "
                "or contain underscores and dashes, with a maximum length of 64."
            )
            return Broken(message=refusal, type="invalid_function_call", code="3280")
    return None


def mistral_events(body: Body, given: Given) -> Iterator[str]:
    """Ids have nine characters; thoughts are parts of the content (https://docs.mistral.ai/capabilities/reasoning)."""
    ids = [given.short_id(index) for index in range(len(given.answer.calls))]
    thoughts = [
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}]}
        for thought in given.answer.thoughts
    ]
    return chat_events(body, [*thoughts, *text_deltas(given), *call_deltas(given, ids)], finish_of(given))


def mistral_error(broken: Broken) -> Mapping[str, object]:
    """A refusal as Mistral words it: not inside an `error`."""
    return {"object": "error", "message": broken.message, "type": broken.type, "param": None, "code": broken.code}


MISTRAL = Family(
    name="mistral",
    endpoints=(
        Endpoint(
            path="/chat/completions",
            types="chat",
            rules=(
                the_last_word_is_not_the_assistants,
                roles_follow,
                calls_and_results_are_as_many,
                assistants_say_something,
                ids_have_nine_characters,
                names_are_names,
            ),
            events=mistral_events,
            refuse=mistral_error,
            thinks=lambda body: "magistral" in body["model"],
        ),
    ),
)
