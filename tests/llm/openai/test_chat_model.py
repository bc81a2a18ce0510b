"""Our own adapter of chat completions, against a real HTTP server: what is sent, to whom, and what comes back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.agent.ports.model import Model, ModelRequest
from pygent_ls.errors import ModelError
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.http.call import Native
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import native_target
from pygent_ls.llm.openai.chat_model import OpenAIModel
from pygent_ls.llm.openai.chat_request import chat_request
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import provider_named
from pygent_ls.llm.resources import ModelResources
from tests.llm.loopback import KEY
from tests.llm.model_contract import chunks_of, joined, reasons, request
from tests.model_server import ModelServer, Script, Step

MakeModel = Callable[..., Model]


@asynccontextmanager
async def provider(script: Script) -> AsyncGenerator[tuple[ModelServer, MakeModel], None]:
    """The server, and a function that makes models (a name with its provider) which call it."""
    resources = ModelResources()
    async with ModelServer(script) as server:

        def make(name: str = "openai/mock", **endpoint: Any) -> Model:
            start, _, bare = name.partition("/")
            row = provider_named(start)
            assert row is not None
            reached = dataclasses.replace(Endpoint(api_base=server.url, api_key=KEY), **endpoint)
            return OpenAIModel(Native(name=name, provider=row, model=bare, endpoint=reached, resources=resources))

        yield server, make
        await resources.close()


Provider = AbstractAsyncContextManager[tuple[ModelServer, MakeModel]]

CALL = ToolUseBlock(id="call_1", name="read_file", input={"path": "a"})
HISTORY = (
    user_message("what is in a?"),
    Message(role="assistant", content=(ThinkingBlock(thinking="I must look."), TextBlock(text="Look:"), CALL)),
    user_message((ToolResultBlock(tool_use_id="call_1", content="A"),)),
)


async def sent_to(name: str, asked: ModelRequest | None = None, **endpoint: Any) -> Mapping[str, Any]:
    """The body of one request."""
    async with provider([Step(text="hi")]) as (server, make):
        await chunks_of(make(name, **endpoint), asked)
    return server.requests[0].body


def chat_body(name: str, asked: ModelRequest) -> Mapping[str, Any]:
    """What would be sent to the provider's own address."""
    start, _, bare = name.partition("/")
    row = provider_named(start)
    assert row is not None
    return chat_request(asked, native_target(name, row, bare, Endpoint(api_key=KEY), {}), KnownModel(), Learned())


# What is sent


async def test_the_request_carries_conversation_tools_key_and_headers() -> None:
    async with provider([Step(text="A.")]) as (server, make):
        await chunks_of(make(extra_headers={"x-team": "blue", "user-agent": "mine"}), request(*HISTORY))

    sent = server.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert [message["role"] for message in sent.messages] == ["system", "user", "assistant", "tool"]
    assert {key: value for key, value in sent.body.items() if key not in ("messages", "tools")} == {
        "model": "mock",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 1.0,
        "max_tokens": 1000,
    }
    names = ("authorization", "x-team", "user-agent", "accept", "content-type")
    assert [sent.headers[name] for name in names] == [
        f"Bearer {KEY}",
        "blue",
        "mine",
        "text/event-stream",
        "application/json",
    ]


async def test_the_line_end_of_a_keys_file_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-file\n")
    async with provider([Step(text="hi")]) as (server, make):
        await chunks_of(make(api_key=None))

    assert server.requests[0].headers["authorization"] == "Bearer sk-of-a-file"


async def test_a_headers_short_words_are_not_taken_for_secrets() -> None:
    said = Step(status=400, error="team blue may not, nor may token-of-the-team")
    async with provider([said]) as (_, make):
        with pytest.raises(ModelError, match=r"team blue may not, nor may \[key\]"):
            await chunks_of(make(extra_headers={"x-team": "blue", "x-auth": "Basic token-of-the-team"}))


async def test_openai_is_sent_no_id_that_is_too_long_for_it() -> None:
    call = replace(CALL, id="call_" + "x" * 60)
    asked = request(
        user_message("q"),
        Message(role="assistant", content=(call, replace(CALL, id="call_2"))),
        user_message(tuple(ToolResultBlock(tool_use_id=each, content="A") for each in (call.id, "call_2"))),
    )

    body = chat_body("openai/gpt-4o", asked)

    first, second = (each["id"] for each in body["messages"][2]["tool_calls"])
    assert (len(first), second) == (40, "call_2")
    assert [each["tool_call_id"] for each in body["messages"][3:]] == [first, second]


async def test_no_more_tokens_are_asked_for_than_the_model_can_write() -> None:
    body = await sent_to("openai/gpt-4", dataclasses.replace(request(), max_output_tokens=1_000_000))

    assert body["max_tokens"] == 4096


async def test_a_server_of_ones_own_is_sent_no_key_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with provider([Step(text="hi")]) as (server, make):
        await chunks_of(make(api_key=None))

    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
async def test_the_address_and_key_of_the_environment_count(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    async with provider([Step(text="hi")]) as (server, make):
        monkeypatch.setenv(variable, server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
        await chunks_of(make(api_base=None, api_key=None))

    assert server.requests[0].headers["authorization"] == "Bearer sk-of-the-environment"


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("openai/o3", {"reasoning_effort": "medium"}),
        ("openrouter/qwen/qwen3", {"reasoning": {"max_tokens": 8000}}),
        ("deepseek/deepseek-v4-pro", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("openai/gpt-4o", {}),  # the table knows that it does not think
    ],
)
async def test_thinking_is_asked_for_in_the_providers_way(name: str, added: Mapping[str, Any]) -> None:
    body = await sent_to(name, dataclasses.replace(request(), max_thinking_tokens=8000))

    keys = ("reasoning_effort", "reasoning", "thinking")
    assert {key: body[key] for key in keys if key in body} == added


@pytest.mark.parametrize(("name", "back"), [("deepseek/x", ["old", "I must look."]), ("openai/x", [None, None])])
async def test_thinking_goes_back_where_the_provider_wants_it(name: str, back: list[str | None]) -> None:
    earlier = Message(role="assistant", content=(ThinkingBlock(thinking="old"), TextBlock(text="Hi.")))

    body = await sent_to(name, request(user_message("hi"), earlier, *HISTORY))

    answers = [message for message in body["messages"] if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in answers] == back


async def test_mistral_gets_ids_that_it_takes_and_the_same_for_call_and_result() -> None:
    body = await sent_to("mistral/x", request(*HISTORY))

    (call,), result = body["messages"][2]["tool_calls"], body["messages"][3]
    assert call["id"] == result["tool_call_id"]
    assert len(call["id"]) == 9
    assert call["id"].isalnum()


async def test_claude_behind_openrouter_is_told_what_to_keep() -> None:
    body = await sent_to("openrouter/anthropic/claude-sonnet-4.5", request(*HISTORY))

    marked = ["cache_control" in json.dumps(message["content"]) for message in body["messages"]]
    assert marked == [True, False, True, True]
    assert "cache_control" not in json.dumps(await sent_to("openrouter/qwen/qwen3", request(*HISTORY)))


async def test_names_and_addresses_are_completed_as_the_provider_wants() -> None:
    assert (await sent_to("fireworks_ai/kimi"))["model"] == "accounts/fireworks/models/kimi"
    async with provider([Step(text="hi")]) as (server, make):
        await chunks_of(make("ollama_chat/qwen3", api_base=server.url.removesuffix("/v1") + "/"))
    assert server.requests[0].path == "/v1/chat/completions"


# What a model refuses


def refusing(*names: str) -> Callable[..., Step]:
    """A model that takes none of these parameters."""

    def script(received: Any, _: int) -> Step:
        wrong = next((name for name in names if name in received.body), None)
        if wrong is None:
            return Step(text="hi")
        more = " Use 'max_completion_tokens' instead." if wrong == "max_tokens" else ""
        return Step(status=400, error=f"Unsupported parameter: '{wrong}' is not supported with this model.{more}")

    return script


async def test_what_a_model_refuses_is_left_out_at_once_and_remembered() -> None:
    async with provider(refusing("temperature", "stream_options", "max_tokens")) as (server, make):
        assert joined(await chunks_of(make())).text == "hi"
        n_requests = len(server.requests)
        assert joined(await chunks_of(make())).text == "hi"

    assert (n_requests, len(server.requests)) == (4, 5)
    last = server.requests[-1].body
    assert {"temperature", "stream_options", "max_tokens"} & set(last) == set()
    assert last["max_completion_tokens"] == 1000


async def test_a_limit_that_is_too_high_becomes_the_one_that_is_named() -> None:
    def script(received: Any, _: int) -> Step:
        most = received.body["max_tokens"]
        text = f"max_tokens is too large: {most}. This model supports at most 512 completion tokens"
        return Step(text="hi") if most <= 512 else Step(status=400, error=text)

    async with provider(script) as (server, make):
        await chunks_of(make())

    assert [each.body["max_tokens"] for each in server.requests] == [1000, 512]


async def test_a_model_that_refuses_everything_is_not_asked_for_ever() -> None:
    def script(received: Any, _: int) -> Step:
        return Step(status=400, error=f"Unsupported parameter: {', '.join(received.body)}")

    async with provider(script) as (server, make):
        with pytest.raises(ModelError, match="Unsupported") as caught:
            await chunks_of(make())

    assert caught.value.type == "invalid_request"
    assert len(server.requests) <= 6


async def test_an_error_that_names_no_parameter_of_ours_is_not_repeated() -> None:
    async with provider([Step(status=400, error="messages: an invalid role"), Step(text="hi")]) as (server, make):
        with pytest.raises(ModelError, match="an invalid role"):
            await chunks_of(make())

    assert len(server.requests) == 1


# What comes back


@pytest.mark.parametrize(
    ("deltas", "text", "thinking"),
    [
        ([{"reasoning": "hm"}, {"content": "4"}], "4", "hm"),
        ([{"reasoning_content": "hm", "content": ""}, {"content": "4"}], "4", "hm"),
        (
            [
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
                {"content": [{"type": "text", "text": "4"}, {"type": "odd"}, 7]},
            ],
            "4",
            "hm",
        ),
        ([{"content": None, "tool_calls": None}, {"content": "4"}, {"content": 4}], "4", ""),
    ],
    ids=["reasoning", "reasoning_content", "parts", "null"],
)
async def test_each_providers_way_to_think_is_understood(
    deltas: Sequence[Mapping[str, Any]], text: str, thinking: str
) -> None:
    async with provider([Step(deltas=tuple(deltas))]) as (_, make):
        answer = joined(await chunks_of(make()))

    assert (answer.text, answer.thinking) == (text, thinking)


async def test_a_refusal_is_text_and_a_reason() -> None:
    async with provider([Step(deltas=({"refusal": "I will "}, {"refusal": "not."}))]) as (_, make):
        chunks = await chunks_of(make())

    assert (joined(chunks).text, reasons(chunks)) == ("I will not.", ["refusal"])


@pytest.mark.parametrize(
    ("usage", "cached", "written", "cost"),
    [
        ({"prompt_cache_hit_tokens": 60}, 60, 0, None),
        ({"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20}, "cost": 0.5}, 60, 20, 0.5),
        ({"prompt_tokens_details": None, "cost": "free"}, 0, 0, None),
    ],
    ids=["DeepSeek", "OpenRouter", "odd"],
)
async def test_cached_tokens_and_cost_are_counted(
    usage: Mapping[str, Any], cached: int, written: int, cost: float | None
) -> None:
    last = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}
    counted: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 5, **usage}}
    body = f"data: {json.dumps(last)}\n\ndata: {json.dumps(counted)}\n\ndata: [DONE]\n\n"
    async with provider([Step(raw=("text/event-stream", body))]) as (_, make):
        told = joined(await chunks_of(make())).usage

    assert (told.input_tokens, told.cache_read_tokens, told.cache_write_tokens, told.cost_usd) == (
        100,
        cached,
        written,
        cost,
    )


async def test_a_stream_that_is_closed_without_a_reason_is_whole() -> None:
    async with provider([Step(text="all of it", finish=None)] * 2) as (_, make):
        chunks = await chunks_of(make())
        completion = await make().complete(request())

    assert (joined(chunks).text, reasons(chunks)) == ("all of it", [""])
    assert completion.text == "all of it"
