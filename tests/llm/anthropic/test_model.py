"""Our own adapter of Anthropic's Messages API, against a real HTTP server: what is sent, and what comes back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    user_message,
)
from pygent_ls.agent.ports.model import Model, ModelRequest
from pygent_ls.llm.anthropic.model import AnthropicModel
from pygent_ls.llm.anthropic.request import anthropic_messages
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.loopback import KEY
from tests.llm.model_contract import chunks_of, joined, reasons, request
from tests.model_server import Call, ModelServer, Received, Script, Step

SONNET = "anthropic/claude-sonnet-4-5"


@asynccontextmanager
async def anthropic(script: Script) -> AsyncGenerator[tuple[ModelServer, Callable[..., Model]], None]:
    """The server, and a function that makes models which call it."""
    resources = ModelResources()
    async with ModelServer(script) as server:

        def make(name: str = SONNET, **endpoint: Any) -> Model:
            model = make_model(
                name, dataclasses.replace(Endpoint(api_base=server.url, api_key=KEY), **endpoint), resources
            )
            assert isinstance(model, AnthropicModel)
            return model

        yield server, make
        await resources.close()


async def sent(asked: ModelRequest, name: str = SONNET) -> Mapping[str, Any]:
    """The body of one request."""
    async with anthropic([Step(text="hi")]) as (server, make):
        await chunks_of(make(name), asked)
    return server.requests[0].body


def assistant(*blocks: Block) -> Message:
    return Message(role="assistant", content=blocks)


THOUGHT = ThinkingBlock(thinking="I must look.", signature="SEAL")
SECRET = ThinkingBlock(thinking="", redacted="c2VjcmV0")
CALL = ToolUseBlock(id="toolu_1", name="read_file", input={"path": "a"})
RESULT = ToolResultBlock(tool_use_id="toolu_1", content="no such file", is_error=True)
MARK = {"cache_control": {"type": "ephemeral"}}

# What is sent


async def test_the_request_is_the_messages_apis() -> None:
    asked = request(user_message("what is in a?"), assistant(TextBlock(text="Look:"), CALL), user_message((RESULT,)))
    async with anthropic([Step(text="A.")]) as (server, make):
        await chunks_of(make(betas=("one", "two"), extra_headers={"x-team": "blue"}), asked)

    got = server.requests[0]
    assert got.path == "/v1/messages"
    assert {name: got.headers.get(name) for name in ("x-api-key", "authorization", "x-team", "anthropic-beta")} == {
        "x-api-key": KEY,
        "authorization": None,
        "x-team": "blue",
        "anthropic-beta": "one,two",
    }
    assert got.headers["anthropic-version"] == "2023-06-01"
    (tool,) = got.body.pop("tools")
    assert (tool["name"], tool["input_schema"]["required"]) == ("read_file", ["path"])
    assert got.body == {
        "model": "claude-sonnet-4-5",
        "stream": True,
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "You are a test.", **MARK}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "what is in a?", **MARK}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": "no such file",
                        "is_error": True,
                        **MARK,
                    }
                ],
            },
        ],
    }


async def test_a_token_goes_into_the_other_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-a-gateway")
    async with anthropic([Step(text="hi")]) as (server, make):
        await chunks_of(make(api_key=None))

    headers = server.requests[0].headers
    assert (headers.get("x-api-key"), headers["authorization"]) == (None, "Bearer token-of-a-gateway")


@pytest.mark.parametrize("variable", ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"])
@pytest.mark.parametrize("end", ["", "/v1", "/v1/messages", "/"])
async def test_the_address_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch, variable: str, end: str) -> None:
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    async with anthropic([Step(text="hi")]) as (server, make):
        monkeypatch.setenv(variable, server.url.removesuffix("/v1") + end)
        await chunks_of(make(api_base=None))

    assert server.requests[0].path == "/v1/messages"


async def test_never_more_than_four_marks_however_long_the_conversation() -> None:
    turns = [message for n in range(9) for message in (user_message(f"q{n}"), assistant(TextBlock(text=f"a{n}")))]

    body = await sent(request(*turns, user_message("last")))

    assert json.dumps(body).count("cache_control") == 4
    assert [MARK.items() <= message["content"][-1].items() for message in body["messages"]][-3:] == [True, False, True]


async def test_a_history_with_calls_is_sent_with_their_tools_though_none_are_offered() -> None:
    body = await sent(request(user_message("x"), assistant(CALL), user_message((RESULT,)), tools=()))

    assert [tool["name"] for tool in body["tools"]] == ["read_file"]
    assert body["tool_choice"] == {"type": "none"}


async def test_a_picture_is_sent_as_one() -> None:
    body = await sent(
        request(user_message((TextBlock(text="what is it?"), ImageBlock(mime_type="image/png", data="eA=="))))
    )

    assert body["messages"][0]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "eA=="}


@pytest.mark.parametrize(
    ("name", "temperature", "told"),
    [(SONNET, 1.0, None), (SONNET, 0.3, 0.3), (SONNET, 1.7, None), ("anthropic/claude-sonnet-5-5", 0.3, None)],
)
async def test_a_temperature_is_told_where_it_is_taken(name: str, temperature: float, told: float | None) -> None:
    assert (await sent(dataclasses.replace(request(), temperature=temperature), name)).get("temperature") == told


# Thinking


async def test_thinking_has_its_budget_and_excludes_a_temperature() -> None:
    body = await sent(dataclasses.replace(request(), max_thinking_tokens=5000, temperature=0.2))

    assert body["thinking"] == {"type": "enabled", "budget_tokens": 5000}
    assert body["max_tokens"] == 6000
    assert "temperature" not in body


async def test_a_model_that_decides_itself_is_told_an_effort() -> None:
    body = await sent(dataclasses.replace(request(), max_thinking_tokens=20_000), "anthropic/claude-sonnet-5-5")

    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": "high"}


async def test_thoughts_come_back_sealed_and_go_back_as_they_were() -> None:
    steps = [Step(thinking="I must look.", calls=(Call(name="read_file", arguments={"path": "a"}, id="toolu_1"),))]
    async with anthropic([*steps, Step(text="A.")]) as (server, make):
        model = make()
        asked = dataclasses.replace(request(user_message("q")), max_thinking_tokens=2000)
        answer = joined(await chunks_of(model, asked)).message("t", ())
        await chunks_of(
            model, dataclasses.replace(asked, messages=(user_message("q"), answer, user_message((RESULT,))))
        )

    assert answer.blocks == (THOUGHT, CALL)
    assert server.requests[1].messages[1]["content"][0] == {
        "type": "thinking",
        "thinking": "I must look.",
        "signature": "SEAL",
    }
    assert "thinking" in server.requests[1].body


async def test_hidden_thoughts_and_those_of_nobody_are_told_apart() -> None:
    unsealed = ThinkingBlock(thinking="another model's")

    body = await sent(request(user_message("q"), assistant(THOUGHT, SECRET, unsealed, CALL), user_message((RESULT,))))

    assert [part["type"] for part in body["messages"][1]["content"]] == ["thinking", "redacted_thinking", "tool_use"]


async def test_no_thinking_is_asked_for_between_a_call_without_a_thought_and_its_answer() -> None:
    body = await sent(
        dataclasses.replace(
            request(user_message("q"), assistant(CALL), user_message((RESULT,))), max_thinking_tokens=2000
        )
    )

    assert "thinking" not in body


async def test_a_model_that_thinks_before_its_first_call_alone_keeps_its_budget_until_it_is_done() -> None:
    again, seen = replace(CALL, id="toolu_2"), replace(RESULT, tool_use_id="toolu_2")
    steps = (assistant(THOUGHT, CALL), user_message((RESULT,)), assistant(again), user_message((seen,)))
    earlier = (
        user_message("p"),
        assistant(replace(CALL, id="toolu_0")),
        user_message((replace(RESULT, tool_use_id="toolu_0"),)),
    )
    body = await sent(
        dataclasses.replace(
            request(*earlier, assistant(TextBlock(text="A.")), user_message("q"), *steps), max_thinking_tokens=2000
        )
    )

    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}


async def test_no_thinking_is_asked_for_where_another_model_began_to_act_and_its_thoughts_are_left_out() -> None:
    again, seen = replace(CALL, id="toolu_2"), replace(RESULT, tool_use_id="toolu_2")
    steps = (assistant(CALL), user_message((RESULT,)), assistant(THOUGHT, again), user_message((seen,)))
    body = await sent(dataclasses.replace(request(user_message("q"), *steps), max_thinking_tokens=2000))

    assert "thinking" not in body


def events(*given: Mapping[str, Any]) -> Step:
    return Step(raw=("text/event-stream", "".join(f"data: {json.dumps(each)}\n\n" for each in given)))


def block(index: int, content: Mapping[str, Any], *deltas: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    pieces = ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    return [{"type": "content_block_start", "index": index, "content_block": content}, *pieces]


async def test_thoughts_keep_their_order_among_texts_and_calls() -> None:
    step = events(
        *block(0, {"type": "thinking"}, {"type": "thinking_delta", "thinking": "I must look."}),
        *block(0, {"type": "odd"}, {"type": "signature_delta", "signature": "SEAL"}),
        *block(1, {"type": "redacted_thinking", "data": "c2VjcmV0"}),
        *block(2, {"type": "text", "text": "Look"}, {"type": "text_delta", "text": ":"}),
        *block(3, {"type": "thinking"}, {"type": "thinking_delta", "thinking": "Now."}),
        *block(3, {"type": "odd"}, {"type": "signature_delta", "signature": "SEAL2"}),
        *block(4, {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )
    async with anthropic([step]) as (_, make):
        answer = joined(await chunks_of(make()))

    now = ThinkingBlock(thinking="Now.", signature="SEAL2")
    assert answer.message("t", ()).blocks == (THOUGHT, SECRET, TextBlock(text="Look:"), now, CALL)
    assert answer.thinking == "I must look.\n\nNow."


# What is refused, and what is counted


async def test_what_a_model_refuses_is_left_out_and_remembered() -> None:
    def script(received: Received, _: int) -> Step:
        if received.body.get("thinking", {}).get("type") == "enabled":
            return Step(status=400, error='"thinking.type.enabled" is not supported for this model. Use "adaptive".')
        if "cache_control" in json.dumps(received.body):
            return Step(status=400, error="messages.0.content.0.text.cache_control: Extra inputs are not permitted")
        return Step(text="hi")

    async with anthropic(script) as (server, make):
        for _ in range(2):
            await chunks_of(make(), dataclasses.replace(request(), max_thinking_tokens=2000))

    assert len(server.requests) == 4
    assert server.requests[-1].body["thinking"]["type"] == "adaptive"


async def test_the_cache_is_counted_as_read_and_as_written() -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 300, "output_tokens": 1}
    step = events(
        {"type": "message_start", "message": {"usage": usage}},
        *block(0, {"type": "text", "text": "hi"}),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    )
    async with anthropic([step]) as (_, make):
        told = joined(await chunks_of(make())).usage

    assert (told.input_tokens, told.output_tokens, told.cache_read_tokens, told.cache_write_tokens) == (
        810,
        20,
        500,
        300,
    )
    assert told.cost_usd == pytest.approx((10 * 3 + 500 * 0.3 + 300 * 3.75 + 20 * 15) / 1e6)


async def test_a_gateways_later_count_of_nothing_does_not_count() -> None:
    step = events(
        {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"input_tokens": 0, "output_tokens": 7},
        },
        {"type": "message_stop"},
    )
    async with anthropic([step]) as (_, make):
        told = joined(await chunks_of(make())).usage

    assert (told.input_tokens, told.output_tokens) == (10, 7)


@pytest.mark.parametrize("index", [0, None, -1])
async def test_calls_that_share_an_index_are_told_apart(index: int | None) -> None:
    pieces = [{"type": "input_json_delta", "partial_json": part} for part in ('{"path": ', '"a"}')]
    begun = [{"type": "tool_use", "id": f"toolu_{n}", "name": "read_file"} for n in range(2)]
    calls = [{**event, "index": index} for each in begun for event in block(0, each, *pieces)]
    async with anthropic([events(*calls, {"type": "message_stop"})]) as (_, make):
        message = joined(await chunks_of(make())).message("t", ())

    assert [(call.id, call.input) for call in message.tool_calls] == [(f"toolu_{n}", {"path": "a"}) for n in range(2)]


async def test_a_context_that_is_full_is_an_answer_that_was_cut() -> None:
    async with anthropic([Step(text="half", finish="model_context_window_exceeded")]) as (_, make):
        chunks = await chunks_of(make())

    assert reasons(chunks) == ["model_context_window_exceeded"]
    assert joined(chunks).finish_reason == "length"


async def test_a_stream_that_is_closed_without_a_reason_is_whole() -> None:
    step = events(*block(0, {"type": "text", "text": "all of it"}), {"type": "message_stop"})
    async with anthropic([step]) as (_, make):
        chunks = await chunks_of(make())

    assert (joined(chunks).text, reasons(chunks)) == ("all of it", [""])


BLOCKS = st.sampled_from([TextBlock(text="a"), TextBlock(text=" "), THOUGHT, SECRET, CALL, RESULT])
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant"]),
        content=st.lists(BLOCKS, max_size=3).map(tuple[Block, ...]),
    ),
    max_size=6,
)


@given(MESSAGES, st.booleans())
def test_any_conversation_is_sent_with_roles_that_alternate(messages: list[Message], thinking: bool) -> None:
    sent_messages = anthropic_messages(messages, thinking=thinking)

    roles = [message["role"] for message in sent_messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
    assert all(message["content"] for message in sent_messages)
    for message in sent_messages:
        kinds = [part["type"] == "tool_result" for part in message["content"]]
        assert kinds == sorted(kinds, reverse=True)
