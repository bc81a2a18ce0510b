"""What a model call costs over httpx, over aiohttp, through our own adapters and through litellm, side by side.

A server in a process of its own answers with N chunks. The ways take turns, A B C A B C …, in one process each round,
so that a machine that grows slower does so for all; the figures are medians. A message has 400 characters.
Import and memory are those of a fresh process each. Where httpx-sse is installed, it reads events beside ours.

usage: python benchmarks/model_call.py [ROUNDS]
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from machine import write_result

from pygent_ls.agent.messages import Message, TextBlock, user_message
from pygent_ls.agent.ports.model import Model, ModelRequest
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from pygent_ls.llm.server_sent_events import EventReader

ROUNDS = 15
"""Odd, so that the median is one of them."""

TURNS = 10
"""Calls of one way in a round."""

SIZES = ((5, 20), (5, 400), (500, 20))
"""Chunks of an answer, and messages of a request."""

SERVER = """
import asyncio, json, sys
def piece(data):
    raw = b"data: " + data.encode() + b"\\n\\n"
    return b"%x\\r\\n%b\\r\\n" % (len(raw), raw)
def event(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return piece(json.dumps(chunk))
async def connected(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\\r\\n\\r\\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\\r\\n")[0])
            body = json.loads(await reader.readexactly(length))
            n = int(body["model"].split("-")[1])
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n")
            writer.write(b"transfer-encoding: chunked\\r\\n\\r\\n")
            for k in range(n):
                writer.write(event({"content": f"abcde{k:03}"}))
            writer.write(event({}, "stop") + piece("[DONE]") + b"0\\r\\n\\r\\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
async def main():
    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

IMPORT = """
import asyncio, json, os, sys, time
from pathlib import Path
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
before, start = resident(), time.perf_counter()
__import__(sys.argv[1])
print(time.perf_counter() - start, resident() - before)
"""

Call = Callable[[ModelRequest, str], Awaitable[int]]
"""Makes one call of the model of that name; the characters of its answer."""


def main() -> None:
    """Measure and write."""
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        calls = asyncio.run(measured(f"http://127.0.0.1:{int(server.stdout.readline())}/v1", n_rounds))
    finally:
        server.kill()
        server.wait()
    write_result(
        "model_call",
        {
            "what": "one streamed call on loopback, over a warm connection: milliseconds of wall clock and of CPU",
            "rounds": n_rounds,
            "versions": {name: version(name) for name in ("httpx", "aiohttp", "openai", "litellm")},
            "calls": calls,
            "imports": {name: imported(name) for name in ("httpx", "aiohttp", "litellm")},
            "events": events(),
        },
    )


async def measured(url: str, n_rounds: int) -> dict[str, Any]:
    """Each size of call, each way."""
    async with opened(url) as ways:
        return {
            f"{n_chunks} chunks, {n_messages} messages": await compared(ways, n_rounds, n_chunks, n_messages)
            for n_chunks, n_messages in SIZES
        }


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[dict[str, Call]]:
    """The ways to call, each with its connections open."""
    import aiohttp
    import httpx

    resources = ModelResources()
    await resources.loader.wait()
    endpoint = Endpoint(api_base=url, api_key="k")
    async with httpx.AsyncClient(timeout=None) as client, aiohttp.ClientSession() as session:

        async def over_httpx(request: ModelRequest, model: str) -> int:
            async with client.stream("POST", f"{url}/chat/completions", content=body_of(request, model)) as response:
                return await n_characters(response.aiter_bytes())

        async def over_aiohttp(request: ModelRequest, model: str) -> int:
            async with session.post(f"{url}/chat/completions", data=body_of(request, model)) as response:
                return await n_characters(response.content.iter_any())

        models: dict[str, Model] = {}

        def through(prefix: str) -> Call:
            async def call(request: ModelRequest, model: str) -> int:
                name = f"{prefix}{model}"
                made = models.setdefault(name, make_model(name, endpoint, resources))
                return len((await made.complete(request)).text)

            return call

        yield {
            "plain httpx": over_httpx,
            "plain aiohttp": over_aiohttp,
            "our adapter": through("openai/"),
            "litellm": through("litellm/openai/"),
        }
    await resources.close()


def body_of(request: ModelRequest, model: str) -> bytes:
    """The least that the server needs."""
    messages = [{"role": message.role, "content": message.text} for message in request.messages]
    return json.dumps({"model": model, "messages": messages, "stream": True}).encode()


async def n_characters(pieces: Any) -> int:
    """Time to decode the answer's text: the minimum that a client has to do."""
    reader, n = EventReader(), 0
    async for piece in pieces:
        for event in reader.feed(piece):
            if event.data != "[DONE]":
                n += len(json.loads(event.data)["choices"][0]["delta"].get("content", ""))
    return n


async def compared(ways: dict[str, Call], n_rounds: int, n_chunks: int, n_messages: int) -> dict[str, Any]:
    """Every way in turn, round by round."""
    request, model = asked(n_messages), f"m-{n_chunks}"
    walls: dict[str, list[float]] = {name: [] for name in ways}
    cpus: dict[str, list[float]] = {name: [] for name in ways}
    for name, call in ways.items():
        assert await call(request, model) == 8 * n_chunks, name  # warm, and right
    for _ in range(n_rounds):
        for name, call in ways.items():
            wall, cpu = perf_counter(), process_time()
            for _ in range(TURNS):
                await call(request, model)
            walls[name].append((perf_counter() - wall) / TURNS * 1000)
            cpus[name].append((process_time() - cpu) / TURNS * 1000)
    return {
        name: {"wall_ms": round(statistics.median(walls[name]), 2), "cpu_ms": round(statistics.median(cpus[name]), 2)}
        for name in ways
    }


def asked(n_messages: int) -> ModelRequest:
    """A conversation of that length."""
    text = "x" * 400
    messages = [
        Message(role="assistant", content=(TextBlock(text=text),)) if n % 2 else user_message(text)
        for n in range(n_messages - 1)
    ]
    return ModelRequest(
        system="s", messages=[*messages, user_message(text)], tools=(), max_output_tokens=100, temperature=1.0
    )


def imported(name: str) -> dict[str, float]:
    """Seconds and megabytes that the import takes; the best of three."""
    runs: list[list[float]] = []
    for _ in range(3):
        command = [sys.executable, "-c", IMPORT, name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append([float(each) for each in done.stdout.split()])
    return {"seconds": round(min(run[0] for run in runs), 3), "mb": round(min(run[1] for run in runs), 1)}


def events() -> dict[str, float]:
    """Microseconds for one event, a hundred in each piece of bytes."""
    choice = {"index": 0, "delta": {"content": "abcdefgh"}, "finish_reason": None}
    raw = b"data: " + json.dumps({"id": "x", "model": "m", "choices": [choice]}).encode() + b"\n\n"
    pieces = [raw * 100] * 100

    def ours() -> int:
        reader = EventReader()
        return sum(len(reader.feed(piece)) for piece in pieces)

    readers: dict[str, Callable[[], int]] = {"ours": ours}
    if find_spec("httpx_sse"):
        readers["httpx-sse"] = lambda: with_httpx_sse(pieces)
    best = {name: min(timed(read) for _ in range(5)) for name, read in readers.items()}
    return {f"{name}_us": round(seconds / 10_000 * 1e6, 2) for name, seconds in best.items()}


def with_httpx_sse(pieces: list[bytes]) -> int:
    """Its decoder takes lines, which its caller has split."""
    decoder: Any = import_module("httpx_sse._decoders").SSEDecoder()
    n, tail = 0, b""
    for piece in pieces:
        *lines, tail = (tail + piece).split(b"\n")
        n += sum(decoder.decode(line.decode().rstrip("\r")) is not None for line in lines)
    return n


def timed(read: Callable[[], int]) -> float:
    """Seconds of one run."""
    start = perf_counter()
    assert read() == 10_000
    return perf_counter() - start


if __name__ == "__main__":
    main()
