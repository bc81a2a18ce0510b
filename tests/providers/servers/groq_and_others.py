"""Groq, xAI and Z.ai: chat completions with few rules of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.providers.servers.answers import Body, Given, Memory
from tests.providers.servers.chat import (
    call_deltas,
    chat_events,
    finish_of,
    messages_of,
    openai_error,
    pieces,
    plain_events,
    reasoning_events,
    text_deltas,
)
from tests.providers.servers.openai_chat import HISTORY
from tests.providers.servers.reasoning_back import thinking_is_on
from tests.providers.servers.rules import Broken, Endpoint, Family

GROQ_FIELDS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "reasoning"})

GROQ_REASONS = re.compile(r"gpt-oss|qwen|deepseek")
"""Models of Groq that reason (https://console.groq.com/docs/reasoning)."""


# NousResearch/hermes-agent#11089 has the whole answer; tashfeenahmed/freellmapi#1070
def groq_knows_few_fields(body: Body, _: Memory) -> Broken | None:
    """A field of a message that Groq does not know is refused."""
    for index, message in enumerate(messages_of(body)):
        for name in sorted(message.keys() - GROQ_FIELDS):
            where = f"'messages.{index}'"
            return Broken(
                message=f"{where} : for 'role:{message['role']}' the following must be satisfied"
                f"[({where} : property '{name}' is unsupported)]"
            )
    return None


# vercel/ai#8057
def groq_takes_reasoning_of_models_that_reason(body: Body, _: Memory) -> Broken | None:
    """`reasoning` of a message is for models that reason."""
    for index, message in enumerate(messages_of(body)):
        if "reasoning" in message and not GROQ_REASONS.search(body["model"]):
            return Broken(message=f"messages[{index}].reasoning: reasoning is not supported with this model")
    return None


# https://console.groq.com/docs/reasoning#options-for-reasoning-effort
def groq_effort_is_for_models_that_reason(body: Body, _: Memory) -> Broken | None:
    """Other models take no effort."""
    if "reasoning_effort" in body and not GROQ_REASONS.search(body["model"]):
        message = "`reasoning_effort` is not supported with this model"
        return Broken(message=message, param="reasoning_effort", about="parameter")
    return None


def groq_events(body: Body, given: Given) -> Iterator[str]:
    """Thoughts come as `reasoning`, as the recordings of gpt-oss-120b have them."""
    thoughts = [{"reasoning": piece} for thought in given.answer.thoughts for piece in pieces(thought)]
    return chat_events(body, [*thoughts, *text_deltas(given), *call_deltas(given)], finish_of(given))


GROQ = Family(
    name="groq",
    endpoints=(
        Endpoint(
            path="/chat/completions",
            types="chat",
            rules=(
                groq_effort_is_for_models_that_reason,
                groq_knows_few_fields,
                groq_takes_reasoning_of_models_that_reason,
                *HISTORY,
            ),
            events=groq_events,
            refuse=openai_error,
            thinks=lambda body: GROQ_REASONS.search(body["model"]) is not None,
        ),
    ),
)

XAI = Family(
    name="xai",
    endpoints=(
        Endpoint(path="/chat/completions", types="chat", rules=HISTORY, events=plain_events, refuse=openai_error),
    ),
)

ZAI = Family(
    name="zai",
    endpoints=(
        Endpoint(
            path="/chat/completions",
            types="chat",
            rules=HISTORY,
            events=reasoning_events,
            refuse=openai_error,
            thinks=thinking_is_on,
        ),
    ),
)
