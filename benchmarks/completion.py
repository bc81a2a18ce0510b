"""How long a key takes to the model, and an answer to the editor, beside a bare loop.

The daemon runs over stdio as in an editor, with a debounce of 0. A key is a `didChange` and a
`textDocument/inlineCompletion`. The model is a server on loopback that answers at once with one chunk. Times are taken
by one clock of the machine: when the key is sent, when the server has the whole request, when it has sent the end of
its answer, and when the editor has the reply. The bare loop sends the bytes of the same request to the same server over
a new task with a kept connection, which is the floor.

usage: python benchmarks/completion.py [KEYS]
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

KEYS = 60

SMALL = "import os\n\n\ndef area(r):\n    return \n\n\nprint(area(2))\n"
LARGE = "".join(f"value_{number} = compute({number}, 'some text')\n" for number in range(60_000))


@dataclass
class Server:
    """Answers every request at once, and notes when."""

    got_s: list[float] = field(default_factory=list[float])
    sent_s: list[float] = field(default_factory=list[float])
    bodies: list[bytes] = field(default_factory=list[bytes])
    port: int = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        chunk = {"id": "x", "object": "text_completion", "created": 1, "model": "m"}
        event = {**chunk, "choices": [{"index": 0, "text": "total + ", "finish_reason": "stop", "logprobs": None}]}
        raw = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
                self.got_s.append(perf_counter())
                self.bodies.append(body)
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%b"
                    % (len(raw), raw)
                )
                await writer.drain()
                self.sent_s.append(perf_counter())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving() -> AsyncGenerator[Server]:
    server = Server()
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0, limit=2**22)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


class Daemon:
    """The daemon over stdio."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._in, self._out = process, process.stdin, process.stdout
        self._n_requests = 0

    def tell(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self._in.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def ask(self, method: str, params: Any) -> Any:
        self._n_requests += 1
        number = self._n_requests
        self.tell(method, params, id=number)
        while True:
            head = await self._out.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            message = json.loads(await self._out.readexactly(length))
            if message.get("id") == number and "method" not in message:
                return message["result"]
            if "id" in message and "method" in message:
                reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": None}).encode()
                self._in.write(b"Content-Length: %d\r\n\r\n%b" % (len(reply), reply))

    @property
    def cpu_s(self) -> float:
        """Processor time of the daemon, which other programs on the machine do not change much."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def end(self) -> None:
        await self.ask("shutdown", None)
        self.tell("exit", None)
        await asyncio.wait_for(self._process.wait(), 30)


@asynccontextmanager
async def daemon(folder: Path, server: Server) -> AsyncGenerator[Daemon]:
    environment = {
        **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
        "HOME": str(folder),
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/v1",
        "PYGENT_COMPLETION_MODEL": "openai/mock",
        "PYGENT_COMPLETION_API": "completions",
        "PYGENT_COMPLETION_DEBOUNCE_MS": "0",
    }
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "pygent-ls"),
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=2**24,
    )
    made = Daemon(process)
    try:
        await made.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        made.tell("initialized", {})
        yield made
        await made.end()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def keys(text: str, n_keys: int) -> dict[str, float]:
    """Type so many keys in a document; return milliseconds, as medians and 95th percentiles."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "project"
        folder.mkdir()
        file = folder / "a.py"
        file.write_text(text)
        async with serving() as server, daemon(folder, server) as editor:
            uri = file.as_uri()
            opened = {"uri": uri, "languageId": "python", "version": 0, "text": text}
            editor.tell("textDocument/didOpen", {"textDocument": opened})
            line = text.count("\n") // 2
            to_model: list[float] = []
            to_editor: list[float] = []
            began_cpu_s = 0.0
            for number in range(n_keys + 5):
                if number == 5:  # the first ones import and connect
                    began_cpu_s = editor.cpu_s
                place = {"line": line, "character": number}
                change = {"range": {"start": place, "end": place}, "text": "k"}
                began_s = perf_counter()
                document = {"uri": uri, "version": number + 1}
                editor.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
                asked = {
                    "textDocument": {"uri": uri},
                    "position": {"line": line, "character": number + 1},
                    "context": {"triggerKind": 2},
                }
                answer = await editor.ask("textDocument/inlineCompletion", asked)
                ended_s = perf_counter()
                assert answer["items"], answer
                to_model.append(server.got_s[-1] - began_s)
                to_editor.append(ended_s - server.sent_s[-1])
            cpu_s = editor.cpu_s - began_cpu_s
            assert len(server.got_s) == n_keys + 5
            floor = await bare(server, n_keys)
    return {
        "key_to_model_ms": ms(statistics.median(to_model[5:])),
        "key_to_model_p95_ms": ms(statistics.quantiles(to_model[5:], n=20)[-1]),
        "answer_to_editor_ms": ms(statistics.median(to_editor[5:])),
        "answer_to_editor_p95_ms": ms(statistics.quantiles(to_editor[5:], n=20)[-1]),
        "daemon_cpu_per_key_ms": ms(cpu_s / n_keys),
        "bare_to_model_ms": ms(floor[0]),
        "bare_to_caller_ms": ms(floor[1]),
        "bytes": len(server.bodies[-1]),
    }


async def bare(server: Server, n_keys: int) -> tuple[float, float]:
    """Send the last request again and again over one connection; return the medians both ways."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    body = server.bodies[-1]
    there: list[float] = []
    back: list[float] = []
    for _ in range(n_keys):
        began_s = perf_counter()
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await reader.readuntil(b"[DONE]\n\n")
        ended_s = perf_counter()
        there.append(server.got_s[-1] - began_s)
        back.append(ended_s - server.sent_s[-1])
    writer.close()
    return statistics.median(there), statistics.median(back)


def ms(seconds: float) -> float:
    return round(seconds * 1_000, 2)


def main() -> None:
    n_keys = int(sys.argv[1]) if len(sys.argv) > 1 else KEYS
    rounds: dict[str, list[dict[str, float]]] = {"8 lines": [], "60,000 lines": []}
    for _ in range(3):  # they take turns, so that a machine that grows slower does so for both
        for name, text in (("8 lines", SMALL), ("60,000 lines", LARGE)):
            rounds[name].append(asyncio.run(keys(text, n_keys)))
    result = {
        name: {figure: statistics.median(each[figure] for each in found) for figure in found[0]}
        for name, found in rounds.items()
    }
    for name, found in result.items():
        print(name, json.dumps(found))
    write_result("completion", result)


if __name__ == "__main__":
    main()
