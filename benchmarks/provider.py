"""A model's provider in a process of its own, so that it shares no interpreter with what is measured.

It streams chat completions and responses. The last prompt says what it answers (`calls`, `flood`, `paced`, `stall`);
other prompts get one sentence. It keeps the times of each request and tells them to a GET, by the system's monotonic
clock, which is `time.monotonic` in every process of the machine.

usage: python benchmarks/provider.py     (prints its port)
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any, ClassVar
from urllib.request import urlopen

MAX_HEAD_BYTES = 1_000_000

PLAIN = ["All of them", " are read."]

FLOOD_AT_ONCE = 200
"""Deltas of a flood that are written together."""

TOOLS: dict[str, str] = {"read_file": "path", "read": "filePath"}
"""Tools that read a file, and the argument that names it."""


def calls(n_calls: int) -> str:
    """Prompt that is answered with a call of a tool, as often as that, and then with text."""
    return f"Read all files. BENCH calls {n_calls} 0"


def flood(n_deltas: int) -> str:
    """Prompt that is answered with so many deltas, as fast as they are read."""
    return f"Write. BENCH flood {n_deltas} 0"


def paced(n_deltas: int, pause_us: int) -> str:
    """Prompt that is answered with so many deltas, one each `pause_us` microseconds; their words are `w0 `, `w1 `, …"""
    return f"Write slowly. BENCH paced {n_deltas} {pause_us}"


def stall(n_deltas: int = 1) -> str:
    """Prompt that is answered with so many deltas, and then with nothing, until the connection is closed."""
    return f"Begin. BENCH stall {n_deltas} 0"


@dataclass
class Told:
    """A request and its answer; times in seconds."""

    began_s: float
    """When its head had arrived."""
    n_bytes: int
    ended_s: float | None = None
    """When the last byte of the answer was written."""
    closed_s: float | None = None
    """When the client closed a connection whose answer had stalled."""
    sent_s: list[float] = field(default_factory=list[float])
    """When each of the deltas was written, if they are paced; otherwise only the first."""


@contextmanager
def provider() -> Generator[str]:
    """Run one, and give its base URL."""
    command = [sys.executable, __file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def told_by(url: str, *, forget: bool = True) -> list[Told]:
    """What it keeps: the requests in their order. With `forget`, it begins anew."""
    with urlopen(f"{url}/kept{'?forget' if forget else ''}") as reply:
        return [Told(**each) for each in json.load(reply)]


class _Provider:
    def __init__(self) -> None:
        self._kept: list[Told] = []

    async def serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=MAX_HEAD_BYTES)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                began_s = monotonic()
                if head.startswith("get"):
                    is_ours = "/kept" in head
                    body = json.dumps([asdict(each) for each in self._kept] if is_ours else {"data": []}).encode()
                    if "/kept?forget" in head:
                        self._kept = []
                    writer.write(
                        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                        % (len(body), body)
                    )
                    continue
                length = int(head.partition("content-length:")[2].partition("\r\n")[0])
                request = json.loads(await reader.readexactly(length))
                told = Told(began_s, length)
                if request.get("tools"):  # not the request for a title
                    self._kept.append(told)
                dialect = Responses(request) if "/responses" in head.partition("\r\n")[0] else Chat(request)
                await _answer(reader, writer, dialect, told)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Chat:
    """Chat completions."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.tools: list[str] = [each["function"]["name"] for each in request.get("tools", ()) if "function" in each]
        messages = request["messages"]
        asked = max((at for at, each in enumerate(messages) if each["role"] == "user"), default=0)
        self.prompt = json.dumps(messages[asked].get("content"))
        self.n_results = sum(each["role"] == "tool" for each in messages[asked:])

    def begin(self) -> list[bytes]:
        return [self._event({"role": "assistant", "content": ""})]

    def delta(self, text: str) -> bytes:
        return self._event({"content": text})

    def call(self, call_id: str, name: str, arguments: str) -> list[bytes]:
        call: dict[str, Any] = {"index": 0, "id": call_id, "type": "function"}
        call["function"] = {"name": name, "arguments": ""}
        return [
            self._event({"tool_calls": [call]}),
            self._event({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}),
        ]

    def end(self, texts: Sequence[str], call: tuple[str, str, str] | None) -> list[bytes]:
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return [
            self._event({}, "tool_calls" if call else "stop"),
            _event(self._ENVELOPE | {"choices": [], "usage": usage}),
            b"data: [DONE]\n\n",
        ]

    _ENVELOPE: ClassVar[dict[str, Any]] = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "mock"}

    def _event(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _event(self._ENVELOPE | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


class Responses:
    """Responses."""

    _ITEM: ClassVar[dict[str, Any]] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress"}

    def __init__(self, request: dict[str, Any]) -> None:
        self.tools: list[str] = [each["name"] for each in request.get("tools", ()) if "name" in each]
        items = request["input"]
        asked = max((at for at, each in enumerate(items) if each.get("role") == "user"), default=0)
        self.prompt = json.dumps(items[asked].get("content"))
        self.n_results = sum(str(each.get("type", "")).endswith("call_output") for each in items[asked:])

    def begin(self) -> list[bytes]:
        part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
        return [
            self._event("created", response=self._response("in_progress", [])),
            self._event("output_item.added", output_index=0, item={**self._ITEM, "content": []}),
            self._event("content_part.added", item_id="msg_1", output_index=0, content_index=0, part=part),
        ]

    def delta(self, text: str) -> bytes:
        return self._event(
            "output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta=text, logprobs=[]
        )

    def call(self, call_id: str, name: str, arguments: str) -> list[bytes]:
        item = self._call(call_id, name, arguments)
        return [
            self._event("output_item.added", output_index=1, item={**item, "arguments": "", "status": "in_progress"}),
            self._event("function_call_arguments.delta", item_id=item["id"], output_index=1, delta=arguments),
            self._event("function_call_arguments.done", item_id=item["id"], output_index=1, arguments=arguments),
            self._event("output_item.done", output_index=1, item=item),
        ]

    def end(self, texts: Sequence[str], call: tuple[str, str, str] | None) -> list[bytes]:
        content: list[dict[str, Any]] = [{"type": "output_text", "text": "".join(texts), "annotations": []}]
        item = {**self._ITEM, "status": "completed", "content": content}
        output = [item, *([self._call(*call)] if call else [])]
        return [
            self._event("output_item.done", output_index=0, item=item),
            self._event("completed", response=self._response("completed", output)),
        ]

    @staticmethod
    def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
        return {
            "type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name,
            "arguments": arguments, "status": "completed",
        }  # fmt: skip

    @staticmethod
    def _response(status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {
            "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "mock", "output": output,
            "usage": usage, "tools": [], "tool_choice": "auto", "parallel_tool_calls": False,
        }  # fmt: skip

    @staticmethod
    def _event(kind: str, **fields: Any) -> bytes:
        return b"event: response.%b\n%b" % (
            kind.encode(),
            _event({"type": f"response.{kind}", "sequence_number": 1, **fields}),
        )


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, dialect: Chat | Responses, told: Told
) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    found = re.search(r"BENCH (\w+) (\d+) (\d+)", dialect.prompt)
    kind, number, pause_us = (found[1], int(found[2]), int(found[3])) if found else ("", 0, 0)
    texts, call = PLAIN, None
    writer.write(_chunk(b"".join(dialect.begin())))
    if kind == "calls" and dialect.n_results < number:
        texts, call = ["Next. "], _next_call(dialect)
    elif kind in ("flood", "paced", "stall"):
        texts = [f"w{at} " for at in range(number)]
    if kind == "paced":
        began_s = monotonic()
        for at, text in enumerate(texts):
            await asyncio.sleep(began_s + at * pause_us / 1e6 - monotonic())
            told.sent_s.append(monotonic())
            writer.write(_chunk(dialect.delta(text)))
    else:
        pieces = list(_pieces([_chunk(dialect.delta(text)) for text in texts]))
        for each in pieces:
            told.sent_s = told.sent_s or [monotonic()]
            writer.write(each)
            await writer.drain()
    if kind == "stall":
        await reader.read()
        told.closed_s = monotonic()
        raise ConnectionError
    closing = [*(dialect.call(*call) if call else ()), *dialect.end(texts, call)]
    writer.write(b"".join(_chunk(each) for each in closing) + _chunk(b""))
    await writer.drain()
    told.ended_s = monotonic()


def _next_call(dialect: Chat | Responses) -> tuple[str, str, str]:
    number = dialect.n_results
    for name, argument in TOOLS.items():
        if name in dialect.tools:
            return f"call_{number}", name, json.dumps({argument: f"f{number}.txt"})
    return f"call_{number}", "get_goal", "{}"  # codex reads files by commands; this is its cheapest tool


def _pieces(chunks: Sequence[bytes]) -> Iterator[bytes]:
    for at in range(0, len(chunks), FLOOD_AT_ONCE):
        yield b"".join(chunks[at : at + FLOOD_AT_ONCE])


def _event(data: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % json.dumps(data).encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


if __name__ == "__main__":
    asyncio.run(_Provider().serve())
