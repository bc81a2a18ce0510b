"""Answers that never end: each provider's adapter, a program, and tools in text. Little is read of any."""

from __future__ import annotations

import asyncio
import gc
import json
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.events import Notice, ToolCall
from pygent_ls.agent.ports.model import (
    ENDLESS,
    Chunk,
    FinishChunk,
    Model,
    NoticeChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    completed,
    max_chars,
    within_limit,
)
from pygent_ls.errors import ModelError
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.litellm.stream import MAX_PIECES
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from pygent_ls.llm.text_tools.model import TextToolCalls
from tests.agent.abilities import read_file
from tests.agent.turns import run_turn
from tests.fakes import FakeModel, Rig, bounded, make_rig
from tests.llm.cli.test_model import model_of
from tests.llm.loopback import KEY, WAIT_S
from tests.llm.model_contract import chunks_of, request

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

PIECE = "plum " * 2_000

MAX_SENT_BYTES = 64_000_000
"""Bytes that a server can send before the closed connection stops it, including the buffers of the operating system."""


@dataclass(slots=True)
class Endless:
    """A server that sends these pieces for ever, after the beginning, and counts what it got rid of."""

    url: str = ""
    n_bytes: int = 0
    n_requests: int = 0
    head: bytes = b""
    """Body of the last request."""


async def hung_up(reader: asyncio.StreamReader, within_s: float) -> bool:
    """Whether the client does so in that time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            return not await reader.read(1)
    return False


@asynccontextmanager
async def endless(
    pieces: Iterator[bytes], begin: bytes = b"", every_s: float = 0.0, fields: bytes = b""
) -> AsyncGenerator[Endless]:
    """Run a server whose answer ends when the client hangs up."""
    told = Endless()
    over: asyncio.Queue[None] = asyncio.Queue()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().splitlines() if line.startswith(b"content-length"))
            await reader.readexactly(int(length.partition(b":")[2]))
            told.n_requests += 1
            told.head = head
            writer.write(HEAD.replace(b"\r\n\r\n", b"\r\n" + fields + b"\r\n") + begin)
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                told.n_bytes += len(piece)
                if every_s and await hung_up(reader, every_s):
                    raise ConnectionResetError
        except ConnectionError:
            writer.close()
            over.put_nowait(None)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    told.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield told
    await bounded(over.get())
    server.close()


def for_ever(*events: Mapping[str, Any]) -> Callable[[], Iterator[bytes]]:
    """These events again and again; an `index` that is a text counts."""
    texts = [f"event: {each.get('type', '')}\ndata: {json.dumps(each)}\n\n" for each in events]

    def pieces() -> Iterator[bytes]:
        number = 0
        while True:
            for each in texts:
                yield each.replace('"NUMBER"', str(number)).encode()
            number += 1

    return pieces


def raw(piece: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: iter(lambda: piece, None)


def chat(**delta: Any) -> Mapping[str, Any]:
    return {"type": "", "choices": [{"index": 0, "delta": delta}]}


def call(**function: Any) -> Mapping[str, Any]:
    return {"index": "NUMBER", "id": "call_NUMBER", "function": {"name": "read_file", "arguments": "{}", **function}}


def delta(kind: str, **members: Any) -> Mapping[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **members}}


def block(kind: str, index: object = 0, **members: Any) -> Mapping[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **members}}


TOOL_USE: Mapping[str, Any] = {"id": "toolu_1", "name": "read_file", "input": {}}
FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file", "arguments": ""}
OPENED = '{"path": "'

CHAT, ANTHROPIC, RESPONSES = "openai/gpt-4o", "anthropic/claude-mock", "openai/gpt-5"

ANSWERS: Mapping[str, tuple[str, tuple[Mapping[str, Any], ...], Callable[[], Iterator[bytes]]]] = {
    "chat text": (CHAT, (), for_ever(chat(content=PIECE))),
    "chat thinking": (CHAT, (), for_ever(chat(reasoning_content=PIECE))),
    "chat arguments": (
        CHAT,
        (chat(tool_calls=[{**call(arguments=OPENED), "index": 0}]),),
        for_ever(chat(tool_calls=[{"index": 0, "function": {"arguments": PIECE}}])),
    ),
    "chat calls": (CHAT, (), for_ever(chat(tool_calls=[call()]))),
    "anthropic text": (ANTHROPIC, (block("text", text=""),), for_ever(delta("text_delta", text=PIECE))),
    "anthropic thinking": (
        ANTHROPIC,
        (block("thinking", thinking=""),),
        for_ever(delta("thinking_delta", thinking=PIECE)),
    ),
    "anthropic arguments": (
        ANTHROPIC,
        (block("tool_use", **TOOL_USE), delta("input_json_delta", partial_json=OPENED)),
        for_ever(delta("input_json_delta", partial_json=PIECE)),
    ),
    "anthropic calls": (ANTHROPIC, (), for_ever(block("tool_use", "NUMBER", **TOOL_USE))),
    "responses text": (RESPONSES, (), for_ever({"type": "response.output_text.delta", "delta": PIECE})),
    "responses thinking": (
        RESPONSES,
        (),
        for_ever({"type": "response.reasoning_summary_text.delta", "delta": PIECE, "item_id": "rs"}),
    ),
    "responses arguments": (
        RESPONSES,
        ({"type": "response.output_item.added", "output_index": 0, "item": FUNCTION},),
        for_ever(
            {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": PIECE}
        ),
    ),
}


@asynccontextmanager
async def adapter(name: str, url: str, patience_s: float = WAIT_S) -> AsyncGenerator[Model]:
    resources = ModelResources()
    endpoint = Endpoint(api_base=url, api_key=KEY, first_byte_timeout_s=patience_s, idle_timeout_s=patience_s)
    yield make_model(name, endpoint, resources)
    await resources.close()


def begun_with(events: tuple[Mapping[str, Any], ...]) -> bytes:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode()


@pytest.mark.parametrize(("name", "begin", "pieces"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_without_an_end_is_stopped_and_the_turn_with_it(
    name: str, begin: tuple[Mapping[str, Any], ...], pieces: Callable[[], Iterator[bytes]]
) -> None:
    rig = make_rig(read_file)
    async with endless(pieces(), begun_with(begin)) as server, adapter(name, server.url) as model:
        result = await run_turn(rig, model)

    assert result.stop_reason == "max_output_tokens"
    assert server.n_requests == 1, "it is not asked for more"
    assert server.n_bytes < MAX_SENT_BYTES
    assert calls(rig) == [], "none of it is made"
    assert notices(rig) == [
        f"The answer was stopped after {MOST} characters: it went far beyond its limit of 1000 tokens "
        "(max_output_tokens)."
    ]
    if name.endswith("text"):
        assert result.text.startswith("plum plum")


MOST = max_chars(request())


def notices(rig: Rig) -> list[str]:
    return [each.event.content for each in rig.events.stamped if isinstance(each.event, Notice)]


def calls(rig: Rig) -> list[ToolCall]:
    return [each.event for each in rig.events.stamped if isinstance(each.event, ToolCall)]


async def end_of(model: Model) -> Chunk | ModelError:
    """How an answer ends whose limit is kept."""
    try:
        return [each async for each in within_limit(model.stream(request()), request())][-1]
    except ModelError as error:
        return error


SILENT: Mapping[str, tuple[str, Callable[[], Iterator[bytes]]]] = {
    "line": ("data: ", raw(b"x" * 65_536)),
    "line of no field": ("", raw(b"x" * 65_536)),
    "comment": (": ", raw(b"x" * 65_536)),
    "comments": ("", raw(b": " + b"x" * 60_000 + b"\n\n")),
    "newlines": ("", raw(b"\n" * 65_536)),
    "returns": ("", raw(b"\r\n" * 32_768)),
    "spaces": ("", raw(b" " * 65_536)),
    "unknown events": ("", raw(b'event: ping\ndata: {"type": "ping", "x": "' + b"x" * 60_000 + b'"}\n\n')),
    "an object": ('{"choices": "', raw(b"x" * 65_536)),
}


@pytest.mark.parametrize("name", [CHAT, ANTHROPIC, RESPONSES])
@pytest.mark.parametrize(("begin", "pieces"), SILENT.values(), ids=SILENT)
async def test_bytes_without_an_end_that_say_nothing_are_an_error(
    name: str, begin: str, pieces: Callable[[], Iterator[bytes]]
) -> None:
    async with endless(pieces(), begin.encode()) as server, adapter(name, server.url) as model:
        with pytest.raises(ModelError) as caught:
            await bounded(chunks_of(model))

    assert (caught.value.type, caught.value.retryable) == ("server", True)
    assert "16000000 bytes" in caught.value.message
    assert server.n_bytes < MAX_SENT_BYTES


@pytest.mark.parametrize("piece", [b": PROCESSING\n\n", b"\n", b'data: {"type": "ping"}\n\n', b"x"])
async def test_a_connection_that_is_only_kept_open_is_waited_for_three_times_as_long_as_a_silent_one(
    piece: bytes,
) -> None:
    async with (
        endless(iter(lambda: piece, None), b": \n\n", 0.005) as server,
        adapter(ANTHROPIC, server.url, patience_s=0.1) as model,
    ):
        with pytest.raises(ModelError) as caught:
            await bounded(chunks_of(model))

    assert caught.value.type == "timeout"
    assert "kept the connection open for 0.3 s without sending an answer" in caught.value.message


async def test_through_litellm_too_little_is_read_of_it(loader: LitellmLoader) -> None:
    for begin, piece in (("data: ", b"x" * 65_536), ("", begun_with((chat(content=PIECE),)))):
        async with endless(iter(lambda piece=piece: piece, None), begin.encode()) as server:
            endpoint = Endpoint(api_base=server.url, api_key=KEY, first_byte_timeout_s=WAIT_S, idle_timeout_s=WAIT_S)
            ended = await end_of(LitellmModel("openai/mock", endpoint, loader))
            assert ended == FinishChunk(reason=ENDLESS) or (isinstance(ended, ModelError) and ended.retryable)
        assert server.n_bytes < MAX_SENT_BYTES


async def test_through_litellm_too_bytes_that_say_nothing_are_an_error(loader: LitellmLoader) -> None:
    piece = b"\n" * 2_000 + b": working\n\n" * 500 + b": " + b"x" * 60_000 + b"\n\n"
    async with endless(iter(lambda: piece, None)) as server:
        endpoint = Endpoint(api_base=server.url, api_key=KEY, first_byte_timeout_s=WAIT_S, idle_timeout_s=WAIT_S)
        ended = await end_of(LitellmModel("openai/mock", endpoint, loader))
    assert isinstance(ended, ModelError)
    assert ended.retryable
    assert "the answer is too long" in ended.message
    assert server.n_bytes < MAX_SENT_BYTES


async def test_through_litellm_too_no_answer_is_unpacked(loader: LitellmLoader) -> None:
    packed = zlib.compress(b"x" * 10_000_000, wbits=31)
    async with endless(iter(lambda: packed, None), fields=b"Content-Encoding: gzip\r\n") as server:
        endpoint = Endpoint(api_base=server.url, api_key=KEY, first_byte_timeout_s=WAIT_S, idle_timeout_s=WAIT_S)
        ended = await end_of(LitellmModel("openai/mock", endpoint, loader))
    assert isinstance(ended, ModelError)
    assert b"accept-encoding: identity" in server.head.lower()


async def test_of_a_long_answer_litellm_keeps_few_pieces(loader: LitellmLoader) -> None:
    piece = begun_with((chat(content="x"),))
    n_chunks, kept = 0, MAX_PIECES * 2
    async with endless(iter(lambda: piece, None)) as server:
        endpoint = Endpoint(api_base=server.url, api_key=KEY, first_byte_timeout_s=WAIT_S, idle_timeout_s=WAIT_S)
        async with aclosing(LitellmModel("openai/mock", endpoint, loader).stream(request())) as chunks:
            async for _ in chunks:
                n_chunks += 1
                if n_chunks == 2 * MAX_PIECES:
                    kept = sum(type(each).__name__ == "ModelResponseStream" for each in gc.get_objects())
                    break
    assert kept < 1.5 * MAX_PIECES


@pytest.mark.parametrize("text", ["plum", "\\n", "\\x1b[0"])
async def test_of_a_program_that_writes_for_ever_little_is_read(tmp_path: Path, text: str) -> None:
    model = model_of(f"import sys\nwhile True: sys.stdout.write('{text}' * 10_000)", tmp_path)

    ended = await end_of(model)

    said = ended.message if isinstance(ended, ModelError) else ""
    assert ended == FinishChunk(reason=ENDLESS) or "wrote more than 4000000 characters" in said


async def test_a_program_that_writes_empty_lines_is_given_up(tmp_path: Path) -> None:
    script = "import time\nwhile True: print(flush=True); time.sleep(0.01)"
    model = model_of(script, tmp_path, first_byte_timeout_s=0.5, idle_timeout_s=0.5)

    with pytest.raises(ModelError, match=r"wrote nothing for 0\.5 s"):
        await bounded(chunks_of(model))


async def test_a_call_in_the_text_that_never_ends_is_stopped_and_not_made() -> None:
    n_taken = 0

    def opened() -> Iterator[Chunk]:
        nonlocal n_taken
        yield TextChunk(text='```tool\n{"name": "read_file", "input": {"path": "')
        while True:
            n_taken += len(PIECE)
            yield TextChunk(text=PIECE)

    rig, inner = make_rig(read_file), FakeModel([opened()])
    result = await run_turn(rig, TextToolCalls(inner, "on"))

    assert result.stop_reason == "max_output_tokens"
    assert calls(rig) == []
    assert n_taken < 2 * MOST


async def stream_of(*chunks: Chunk) -> AsyncGenerator[Chunk]:
    for each in chunks:
        yield each


long_texts = st.text(max_size=3).map(lambda text: text * 100_000)
some_chunks = st.lists(
    st.one_of(
        st.builds(TextChunk, text=long_texts),
        st.builds(ThinkingChunk, thinking=long_texts),
        st.builds(ToolCallChunk, index=st.integers(0, 3), arguments=long_texts),
    ),
    max_size=12,
)


@given(chunks=some_chunks)
async def test_what_is_within_the_limit_comes_as_it_is_and_of_the_rest_the_beginning(chunks: list[Chunk]) -> None:
    ended = [*chunks, FinishChunk(reason="stop")]

    came = [each async for each in within_limit(stream_of(*ended), request())]

    if came[-1] == FinishChunk(reason="stop"):
        assert came == ended
    else:
        assert isinstance(came[-2], NoticeChunk)
        assert came[-1] == FinishChunk(reason=ENDLESS)
        *whole, last = came[:-2] or [TextChunk(text="")]
        assert whole == chunks[: len(whole)]
        assert last == chunks[len(whole)] or isinstance(last, TextChunk)
    assert sum(map(length, came)) <= MOST


def length(chunk: Chunk) -> int:
    match chunk:
        case TextChunk(text=text) | ThinkingChunk(thinking=text) | ToolCallChunk(arguments=text):
            return len(text)
        case _:
            return 0


async def test_a_summary_without_an_end_is_an_error() -> None:
    with pytest.raises(ModelError, match="far beyond its limit"):
        await completed(stream_of(*[TextChunk(text=PIECE)] * 200), request())
