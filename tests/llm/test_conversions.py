"""What is kept of a conversation's last request changes nothing in the next one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.messages import Message
from pygent_ls.llm.anthropic.request import anthropic_messages
from pygent_ls.llm.message_rules import COMMON, RULES
from pygent_ls.llm.openai.chat_format import chat_messages, mark_for_cache
from pygent_ls.llm.openai.responses_request import responses_input
from tests.agent.histories import histories

Convert = Callable[[list[Message], dict[str, Any] | None], list[Any]]


def _chat(family: str, *, thinks: bool) -> Convert:
    def convert(messages: list[Message], reuse: dict[str, Any] | None) -> list[Any]:
        chat = chat_messages("Be brief.", messages, RULES.get(family, COMMON), thinks=thinks, reuse=reuse)
        mark_for_cache(chat)
        return chat

    return convert


def _anthropic(*, thinking: bool, searches: bool) -> Convert:
    return lambda messages, reuse: anthropic_messages(messages, thinking=thinking, searches=searches, reuse=reuse)


def _responses(*, reasoning: bool) -> Convert:
    return lambda messages, reuse: responses_input(messages, reasoning=reasoning, reuse=reuse)


CONVERSIONS = st.one_of(
    st.builds(_chat, st.sampled_from(["openai", *RULES]), thinks=st.booleans()),
    st.builds(_anthropic, thinking=st.booleans(), searches=st.booleans()),
    st.builds(_responses, reasoning=st.booleans()),
)


@given(st.lists(st.tuples(histories(), st.integers(0, 30), CONVERSIONS), min_size=1, max_size=8), st.booleans())
def test_a_request_is_the_same_whatever_was_sent_before(
    requests: list[tuple[list[Message], int, Convert]], grows: bool
) -> None:
    reuse: dict[str, Any] = {}
    sent: list[tuple[list[Any], list[Any]]] = []
    conversation: list[Message] = []
    for history, length, convert in requests:
        conversation = [*conversation, *history] if grows else history[:length]

        body = convert(conversation, reuse)

        assert body == convert(conversation, None)
        sent.append((body, copy.deepcopy(body)))
    assert all(body == as_it_was for body, as_it_was in sent)


def test_a_message_is_converted_once() -> None:
    reuse: dict[str, Any] = {}
    conversation = [Message(role="user", content=f"Question {number}.") for number in range(3)]
    conversation.insert(1, Message(role="assistant", content="An answer."))
    first = chat_messages("", conversation, reuse=reuse)

    longer = chat_messages("", [*conversation, Message(role="assistant", content="Another.")], reuse=reuse)

    assert longer[1] is first[1]
