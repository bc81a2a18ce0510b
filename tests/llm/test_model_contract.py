"""What every model keeps: litellm's, our own of both protocols, and the scripted one."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.model import FINISH_REASONS, Completion, Model, TextChunk, ThinkingChunk
from pygent_ls.errors import ModelError, ModelErrorType
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.loopback import KEY, WAIT_S
from tests.llm.model_contract import (
    ANSWER_INPUTS,
    ANSWER_TEXT,
    READ_FILE,
    check_text_is_streamed,
    check_tool_calls_come_whole,
    chunks_of,
    joined,
    reasons,
    request,
)
from tests.model_server import Call, ModelServer, Step

HTTP = {"litellm": "litellm/openai/mock", "chat": "openai/mock", "messages": "anthropic/claude-mock"}
"""Models that call a provider, with the names that they have there."""
OURS = [name for name in HTTP if name != "litellm"]


@dataclass(frozen=True)
class Stage:
    """A model, and the provider that plays its part."""

    model: Model
    server: ModelServer


Play = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def play(loader: LitellmLoader) -> Play:
    """Plays steps as the provider of a kind of model: `async with play("chat", Step(…)) as stage`."""

    @asynccontextmanager
    async def playing(
        kind: str, *steps: Step, name: str = "", timeout_s: float = WAIT_S
    ) -> AsyncGenerator[Stage, None]:
        resources = ModelResources(loader=loader)
        async with ModelServer(steps) as server:
            endpoint = Endpoint(
                api_base=server.url, api_key=KEY, first_byte_timeout_s=timeout_s, idle_timeout_s=timeout_s
            )
            model = make_model(name or HTTP[kind], endpoint, resources)
            await model.prepare()
            yield Stage(model, server)
            await resources.close()

    return playing


def scripted(step: Step, folder: Path) -> Model:
    """The same answer from a file."""
    line: dict[str, Any] = {"text": step.text, "thinking": step.thinking, "chunk": step.chunk}
    line["tool_calls"] = [{"name": call.name, "input": call.arguments} for call in step.calls]
    (folder / "script.jsonl").write_text(json.dumps(line))
    return make_model(f"scripted:{folder / 'script.jsonl'}", Endpoint(), ModelResources())


TEXT = Step(text=ANSWER_TEXT)
CALLS = Step(text="I'll read.", calls=tuple(Call(name="read_file", arguments=given) for given in ANSWER_INPUTS))


# An answer


@pytest.mark.parametrize("kind", HTTP)
async def test_text_is_streamed_with_usage_and_reason(play: Play, kind: str) -> None:
    async with play(kind, TEXT) as stage:
        await check_text_is_streamed(stage.model)


@pytest.mark.parametrize("kind", HTTP)
async def test_parallel_tool_calls_come_whole(play: Play, kind: str) -> None:
    async with play(kind, CALLS) as stage:
        await check_tool_calls_come_whole(stage.model)


async def test_the_scripted_model_keeps_to_it_too(tmp_path: Path) -> None:
    await check_text_is_streamed(scripted(TEXT, tmp_path))
    await check_tool_calls_come_whole(scripted(CALLS, tmp_path))
    assert await scripted(TEXT, tmp_path).complete(request(tools=())) == Completion(
        text=ANSWER_TEXT, usage=Usage(input_tokens=100, output_tokens=20, cost_usd=0.0, context_tokens=120)
    )


@pytest.mark.parametrize("kind", HTTP)
async def test_thinking_comes_apart_from_the_text(play: Play, kind: str) -> None:
    async with play(kind, Step(thinking="What could it be?", text="It is 4.")) as stage:
        chunks = await chunks_of(stage.model)

    assert (joined(chunks).thinking, joined(chunks).text) == ("What could it be?", "It is 4.")
    assert sum(bool(chunk.thinking) for chunk in chunks if isinstance(chunk, ThinkingChunk)) > 1


@pytest.mark.parametrize("kind", HTTP)
async def test_an_answer_can_be_had_whole(play: Play, kind: str) -> None:
    async with play(kind, TEXT) as stage:
        completion = await stage.model.complete(request(tools=()))

    assert completion == Completion(
        text=ANSWER_TEXT, usage=Usage(input_tokens=100, output_tokens=20, context_tokens=120)
    )


@pytest.mark.parametrize("kind", HTTP)
@pytest.mark.parametrize(("reason", "means"), [("stop", "end_turn"), ("length", "length"), ("tool_calls", "tools")])
async def test_the_finish_reason_is_understood(play: Play, kind: str, reason: str, means: str) -> None:
    async with play(kind, Step(text="half an ans", finish=reason)) as stage:
        (said,) = reasons(await chunks_of(stage.model))

    assert FINISH_REASONS[said] == means


@pytest.mark.parametrize(
    ("kind", "name"),
    [("litellm", "litellm/openai/gpt-4o"), ("chat", "openai/gpt-4o"), ("messages", "anthropic/claude-sonnet-4-5")],
)
async def test_a_known_model_has_a_price_and_a_window(play: Play, kind: str, name: str) -> None:
    async with play(kind, Step(text="hi", usage=(1000, 100), cached_tokens=600), name=name) as stage:
        usage = joined(await chunks_of(stage.model)).usage
        facts = stage.model.facts

    fresh, cached, written = (3.0, 0.3, 15.0) if kind == "messages" else (2.5, 1.25, 10.0)
    assert usage.cost_usd == pytest.approx((400 * fresh + 600 * cached + 100 * written) / 1e6)
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (1000, 100, 600)
    assert facts.has_price
    assert usage.context_limit == facts.context_limit == (200_000 if kind == "messages" else 128_000)
    assert usage.context_tokens == 1100


@pytest.mark.parametrize("kind", HTTP)
async def test_tools_are_offered_as_they_are_converted(play: Play, kind: str) -> None:
    async with play(kind, TEXT) as stage:
        await chunks_of(stage.model)
        body = stage.server.requests[0].body
        tools = [
            {key: value for key, value in tool.items() if key not in ("cache_control", "type")}
            for tool in body["tools"]
        ]

        converted = stage.model.convert_tools([READ_FILE])
    assert tools == [{key: value for key, value in tool.items() if key != "type"} for tool in converted]


# Failures


@pytest.mark.parametrize("kind", HTTP)
@pytest.mark.parametrize(
    ("step", "error_type"),
    [
        (Step(status=429, error="slow down"), "rate_limit"),
        (Step(status=529, error="busy", error_type="overloaded_error"), "overloaded"),
        (Step(status=503), "overloaded"),
        (Step(status=500), "server"),
        (Step(raw=("text/html", "<html><style>p {}</style><body>Bad gateway</body>"), status=502), "server"),
        (Step(status=408), "timeout"),
        (Step(status=401, error=f"Incorrect API key provided: {KEY}"), "auth"),
        (Step(status=403, error="no access"), "auth"),
        (Step(status=400, error="too long", code="context_length_exceeded"), "context_window"),
        (Step(status=400, error="This model's maximum context length is 8192 tokens."), "context_window"),
        (Step(status=400, error="prompt is too long: 210000 tokens > 200000 maximum"), "context_window"),
        (Step(status=400, error="no", code="content_policy_violation"), "content_filter"),
        (Step(status=400, error="Unknown parameter"), "invalid_request"),
        (Step(status=404, error="The model `mock` does not exist", code="model_not_found"), "invalid_request"),
        (Step(status=422), "invalid_request"),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Step) else "",
)
async def test_a_refusal_says_what_it_is_and_is_not_repeated(
    play: Play, kind: str, step: Step, error_type: ModelErrorType
) -> None:
    async with play(kind, step, Step(text="asked again")) as stage:
        with pytest.raises(ModelError) as caught:
            await chunks_of(stage.model)
        assert len(stage.server.requests) == 1

    error = caught.value
    assert (error.type, error.status) == (error_type, step.status)
    assert error.provider == ("anthropic" if kind == "messages" else "openai")
    for noise in ("litellm", "Traceback", "Exception", "<", KEY, "\n"):
        assert noise not in error.message, error.message


@pytest.mark.parametrize("kind", HTTP)
async def test_a_refusal_says_when_to_come_back_and_how_it_is_called(play: Play, kind: str) -> None:
    headers = {"retry-after": "7", "x-request-id": "req_123"}
    async with play(kind, Step(status=429, headers=headers)) as stage:
        with pytest.raises(ModelError) as caught:
            await chunks_of(stage.model)

    assert (caught.value.retry_after_s, caught.value.request_id) == (7.0, "req_123")


@pytest.mark.parametrize("kind", HTTP)
async def test_an_exhausted_quota_is_not_worth_a_retry(play: Play, kind: str) -> None:
    step = Step(status=429, error="You exceeded your current quota.", code="insufficient_quota")
    async with play(kind, step) as stage:
        with pytest.raises(ModelError, match=r"Quota of .* used up") as caught:
            await chunks_of(stage.model)

    assert (caught.value.type, caught.value.retryable) == ("rate_limit", False)


@pytest.mark.parametrize("kind", HTTP)
async def test_a_stream_that_breaks_is_an_error_and_the_next_call_works(play: Play, kind: str) -> None:
    async with play(kind, Step(text="half an answer " * 5, drop_after=5), Step(text="whole")) as stage:
        with pytest.raises(ModelError) as caught:
            await chunks_of(stage.model)
        assert (caught.value.type, caught.value.retryable) == ("network", True)

        assert joined(await chunks_of(stage.model)).text == "whole"


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize(
    ("step", "error_type"),
    [
        (Step(raw=("text/event-stream", "data: {broken\n\n")), "server"),
        (Step(raw=("text/event-stream", "data: []\n\n")), "server"),
        (Step(raw=("text/event-stream", 'data: {"type": "ping"}\n\n')), "network"),
        (Step(raw=("text/event-stream", "")), "network"),
        (Step(raw=("text/html", "<html><body>Gateway</body></html>")), "server"),
        (Step(raw=("application/json", '{"ok": true}')), "server"),
        (Step(raw=("application/json", '{"error": {"type": "overloaded_error", "message": "busy"}}')), "overloaded"),
        (Step(raw=("text/plain", "hello")), "network"),
        (Step(raw=("text/event-stream", "data: " + "x" * 17_000_000)), "server"),
    ],
    ids=["malformed", "a list", "nothing but a ping", "nothing", "a web page", "JSON", "an error", "text", "endless"],
)
async def test_what_is_no_stream_is_an_error_that_may_pass(
    play: Play, kind: str, step: Step, error_type: ModelErrorType
) -> None:
    async with play(kind, step) as stage:
        with pytest.raises(ModelError) as caught:
            await chunks_of(stage.model)

    assert (caught.value.type, caught.value.retryable) == (error_type, True)
    assert "<" not in caught.value.message


@pytest.mark.parametrize("kind", HTTP)
@pytest.mark.parametrize("kind_of_content", ["text/event-stream", "text/html", "application/json", "text/plain"])
@pytest.mark.parametrize("body", ["data: {broken\n\n", "data: []\n\n", "", "<html>Gateway</html>", '{"ok": true}'])
async def test_what_is_no_stream_is_never_taken_for_an_answer(
    play: Play, kind: str, kind_of_content: str, body: str
) -> None:
    async with play(kind, Step(raw=(kind_of_content, body))) as stage:
        with pytest.raises(ModelError) as caught:
            await stage.model.complete(request(tools=()))

    assert caught.value.type in ("server", "network")


@pytest.mark.parametrize("kind", OURS)
async def test_a_stream_without_an_end_is_broken(play: Play, kind: str) -> None:
    body = 'data: {"choices": [{"index": 0, "delta": {"content": "half"}}]}\n\n'
    if kind == "messages":
        body = 'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}}\n\n'
    async with play(kind, Step(raw=("text/event-stream", body))) as stage:
        with pytest.raises(ModelError, match="closed the connection") as caught:
            await chunks_of(stage.model)

    assert (caught.value.type, caught.value.retryable) == ("network", True)


@pytest.mark.parametrize("kind", HTTP)
@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded"),
        ({"type": "rate_limit_error", "message": "slow"}, "rate_limit"),
        ({"code": 502, "message": "upstream"}, "server"),
        ({"type": "api_error", "message": "oh"}, "server"),
        ({"code": "context_length_exceeded", "message": "long"}, "context_window"),
    ],
)
async def test_an_error_in_the_middle_of_a_stream_is_understood(
    play: Play, kind: str, error: dict[str, Any], error_type: ModelErrorType
) -> None:
    body = f"event: error\ndata: {json.dumps({'type': 'error', 'error': error})}\n\n"
    async with play(kind, Step(raw=("text/event-stream", body))) as stage:
        with pytest.raises(ModelError) as caught:
            await chunks_of(stage.model)

    assert caught.value.type == error_type
    assert error["message"] in caught.value.message


@pytest.mark.parametrize("kind", HTTP)
async def test_nobody_at_the_address_is_said_with_the_address(kind: str, loader: LitellmLoader) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    resources = ModelResources(loader=loader)
    model = make_model(HTTP[kind], Endpoint(api_base=f"http://127.0.0.1:{port}/v1", api_key=KEY), resources)

    with pytest.raises(ModelError) as caught:
        await chunks_of(model)

    await resources.close()
    assert (caught.value.type, caught.value.retryable) == ("network", True)
    assert f"127.0.0.1:{port}" in caught.value.message


# Waiting and cancelling


@pytest.mark.parametrize("kind", HTTP)
@pytest.mark.parametrize("step", [Step(hang=True), Step(text="x" * 80, stall_after=4)], ids=["no byte", "in between"])
async def test_a_provider_that_sends_nothing_more_is_given_up(play: Play, kind: str, step: Step) -> None:
    async with play(kind, step, timeout_s=0.3) as stage:
        with pytest.raises(ModelError, match=r"0\.3 s") as caught:
            await chunks_of(stage.model)
        await stage.server.until(lambda: stage.server.disconnects == 1, timeout_s=WAIT_S)

    assert (caught.value.type, caught.value.retryable) == ("timeout", True)


@pytest.mark.parametrize("kind", HTTP)
async def test_a_cancel_before_the_first_byte_closes_the_connection(play: Play, kind: str) -> None:
    async with play(kind, Step(hang=True)) as stage:
        server = stage.server
        async with asyncio.TaskGroup() as group:
            task = group.create_task(chunks_of(stage.model))
            await server.until(lambda: len(server.requests) == 1, timeout_s=WAIT_S)
            task.cancel()
        await server.until(lambda: server.disconnects == 1, timeout_s=WAIT_S)


@pytest.mark.parametrize("kind", HTTP)
async def test_a_cancel_in_the_middle_closes_the_connection(play: Play, kind: str) -> None:
    async with play(kind, Step(text="x" * 80, stall_after=5)) as stage:
        started = asyncio.Event()

        async def consume() -> None:
            async for chunk in stage.model.stream(request()):
                if isinstance(chunk, TextChunk):
                    started.set()

        async with asyncio.TaskGroup() as group:
            task = group.create_task(consume())
            async with asyncio.timeout(WAIT_S):
                await started.wait()
            task.cancel()
        await stage.server.until(lambda: stage.server.disconnects == 1, timeout_s=WAIT_S)


@pytest.mark.parametrize("kind", HTTP)
async def test_closing_the_stream_closes_the_connection(play: Play, kind: str) -> None:
    async with play(kind, Step(text="x" * 80, stall_after=5)) as stage:
        async with aclosing(stage.model.stream(request())) as chunks:
            async for _ in chunks:
                break
        await stage.server.until(lambda: stage.server.disconnects == 1, timeout_s=WAIT_S)


@pytest.mark.parametrize("kind", HTTP)
async def test_others_get_their_turn_while_chunks_are_buffered(play: Play, kind: str) -> None:
    n_turns = 0

    async def other() -> None:
        nonlocal n_turns
        while True:
            n_turns += 1
            await asyncio.sleep(0)

    async with play(kind, Step(text="x" * 640, chunk=1)) as stage:
        seen: list[int] = []
        async with asyncio.TaskGroup() as group:
            task = group.create_task(other())
            async for chunk in stage.model.stream(request()):
                if isinstance(chunk, TextChunk):
                    seen.append(n_turns)
            task.cancel()

    assert len(seen) == 640
    assert all(seen[place + 32] > seen[place] for place in range(len(seen) - 32))
