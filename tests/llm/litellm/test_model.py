"""The litellm model against a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.agent.ports.model import TextChunk
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import PROVIDERS
from tests.llm.loopback import KEY, answer_to, chunk_event, model_at
from tests.llm.model_contract import (
    chunks_of,
    joined,
    reasons,
    request,
)
from tests.model_server import Call, ModelServer, Step

# What is sent


async def test_the_request_carries_conversation_tools_key_and_headers(loader: LitellmLoader) -> None:
    history = (
        user_message("what is in a?"),
        Message(
            role="assistant",
            content=(TextBlock(text="Look:"), ToolUseBlock(id="1", name="read_file", input={"path": "a"})),
        ),
        user_message((ToolResultBlock(tool_use_id="1", content="A"),)),
    )
    async with ModelServer([Step(text="A.")]) as server:
        endpoint = Endpoint(api_base=server.url, api_key=KEY, extra_headers={"x-team": "blue"})
        await chunks_of(LitellmModel("litellm/openai/mock", endpoint, loader), request(*history))

    sent = server.requests[0]
    assert sent.body["model"] == "mock"
    assert [message["role"] for message in sent.messages] == ["system", "user", "assistant", "tool"]
    assert sent.messages[2]["tool_calls"][0]["function"] == {"name": "read_file", "arguments": '{"path": "a"}'}
    assert [tool["function"]["name"] for tool in sent.body["tools"]] == ["read_file"]
    assert (sent.body["stream_options"], sent.body["max_tokens"]) == ({"include_usage": True}, 1000)
    assert (sent.headers["authorization"], sent.headers["x-team"]) == (f"Bearer {KEY}", "blue")


async def test_the_address_and_key_of_the_environment_count(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer([Step(text="hi")]) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        await chunks_of(LitellmModel("openai/mock", Endpoint(), loader))

    assert server.requests[0].headers["authorization"] == "Bearer sk-test"


async def test_a_server_of_ones_own_needs_no_key(loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with ModelServer([Step(text="hi"), Step(text="hi")]) as server:
        for name in ("openai/mock", "mock"):  # a bare name at an address is taken for an OpenAI-compatible one
            chunks = await chunks_of(LitellmModel(name, Endpoint(api_base=server.url), loader))
            assert joined(chunks).text == "hi"


async def test_no_more_tokens_are_asked_for_than_the_model_can_write(loader: LitellmLoader) -> None:
    async with ModelServer([Step(text="hi")]) as server:
        asked = dataclasses.replace(request(), max_output_tokens=1_000_000)
        await chunks_of(model_at(server, loader, "openai/gpt-4"), asked)

    assert server.requests[0].body["max_tokens"] == 4096


# What comes back


async def test_the_price_of_an_unknown_model_is_not_known(loader: LitellmLoader) -> None:
    usage = joined(await answer_to(Step(text="hi"), loader)).usage

    assert (usage.cost_usd, usage.context_limit) == (None, None)


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter", "tool_calls", "eos_token"])
async def test_the_finish_reason_is_the_providers_word(loader: LitellmLoader, reason: str) -> None:
    chunks = await answer_to(Step(text="half an ans", finish=reason), loader)

    assert (reasons(chunks), joined(chunks).text) == ([reason], "half an ans")


@pytest.mark.parametrize(
    "step",
    [
        Step(text="half", finish=None),
        Step(raw=("text/event-stream", chunk_event({"content": "half"}))),
        Step(raw=("text/html", "<html><body>Gateway</body></html>")),
        Step(raw=("application/json", '{"ok": true}')),
    ],
    ids=["no reason", "cut off between events", "a web page", "other JSON"],
)
async def test_a_stream_that_did_not_end_properly_has_no_finish_reason(loader: LitellmLoader, step: Step) -> None:
    chunks = await answer_to(step, loader)

    assert reasons(chunks) == []
    assert joined(chunks).text in ("half", "")


async def test_a_hundred_equal_chunks_do_not_end_the_stream(loader: LitellmLoader) -> None:
    text = "=" * 8 * 150

    assert joined(await answer_to(Step(text=text, chunk=8), loader)).text == text


ODD_CALLS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "no index": (
        {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}]},
        {"tool_calls": [{"id": "b", "type": "function", "function": {"name": "g", "arguments": '{"y": 2}'}}]},
    ),
    "all at index 0": (
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}}]},
        {"tool_calls": [{"index": 0, "id": "b", "function": {"name": "g", "arguments": '{"y": 2}'}}]},
    ),
    "two in one piece, without ids": (
        {
            "tool_calls": [
                {"index": 0, "function": {"name": "f", "arguments": '{"x": 1}'}},
                {"index": 1, "function": {"name": "g", "arguments": '{"y": 2}'}},
            ]
        },
    ),
    "id and name in every piece": (
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}}]},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ": 1}"}}]},
        {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"y": 2}'}}]},
    ),
    "null where nothing is said": (
        {"content": None, "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": None}}]},
        {"tool_calls": [{"index": 0, "id": None, "function": {"name": None, "arguments": '{"x": 1}'}}]},
        {"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"y": 2}'}}]},
    ),
}


@pytest.mark.parametrize("habit", ODD_CALLS)
async def test_tool_calls_with_odd_indices_and_ids_are_told_apart(loader: LitellmLoader, habit: str) -> None:
    chunks = await answer_to(Step(deltas=ODD_CALLS[habit], finish="tool_calls"), loader)

    calls = joined(chunks).message("t", ()).tool_calls
    assert [(call.name, dict(call.input)) for call in calls] == [("f", {"x": 1}), ("g", {"y": 2})]


async def test_arguments_that_are_not_json_are_passed_on(loader: LitellmLoader) -> None:
    chunks = await answer_to(Step(calls=(Call(name="f", arguments='{"x": '),)), loader)

    assert "not valid JSON" in (joined(chunks).message("t", ()).tool_calls[0].problem or "")


async def test_others_get_their_turn_while_chunks_are_buffered(loader: LitellmLoader) -> None:
    n_turns = 0

    async def other() -> None:
        nonlocal n_turns
        while True:
            n_turns += 1
            await asyncio.sleep(0)

    async with ModelServer([Step(text="x" * 300, chunk=1)]) as server:
        model = model_at(server, loader)
        await model.prepare()
        seen: list[int] = []
        async with asyncio.TaskGroup() as group:
            task = group.create_task(other())
            async for chunk in model.stream(request()):
                if isinstance(chunk, TextChunk):
                    seen.append(n_turns)
            task.cancel()

    assert len(seen) == 300
    assert all(later > earlier for earlier, later in pairwise(seen))


# A provider with another protocol

ANTHROPIC_EVENTS: Sequence[Mapping[str, Any]] = (
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": "claude",
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "SEAL"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Look:"}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"path": "a"}'},
    },
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30}},
    {"type": "message_stop"},
)


def anthropic_stream(events: Sequence[Mapping[str, Any]]) -> Step:
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Step(raw=("text/event-stream", body))


async def test_anthropics_thinking_calls_and_cache_are_understood(loader: LitellmLoader) -> None:
    chunks = await answer_to(anthropic_stream(ANTHROPIC_EVENTS), loader, "anthropic/claude-sonnet-4-5")

    answer = joined(chunks)
    assert answer.message("t", ()).blocks == (
        ThinkingBlock(thinking="hm", signature="SEAL"),
        TextBlock(text="Look:"),
        ToolUseBlock(id="toolu_1", name="read_file", input={"path": "a"}),
    )
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (18, 5, 3)
    assert answer.finish_reason == "tools"


HIDDEN = {"type": "redacted_thinking", "data": "c2VjcmV0"}


async def test_anthropics_thoughts_go_back_with_their_seals_while_tools_run(loader: LitellmLoader) -> None:
    hidden = ({"type": "content_block_start", "index": 7, "content_block": HIDDEN}, *ANTHROPIC_EVENTS[5:])
    steps = [anthropic_stream((*ANTHROPIC_EVENTS[:5], *hidden)), anthropic_stream(ANTHROPIC_EVENTS)]
    result = ToolResultBlock(tool_use_id="toolu_1", content="A")
    async with ModelServer(steps) as server:
        model = model_at(server, loader, "anthropic/claude-sonnet-4-5")
        asked = dataclasses.replace(request(user_message("q")), max_thinking_tokens=2000)
        answer = joined(await chunks_of(model, asked)).message("t", ())
        await chunks_of(
            model, dataclasses.replace(asked, messages=(user_message("q"), answer, user_message((result,))))
        )

    first, second = (each.body for each in server.requests)
    sealed = {"type": "thinking", "thinking": "hm", "signature": "SEAL"}
    assert [part for part in second["messages"][1]["content"] if "thinking" in part["type"]] == [sealed, HIDDEN]
    assert first["thinking"] == second["thinking"]
    assert first["thinking"]["budget_tokens"] < first["max_tokens"]


async def test_anthropics_stream_that_is_cut_off_has_no_finish_reason(loader: LitellmLoader) -> None:
    chunks = await answer_to(anthropic_stream(ANTHROPIC_EVENTS[:7]), loader, "anthropic/claude-sonnet-4-5")

    assert (joined(chunks).text, reasons(chunks)) == ("Look:", [])


# What is said of providers without litellm, held against it


async def test_the_models_to_begin_with_are_in_litellms_table(loader: LitellmLoader) -> None:
    await loader.wait()
    table: Mapping[str, Mapping[str, Any]] = loader.litellm.model_cost

    for provider in PROVIDERS:
        if provider.name == "openrouter":  # its list is its own; `auto` stays
            continue
        bare = provider.default_model.removeprefix(f"{provider.name}/")
        entry = table.get(provider.default_model) or table[bare]
        assert entry.get("supports_function_calling"), provider.default_model
        assert "deprecation_date" not in entry, provider.default_model
