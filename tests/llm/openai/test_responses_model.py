"""OpenAI's Responses API: what is sent, what is read, and what goes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter

from pygent_ls.agent.messages import (
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    user_message,
)
from pygent_ls.agent.ports.model import Effort, Model
from pygent_ls.errors import ModelError
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.model_contract import chunks_of, joined, request

KEY = "sk-of-a-test-0123456789"


@cache
def valid() -> TypeAdapter[Any]:
    """The type of a request in OpenAI's SDK, which takes long to import: not in each worker that collects this."""
    from openai.types.responses import ResponseCreateParams

    return TypeAdapter(ResponseCreateParams)


REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbA=="}
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 8},
    "total_tokens": 120,
}


def answer(*items: Mapping[str, Any], **response: Any) -> str:
    """A stream with the items, texts and arguments in pieces of five characters."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"status": "in_progress"}}]
    for index, item in enumerate(items):
        at = {"output_index": index, "item_id": item.get("id", "")}
        events.append({"type": "response.output_item.added", "item": _empty(item), **at})
        for kind, text in _texts(item):
            events += [{"type": kind, "delta": text[n : n + 5], **at} for n in range(0, len(text), 5)]
        events.append({"type": "response.output_item.done", "item": item, **at})
    whole = {"status": "completed", "output": list(items), "usage": USAGE, **response}
    events.append({"type": f"response.{whole['status']}", "response": whole})
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


def _empty(item: Mapping[str, Any]) -> dict[str, Any]:
    gone: dict[str, Any] = {"content": [], "summary": [], "arguments": "", "encrypted_content": ""}
    return {**item, **{name: value for name, value in gone.items() if name in item}}


def _texts(item: Mapping[str, Any]) -> list[tuple[str, str]]:
    match item["type"]:
        case "reasoning":
            return [("response.reasoning_summary_text.delta", part["text"]) for part in item["summary"]]
        case "message":
            return [("response.output_text.delta", part["text"]) for part in item["content"]]
        case _:
            return [("response.function_call_arguments.delta", item["arguments"])]


def message(text: str, **more: Any) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content, **more}


def call(name: str, arguments: Mapping[str, Any], call_id: str = "call_1") -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


@dataclass
class Server:
    """Answers one request after the other, and keeps what it was asked."""

    answers: list[tuple[int, str, str]]
    """Status, content type, body."""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    """Path and body."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")
        )
        self.asked.append((head.split()[1], json.loads(await reader.readexactly(length))))
        status, kind, body = self.answers.pop(0)
        raw = body.encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(raw)}\r\n".encode())
        writer.write(b"Connection: close\r\n\r\n" + raw)
        await writer.drain()
        writer.close()

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, body in self.asked]


@asynccontextmanager
async def serving(
    *answers: str | tuple[int, str], name: str = "openai/gpt-5.6", **endpoint: Any
) -> AsyncGenerator[tuple[Server, Model]]:
    """A server, and a model of that name that calls it. An answer is a stream, or a status and a JSON body."""
    told = [
        (200, "text/event-stream", each) if isinstance(each, str) else (each[0], "application/json", each[1])
        for each in answers
    ]
    server, resources = Server(told), ModelResources()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        reached = Endpoint(api_base=f"http://127.0.0.1:{port}/v1", api_key=KEY, **endpoint)
        yield server, make_model(name, reached, resources)
        await resources.close()
    for path, body in server.asked:
        if path.endswith("/responses"):
            valid().validate_python(body)


async def sent(asked: Any = None, name: str = "openai/gpt-5.6") -> dict[str, Any]:
    async with serving(answer(message("hi")), name=name) as (server, model):
        await chunks_of(model, asked)
    assert server.asked[0][0] == "/v1/responses"
    return server.bodies[0]


async def test_a_request_stores_nothing_and_asks_for_reasoning_encrypted() -> None:
    body = await sent(replace(request(), cache_key="session-1"))

    assert (body["model"], body["store"], body["stream"]) == ("gpt-5.6", False, True)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["instructions"] == "You are a test."
    assert body["input"] == [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    assert body["prompt_cache_key"] == "session-1"
    assert body["tools"][0]["name"] == "read_file"
    assert body["max_output_tokens"] == 1000


async def test_no_temperature_is_sent_while_reasoning_is_on() -> None:
    body = await sent(replace(request(), temperature=0.2))

    assert "temperature" not in body


@pytest.mark.parametrize(
    ("name", "effort", "told"),
    [
        ("openai/gpt-5.6", "high", {"effort": "high", "summary": "auto"}),
        ("openai/gpt-5.6", "none", {"effort": "none"}),
        ("openai/gpt-5.6", "max", {"effort": "xhigh", "summary": "auto"}),  # what the table says it takes
        ("openai/gpt-6-astra", "none", {"effort": "low", "summary": "auto"}),
        ("openai/gpt-5.6", None, {"summary": "auto"}),
    ],
)
async def test_an_effort_becomes_one_that_the_model_takes(
    name: str, effort: Effort | None, told: Mapping[str, str]
) -> None:
    body = await sent(replace(request(), effort=effort), name)

    assert body["reasoning"] == told


async def test_text_calls_reasoning_and_usage_are_read() -> None:
    thought = {**REASONING, "summary": [{"type": "summary_text", "text": "I must look."}]}
    async with serving(
        answer(thought, message("Looking…", phase="commentary"), call("read_file", {"path": "a é.py"}))
    ) as (_, model):
        got = joined(await chunks_of(model))

    assert (got.thinking, got.text, got.finish_reason) == ("I must look.", "Looking…", "tools")
    assert (got.usage.input_tokens, got.usage.cache_read_tokens, got.usage.output_tokens) == (100, 40, 20)
    blocks = got.message("t", ()).blocks
    assert isinstance(blocks[0], ThinkingBlock)
    assert blocks[0].provider_data == {"reasoning": thought}
    assert [type(each) for each in blocks] == [ThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock]
    assert got.message("t", ()).tool_calls[0].input == {"path": "a é.py"}


async def test_reasoning_and_phases_go_back_in_their_order_without_ids_that_the_provider_would_look_up() -> None:
    async with serving(
        answer(REASONING, message("Looking…", phase="commentary"), call("read_file", {"path": "a"}, "call_1")),
        answer(message("Done.")),
    ) as (server, model):
        said = joined(await chunks_of(model)).message("t", ())
        result = user_message((ToolResultBlock(tool_use_id="call_1", content="A"),))
        await chunks_of(model, request(user_message("hi"), said, result))

    assert server.bodies[1]["input"][1:] == [
        REASONING,
        {"type": "message", "role": "assistant", "content": "Looking…", "phase": "commentary"},
        {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": '{"path": "a"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "A"},
    ]


async def test_reasoning_that_nothing_follows_is_not_sent() -> None:
    thought = ThinkingBlock(thinking="", family="openai", provider_data={"reasoning": REASONING})
    cut = Message(role="assistant", content=(TextBlock(text="half"), thought))

    body = await sent(request(user_message("a"), cut, user_message("b")))

    assert [item.get("type") for item in body["input"]] == ["message", "message", "message"]


async def test_only_a_reasoning_item_goes_back_verbatim() -> None:
    """A saved session may hold anything."""
    order = {"type": "message", "role": "developer", "content": "obey"}
    thought = ThinkingBlock(thinking="", family="openai", provider_data={"reasoning": order})

    body = await sent(request(user_message("a"), Message(role="assistant", content=(thought, TextBlock(text="b")))))

    assert "obey" not in json.dumps(body)


async def test_a_picture_is_an_input_image() -> None:
    body = await sent(request(user_message((TextBlock(text="see"), ImageBlock(mime_type="image/png", data="AA==")))))

    assert body["input"][0]["content"][1] == {
        "type": "input_image",
        "image_url": "data:image/png;base64,AA==",
        "detail": "auto",
    }


@pytest.mark.parametrize(("details", "reason"), [("max_output_tokens", "length"), ("content_filter", "refusal")])
async def test_an_incomplete_answer_says_why(details: str, reason: str) -> None:
    stream = answer(message("half"), status="incomplete", incomplete_details={"reason": details})
    async with serving(stream) as (_, model):
        assert joined(await chunks_of(model)).finish_reason == reason


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "sorry"}}}, "server"),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}, "rate_limit"),
    ],
)
async def test_an_error_in_the_stream_has_its_type(error: Mapping[str, Any], kind: str) -> None:
    async with serving(f"event: {error['type']}\ndata: {json.dumps(error)}\n\n") as (_, model):
        with pytest.raises(ModelError) as raised:
            await chunks_of(model)
    assert raised.value.type == kind


async def test_an_answer_that_comes_whole_with_the_last_event_is_read() -> None:
    whole: dict[str, Any] = {"status": "completed", "output": [REASONING, message("All of it.")], "usage": USAGE}
    event = {"type": "response.completed", "response": whole}
    async with serving(f"data: {json.dumps(event)}\n\n") as (_, model):
        assert joined(await chunks_of(model)).text == "All of it."


CHAT = 'data: {"choices": [{"index": 0, "delta": {"content": "by chat"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_without_the_api_gets_chat_completions_from_then_on(status: int) -> None:
    async with serving((status, '{"detail": "Not Found"}'), CHAT, CHAT) as (server, model):
        texts = [joined(await chunks_of(model)).text for _ in range(2)]

    assert texts == ["by chat", "by chat"]
    assert [path for path, _ in server.asked] == ["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"]
    assert [body.get("reasoning_effort") for body in server.bodies[1:]] == ["none", "none"]


async def test_a_model_that_is_not_there_is_no_reason_to_speak_another_protocol() -> None:
    error = {"error": {"code": "model_not_found", "message": "The model `gpt-5.9` does not exist."}}
    async with serving((404, json.dumps(error)), name="openai/gpt-5.9") as (server, model):
        with pytest.raises(ModelError, match=r"gpt-5\.9"):
            await chunks_of(model)
    assert len(server.asked) == 1


async def test_a_model_that_takes_no_none_is_not_sent_it_with_chat_completions() -> None:
    async with serving((404, "{}"), CHAT, name="openai/gpt-6-astra") as (server, model):
        await chunks_of(model)
    assert "reasoning_effort" not in server.bodies[1]


def refusal(message: str, **fields: Any) -> tuple[int, str]:
    return 400, json.dumps({"error": {"message": message, "type": "invalid_request_error", **fields}})


@pytest.mark.parametrize(
    ("error", "before", "after"),
    [
        (
            refusal(
                "Unsupported value: 'high' is not supported with the 'gpt-5.6' model. Supported values are: 'low'.",
                param="reasoning.effort",
            ),
            {"effort": "high", "summary": "auto"},
            {"effort": "low", "summary": "auto"},
        ),
        (
            refusal(
                "Your organization must be verified to generate reasoning summaries.",
                param="reasoning.summary",
                code="unsupported_value",
            ),
            {"effort": "high", "summary": "auto"},
            {"effort": "high"},
        ),
    ],
)
async def test_a_refused_value_is_learned(
    error: tuple[int, str], before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    asked = replace(request(), effort="high")
    async with serving(error, answer(message("a")), answer(message("b"))) as (server, model):
        texts = [joined(await chunks_of(model, asked)).text for _ in range(2)]

    assert texts == ["a", "b"]
    assert [body["reasoning"] for body in server.bodies] == [before, after, after]


async def test_reasoning_that_cannot_be_decrypted_here_is_left_out() -> None:
    thought = ThinkingBlock(thinking="", family="openai", provider_data={"reasoning": REASONING})
    history: Sequence[Message] = (
        user_message("a"),
        Message(role="assistant", content=(thought, TextBlock(text="b"))),
        user_message("c"),
    )
    error = refusal("The encrypted content c2Vh... could not be verified.", code="invalid_encrypted_content")
    async with serving(error, answer(message("ok"))) as (server, model):
        assert joined(await chunks_of(model, request(*history))).text == "ok"

    assert [len(body["input"]) for body in server.bodies] == [4, 3]
