"""Whatever a conversation holds and however it is made shorter, providers that are strict about its form take it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.context.window import CompactionRules, ContextRules
from pygent_ls.agent.messages import Block, Message, TextBlock, ToolResultBlock
from pygent_ls.errors import ModelError
from pygent_ls.llm.anthropic.request import anthropic_messages
from pygent_ls.llm.openai.chat_format import chat_messages
from tests.agent.abilities import read_file
from tests.agent.histories import histories
from tests.agent.turns import new_turn
from tests.fakes import Call, FakeModel, bounded, make_rig, say

CONTEXTS = st.builds(
    ContextRules,
    mode=st.sampled_from(["continue", "continue", "fresh", "sliding"]),
    sliding_messages=st.integers(1, 9),
    max_tokens=st.integers(200, 4_000),
    max_words=st.sampled_from([0, 0, 50]),
)

COMPACTIONS = st.builds(
    CompactionRules,
    strategy=st.sampled_from(["summarize", "summarize", "drop_tool_results", "trim", "off"]),
    at=st.sampled_from([0.3, 0.8, 1.0]),
)

ANSWERS = st.sampled_from(
    [
        say("fine " * 200),
        say("", Call(name="read_file", arguments={"path": "a.txt"}), thinking="hm"),
        say("both", *(Call(name="read_file", arguments={"path": f"{name}.txt"}) for name in "ab"), thinking="hm"),
        [ModelError("maximum context length is 2000 tokens, you sent 3000", type="context_window")],
        [ModelError("slow down", type="rate_limit")],
        [ModelError("no key", type="auth")],
    ]
)


@given(histories(), st.sampled_from([1, 10, 80]), CONTEXTS, COMPACTIONS, st.lists(ANSWERS, min_size=2, max_size=8))
def test_every_request_has_the_form_that_strict_providers_want(
    history: list[Message],
    factor: int,
    context: ContextRules,
    compaction: CompactionRules,
    script: list[list[Any]],
) -> None:
    rig = make_rig(read_file, files=dict.fromkeys(("a.txt", "b.txt"), "text " * 20 * factor))
    model = FakeModel(script)
    conversation = [_longer(message, factor) for message in history]

    async def two_turns() -> None:
        for number in range(2):
            turn_id, content = f"new-{number}", f"word {number} " * factor
            turn = new_turn(
                rig, model, conversation, turn_id=turn_id, content=content, context=context, compaction=compaction
            )
            await bounded(turn.run())

    asyncio.run(two_turns())

    assert model.requests
    for request in model.requests:
        check_messages_api(anthropic_messages(request.messages, thinking=True))
        check_chat_completions(chat_messages(request.system, request.messages))


def _longer(message: Message, factor: int) -> Message:
    def longer(block: Block) -> Block:
        match block:
            case TextBlock(text=text):
                return replace(block, text=text * factor)
            case ToolResultBlock(content=content):
                return replace(block, content=content * factor)
            case _:
                return block

    return replace(message, content=tuple(map(longer, message.blocks)))


def check_messages_api(messages: Sequence[dict[str, Any]]) -> None:
    """Anthropic's rules: a user begins, roles alternate, nothing is empty, and the results of an answer's calls, each
    once, begin the next message."""
    assert messages[0]["role"] == "user"
    assert all(one["role"] != other["role"] for one, other in pairwise(messages))
    assert messages[-1]["role"] == "user"
    assert not _ids(messages[0], "tool_result", "tool_use_id")
    for one, other in pairwise(messages):
        assert one["content"]
        called = _ids(one, "tool_use", "id")
        answered = _ids(other, "tool_result", "tool_use_id")
        assert sorted(called) == sorted(set(answered)) == sorted(answered)
        assert all(part["type"] == "tool_result" for part in other["content"][: len(answered)])


def _ids(message: dict[str, Any], kind: str, name: str) -> list[str]:
    return [part[name] for part in message["content"] if part["type"] == kind]


def check_chat_completions(messages: Sequence[dict[str, Any]]) -> None:
    """OpenAI's rules, and those of strict templates: after the system prompt a user begins, and the calls of an answer
    have one message each right behind it."""
    assert [each["role"] for each in messages[:2]] == ["system", "user"]
    waiting: list[str] = []
    for message in messages[1:]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == [], "calls without their results"
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        assert message["content"] or waiting
    assert waiting == []
    assert messages[-1]["role"] in ("user", "tool")
