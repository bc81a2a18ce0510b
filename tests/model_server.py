"""Scripted provider: a real HTTP server on loopback that speaks the OpenAI streaming chat format, and Anthropic's at
`/v1/messages`.

It plays a script of `Step`s, one per request, and records the requests. It runs in a thread of its own, so it
serves a daemon in another process and a test's own event loop alike, and measures neither:

    with ModelServer([Step(text="Hello")]) as server: ...           # or `async with`, the same
    environment = {**clean, **server.env(), "PYGENT_MODEL": "openai/mock"}
    assert server.requests[0].messages[-1]["content"] == "hi"
    server.wait_for(lambda: server.disconnects == 1)                # `await server.until(...)` in async tests

A script may also be a function of the request and its number (from 0). A request beyond the script's end is answered
with status 400 and a text that says so; a GET is the list of models. Connections are kept alive as real providers do.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests import anthropic_dialect

WAIT_S = 30.0
"""Longest wait for anything here: far beyond what loopback needs, far below the tests' own timeout."""

STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call of the answer; arguments that are a string are sent as they are, valid JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    id: str | None = None
    """None: `call_REQUEST_INDEX`, both from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer. Chunks are counted as server-sent events, the first (role, no text) included."""

    text: str = ""
    thinking: str = ""
    """Sent before the text, as `reasoning_content`."""
    calls: tuple[Call, ...] = ()
    deltas: tuple[Mapping[str, Any], ...] | None = None
    """Sent as they are in place of thinking, text and calls: for providers with odd habits."""
    chunk: int = 8
    """Characters of text, thinking or arguments a chunk."""
    delay_s: float = 0.0
    """Before the first byte."""
    chunk_delay_s: float = 0.0
    """After each chunk."""
    finish: str | None = "auto"
    """The finish reason; `auto` is `tool_calls` or `stop`, None leaves it out."""
    usage: tuple[int, int] | None = (100, 20)
    """Prompt and completion tokens, sent to who asks for them (`stream_options`); None: never."""
    cached_tokens: int = 0
    status: int = 200
    """Anything else is answered with an error object, `error` its message."""
    error: str = "mock error"
    error_type: str = "mock"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hang: bool = False
    """Never answer, until the client goes away."""
    drop_after: int | None = None
    """Abort the connection after that many chunks."""
    stall_after: int | None = None
    """Send nothing more after that many chunks, until the client goes away."""
    pause_after: int | None = None
    """Send nothing more after that many chunks, until `ModelServer.resume` or the client goes away."""
    raw: tuple[str, str] | None = None
    """Content type and body, sent with `status` in place of any answer."""
    events: tuple[str, ...] | None = None
    """Server-sent events in their own words, streamed one by one in place of thinking, text and calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came in; header names are lower case."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str
    arrived_s: float
    """`time.monotonic()` when it was read whole."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation that was sent."""
        return self.body["messages"]

    def texts(self, role: str) -> list[str]:
        """The texts of the messages of one role; parts of a message are joined."""
        return [_text(message.get("content")) for message in self.messages if message["role"] == role]


Script = Sequence[Step] | Callable[[Received, int], Step]


class ModelServer:
    """The server; in use between `__enter__` and `__exit__` (or their async twins)."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Received] = []
        self.answered_s: list[float] = []
        """`time.monotonic()` when the last byte of an answer was written."""
        self.disconnects = 0
        """Connections that the client closed before the answer was over."""
        self.n_connections = 0
        """Number of connections that were ever opened."""
        self.port = 0
        self._script = script
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)
        self._started = threading.Event()
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._resumes = asyncio.Semaphore(0)
        self._failures: list[BaseException] = []

    @property
    def url(self) -> str:
        """What clients call the base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def env(self) -> dict[str, str]:
        """The environment in which `openai/ANY` is this server."""
        return {
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_BASE": self.url,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    def start(self) -> None:
        """Return when the server accepts connections."""
        self._thread.start()
        if not self._started.wait(WAIT_S):
            raise TimeoutError("the model server did not start")

    def stop(self) -> None:
        """Close all connections and end the thread. Raises what a script function raised."""
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WAIT_S)
        if self._thread.is_alive():
            raise TimeoutError("the model server did not stop")
        if self._failures:
            raise self._failures[0]

    def resume(self) -> None:
        """Let one answer go on that pauses, now or later."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._resumes.release)

    def forget_resumes(self) -> None:
        """Drop the calls of `resume` for which no answer has paused. Answers that pause now stay paused."""
        self._resumes = asyncio.Semaphore(0)

    def wait_for(self, true: Callable[[], bool], timeout_s: float = WAIT_S) -> None:
        """Return when a condition on this server's records holds. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(true, timeout_s):
                raise TimeoutError(f"{len(self.requests)} requests, {self.disconnects} disconnects")

    async def until(self, true: Callable[[], bool], timeout_s: float = WAIT_S) -> None:
        """`wait_for`, beside the event loop."""
        await asyncio.to_thread(self.wait_for, true, timeout_s)

    def __enter__(self) -> ModelServer:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    async def __aenter__(self) -> ModelServer:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.stop)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        for writer in self._connections.values():
            writer.transport.abort()  # whoever reads or writes there comes to an end
        await asyncio.gather(*self._connections, return_exceptions=True)
        await server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        self.n_connections += 1
        task.add_done_callback(self._gone)
        try:
            while True:
                await self._exchange(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away, or the step says that we do
        finally:
            writer.close()

    def _gone(self, task: asyncio.Task[None]) -> None:
        del self._connections[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failures.append(error)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = head[0].split(" ")
        if method == "GET":
            listing = {"object": "list", "data": [{"id": "mock", "object": "model"}]}
            await _Answer(reader, writer, Step(), "", self._resumes).whole(200, listing)
            return
        request = Received(body=json.loads(raw), headers=headers, path=path, arrived_s=time.monotonic())
        number = len(self.requests)
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        model = str(request.body.get("model", ""))
        answer = _Answer(reader, writer, self._step(request, number), model, self._resumes)
        answer.is_anthropic = path.endswith("/messages")
        try:
            await answer.send(request.body, number)
        except _ClientLeftError:
            self._count_disconnect()
            raise
        with self._changed:
            self.answered_s.append(time.monotonic())
            self._changed.notify_all()

    def _count_disconnect(self) -> None:
        assert self._stop is not None
        if self._stop.is_set():
            return
        with self._changed:
            self.disconnects += 1
            self._changed.notify_all()

    def _step(self, request: Received, number: int) -> Step:
        if callable(self._script):
            return self._script(request, number)
        if number < len(self._script):
            return self._script[number]
        return Step(status=400, error=f"the test's script has {len(self._script)} steps, this is request {number + 1}")


class _ClientLeftError(ConnectionError):
    """The client closed the connection in the middle of an answer."""


class _DroppedError(ConnectionError):
    """The step says to abort the connection."""


class _Answer:
    """One answer on its way out."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        step: Step,
        model: str,
        resumes: asyncio.Semaphore,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._step = step
        self._model = model
        self._resumes = resumes
        self._id = "chatcmpl-test"
        self.is_anthropic = False
        self._n_sent = 0

    async def send(self, body: Mapping[str, Any], number: int) -> None:
        """Send the step's answer to a request."""
        step = self._step
        if step.hang:
            await self._leave_or_pass(None)
        if step.delay_s:
            await self._leave_or_pass(step.delay_s)
        if step.raw is not None:
            await self._bytes(step.status, step.raw[0], step.raw[1].encode())
        elif step.status != 200:
            error = {"message": step.error, "type": step.error_type, "param": None, "code": step.code}
            await self.whole(step.status, {"type": "error", "error": error})
        elif step.events is not None:
            await self._stream_events(step.events)
        elif body.get("stream"):
            await self._stream(number, usage_wanted="include_usage" in str(body.get("stream_options")))
        else:
            await self._at_once(number)

    async def whole(self, status: int, content: Mapping[str, Any]) -> None:
        """Send one JSON object."""
        await self._bytes(status, "application/json", json.dumps(content).encode())

    async def _bytes(self, status: int, kind: str, body: bytes) -> None:
        lines = [f"HTTP/1.1 {status} Status", f"content-type: {kind}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in self._step.headers.items()]
        await self._write("\r\n".join([*lines, "", ""]).encode() + body)

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as error:
            raise _ClientLeftError from error

    async def _leave_or_pass(self, seconds: float | None) -> None:
        """Wait that long (None: for ever), unless the client goes away first."""
        try:
            async with asyncio.timeout(seconds):
                received = await self._reader.read(1)
        except TimeoutError:
            return
        except ConnectionError as error:
            raise _ClientLeftError from error
        raise _ClientLeftError if not received else AssertionError("a client sent a request before its answer was over")

    async def _leave_or_resume(self) -> None:
        leaving = asyncio.create_task(self._leave_or_pass(None))
        resuming = asyncio.create_task(self._resumes.acquire())
        try:
            await asyncio.wait((leaving, resuming), return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                leaving.result()
        finally:
            leaving.cancel()
            resuming.cancel()
            await asyncio.gather(leaving, resuming, return_exceptions=True)

    async def _at_once(self, number: int) -> None:
        calls = [
            {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
            for call, call_id, arguments in self._calls(number)
        ]
        message = {"role": "assistant", "content": self._step.text or None} | ({"tool_calls": calls} if calls else {})
        choice = {"index": 0, "message": message, "finish_reason": self._finish()}
        await self.whole(200, self._envelope("chat.completion") | {"choices": [choice], "usage": self._usage()})

    async def _stream_events(self, events: Sequence[str]) -> None:
        await self._write(STREAM_HEAD)
        for event in events:
            await self._piece(event.encode())
        await self._write(b"0\r\n\r\n")

    async def _stream(self, number: int, *, usage_wanted: bool) -> None:
        await self._write(STREAM_HEAD)
        if self.is_anthropic:
            await self._stream_messages(number)
            return
        await self._delta({"role": "assistant", "content": ""})
        for delta in self._deltas(number):
            await self._delta(delta)
        if self._finish() is not None:
            await self._delta({}, finish=self._finish())
        if usage_wanted and self._step.usage is not None:
            await self._event(self._envelope("chat.completion.chunk") | {"choices": [], "usage": self._usage()})
        done = b"data: [DONE]\n\n"
        await self._write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(done), done))

    async def _stream_messages(self, number: int) -> None:
        step = self._step
        usage = (step.usage[0], step.cached_tokens, step.usage[1]) if step.usage else None
        for event in anthropic_dialect.events(
            thoughts=_parts(step.thinking, step.chunk),
            texts=_parts(step.text, step.chunk),
            calls=[
                (call.name, call_id, _parts(arguments, step.chunk)) for call, call_id, arguments in self._calls(number)
            ],
            finish=self._finish(),
            usage=usage,
        ):
            await self._event(event)
        await self._write(b"0\r\n\r\n")

    async def _delta(self, delta: Mapping[str, Any], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        await self._event(self._envelope("chat.completion.chunk") | {"choices": [choice]})

    async def _event(self, content: Mapping[str, Any]) -> None:
        name = f"event: {content['type']}\n".encode() if self.is_anthropic else b""
        await self._piece(name + b"data: " + json.dumps(content).encode() + b"\n\n")

    async def _piece(self, data: bytes) -> None:
        await self._write(b"%x\r\n%b\r\n" % (len(data), data))
        self._n_sent += 1
        if self._n_sent == self._step.drop_after:
            self._writer.transport.abort()
            raise _DroppedError
        if self._n_sent == self._step.stall_after:
            await self._leave_or_pass(None)
        if self._n_sent == self._step.pause_after:
            await self._leave_or_resume()
        if self._step.chunk_delay_s:
            await self._leave_or_pass(self._step.chunk_delay_s)

    def _deltas(self, number: int) -> list[Mapping[str, Any]]:
        step = self._step
        if step.deltas is not None:
            return list(step.deltas)
        deltas: list[Mapping[str, Any]] = [{"reasoning_content": part} for part in _parts(step.thinking, step.chunk)]
        deltas += [{"content": part} for part in _parts(step.text, step.chunk)]
        for index, (call, call_id, arguments) in enumerate(self._calls(number)):
            function = {"name": call.name, "arguments": ""}
            deltas.append({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
            for part in _parts(arguments, step.chunk):
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        return deltas

    def _calls(self, number: int) -> list[tuple[Call, str, str]]:
        return [
            (
                call,
                call.id if call.id is not None else f"call_{number}_{index}",
                call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments),
            )
            for index, call in enumerate(self._step.calls)
        ]

    def _finish(self) -> str | None:
        if self._step.finish != "auto":
            return self._step.finish
        return "tool_calls" if self._step.calls else "stop"

    def _usage(self) -> dict[str, Any]:
        prompt, completion = self._step.usage or (0, 0)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": self._step.cached_tokens},
        }

    def _envelope(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": int(time.time()), "model": self._model}


def _parts(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""
