"""Servers that answer a request for a stream with one JSON object: it is the answer, and nothing is asked again."""

from __future__ import annotations

import asyncio
import json

import pytest

from pygent_ls.agent.ports.model import FinishChunk, ThinkingChunk
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.answers import JSON, answered, error_of, events, named_events, thinking_of, whole
from tests.llm.loopback import KEY, WAIT_S
from tests.llm.model_contract import chunks_of, joined
from tests.model_server import Step

OLLAMA = {
    "id": "chatcmpl-168",
    "object": "chat.completion",
    "created": 1780944666,
    "model": "qwen3",
    "system_fingerprint": "fp_ollama",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Berlin it is.",
                "reasoning": "Let me see.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "weather", "arguments": '{"city": "Berlin"}'},
                    },
                    {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": {"city": "Bonn"}}},
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 295, "completion_tokens": 212, "total_tokens": 507},
}

MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "Let me see.", "signature": "sealed"},
        {"type": "text", "text": "I look."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Berlin"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 12, "output_tokens": 34, "cache_read_input_tokens": 5},
}


async def test_a_whole_chat_completion_is_read_as_the_answer() -> None:
    chunks = await answered(whole(OLLAMA), "ollama_chat/qwen3")

    answer = joined(chunks)
    calls = [(call.id, call.name, dict(call.input)) for call in answer.message("t", ()).tool_calls]
    assert calls == [("c1", "weather", {"city": "Berlin"}), ("c2", "weather", {"city": "Bonn"})]
    assert (answer.text, thinking_of(chunks), answer.finish) == ("Berlin it is.", "Let me see.", "tool_calls")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (295, 212)


async def test_a_whole_message_is_read_as_the_answer() -> None:
    chunks = await answered(whole(MESSAGE), "anthropic/mock")

    answer = joined(chunks)
    calls = [(call.id, call.name, dict(call.input)) for call in answer.message("t", ()).tool_calls]
    assert calls == [("toolu_1", "weather", {"city": "Berlin"})]
    assert (answer.text, thinking_of(chunks), answer.finish) == ("I look.", "Let me see.", "tool_use")
    thoughts = [chunk for chunk in chunks if isinstance(chunk, ThinkingChunk) and chunk.provider_data is None]
    assert [chunk.signature for chunk in thoughts] == [None, "sealed"]
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cache_read_tokens) == (17, 34, 5)


RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "error": None,
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Let me see."}]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", "arguments": "{}"},
    ],
    "usage": {
        "input_tokens": 12,
        "output_tokens": 34,
        "input_tokens_details": {"cached_tokens": 5},
        "cost_in_usd_ticks": 10**10,
    },
}


async def test_a_whole_response_is_read_as_the_answer() -> None:
    chunks = await answered(whole(RESPONSE), "openai/gpt-5.6")

    answer = joined(chunks)
    calls = [(call.id, call.name, dict(call.input)) for call in answer.message("t", ()).tool_calls]
    assert calls == [("c1", "weather", {})]
    assert (answer.text, thinking_of(chunks), answer.finish) == ("I look.", "Let me see.", "tool_calls")
    assert (answer.usage.input_tokens, answer.usage.cache_read_tokens, answer.usage.cost_usd) == (12, 5, 1.0)


async def test_a_response_that_failed_is_an_error() -> None:
    failed = {**RESPONSE, "status": "failed", "error": {"code": "invalid_prompt", "message": "Invalid prompt: no"}}

    assert (await error_of(whole(failed), "openai/gpt-5.6")).type == "content_filter"


async def test_a_whole_answer_in_one_event_is_read_too() -> None:
    assert joined(await answered(events(OLLAMA))).text == "Berlin it is."


async def test_an_answer_without_a_finish_is_whole_all_the_same() -> None:
    body = {"choices": [{"message": {"content": "Hi"}}]}

    assert [each for each in await answered(whole(body)) if isinstance(each, FinishChunk)] == [FinishChunk(reason="")]


@pytest.mark.parametrize("name", ["openai/mock", "anthropic/mock", "openai/gpt-5.6"])
@pytest.mark.parametrize("body", [{"detail": "started"}, {"choices": None}, [1], "text"])
async def test_json_that_is_no_answer_is_an_error(name: str, body: object) -> None:
    error = await error_of(whole(body), name)

    assert (error.type, error.retryable) == ("server", True)


async def test_an_error_with_status_200_is_the_error_that_it_says() -> None:
    error = await error_of(whole({"error": {"message": f"Invalid API key {KEY}", "code": 401}}))

    assert error.type == "auth"
    assert KEY not in error.message


@pytest.mark.parametrize("kind", ["text/plain", "text/event-stream", "application/octet-stream"])
async def test_a_whole_answer_is_known_whatever_the_server_calls_it(kind: str) -> None:
    step = Step(raw=(kind, f"\n {json.dumps(OLLAMA, indent=2)}\n"))

    assert joined(await answered(step)).text == "Berlin it is."


@pytest.mark.parametrize("start", ["", ": a comment\n\n", "\n\n", "id: 1\n"])
async def test_a_stream_is_known_whatever_the_server_calls_it(start: str) -> None:
    pieces = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    step = Step(raw=(JSON, f"{start}data: {json.dumps(pieces)}\n\ndata: [DONE]\n\n"))

    assert joined(await answered(step)).text == "Hi"


async def test_an_empty_error_beside_an_answer_is_none() -> None:
    assert joined(await answered(whole({**OLLAMA, "error": None}))).text == "Berlin it is."


async def test_json_that_is_cut_off_is_an_error() -> None:
    assert (await error_of(Step(raw=(JSON, '{"choices": [{"message"')))).type == "server"


async def test_blocks_of_the_providers_own_tools_are_no_calls_of_ours() -> None:
    def block(index: int, content: dict[str, object], given: str) -> list[dict[str, object]]:
        delta = {"type": "input_json_delta", "partial_json": given}
        return [
            {"type": "content_block_start", "index": index, "content_block": content},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]

    chunks = await answered(
        named_events(
            *block(
                0, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "bash", "input": {}}, '{"command": "bc"}'
            ),
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            },
            *block(2, {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "s"}, "{}"),
            *block(3, {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}, '{"path": "a"}'),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
            {"type": "message_stop"},
        ),
        "anthropic/mock",
    )

    calls = joined(chunks).message("t", ()).tool_calls
    assert [(call.id, call.name, dict(call.input)) for call in calls] == [("toolu_1", "read_file", {"path": "a"})]


async def test_a_stream_that_comes_byte_by_byte_is_known_as_one() -> None:
    piece = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    body = f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n"

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = next(line for line in head.splitlines() if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {JSON}\r\nconnection: close\r\n\r\n".encode())
        for byte in body.encode():
            writer.write(bytes([byte]))
            await writer.drain()
        writer.close()

    resources = ModelResources()
    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = make_model("openai/mock", Endpoint(api_base=url, api_key=KEY), resources)
        async with asyncio.timeout(WAIT_S):
            assert joined(await chunks_of(model)).text == "Hi"
        await resources.close()
