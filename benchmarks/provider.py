"""A model's provider in a process of its own, so that it shares no interpreter with what is measured.

It speaks streaming chat completions. The first N requests of a conversation are answered with a call of
`read_file`, the next with text; a prompt with the word HANG is never answered. It keeps when each request began to
arrive and when the last byte of each answer was written, and tells both to a GET.

usage: python benchmarks/provider.py N_CALLS     (prints its port)
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic
from typing import Any
from urllib.request import urlopen


@contextmanager
def provider(n_calls: int) -> Generator[str]:
    """Run one, and give its base URL."""
    command = [sys.executable, __file__, str(n_calls)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def told_by(url: str) -> dict[str, Any]:
    """What it kept since it was asked last: `began_s`, `ended_s` and `n_bytes`, one for each request in order."""
    with urlopen(f"{url}/kept") as reply:
        return json.load(reply)


class _Provider:
    def __init__(self, n_calls: int) -> None:
        self._n_calls = n_calls
        self._kept: dict[str, list[float]] = {"began_s": [], "ended_s": [], "n_bytes": []}

    async def serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1_000_000)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                began_s = monotonic()
                if head.startswith("get"):
                    body = json.dumps(self._kept).encode()
                    self._kept = {name: [] for name in self._kept}
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
                    continue
                length = int(head.partition("content-length:")[2].partition("\r\n")[0])
                request = await reader.readexactly(length)
                self._kept["began_s"].append(began_s)
                self._kept["n_bytes"].append(length)
                if b"HANG" in request:
                    await reader.read()
                    return
                await self._answer(writer, request.count(b'"role": "tool"') + request.count(b'"role":"tool"'))
                self._kept["ended_s"].append(monotonic())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, n_results: int) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if n_results < self._n_calls:
            call: dict[str, Any] = {"index": 0, "id": f"call_{n_results}", "type": "function"}
            call["function"] = {"name": "read_file", "arguments": ""}
            arguments = json.dumps({"path": f"f{n_results}.txt"})
            deltas += [{"content": "Next. "}, {"tool_calls": [call]}]
            deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}]
        else:
            deltas += [{"content": "All of them are read."}]
        finish = "tool_calls" if n_results < self._n_calls else "stop"
        events: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        events.append({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})
        envelope = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "mock"}
        for event in events:
            _chunk(writer, b"data: %b\n\n" % json.dumps(envelope | event).encode())
        _chunk(writer, b"data: [DONE]\n\n")
        _chunk(writer, b"")
        await writer.drain()


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


if __name__ == "__main__":
    asyncio.run(_Provider(int(sys.argv[1])).serve())
