"""A program that is talked to in messages of JSON-RPC with a header, as language servers are."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.errors import ToolError
from pygent_ls.extensions.pipes import OnOutput, RunProgram, writer_to

MAX_MESSAGE_BYTES = 64_000_000
"""Maximum length of one message of a server."""

MAX_HEADER_BYTES = 8_192

MAX_UNSENT_BYTES = 64_000_000
"""Maximum length of what a server has not read yet; one that reads nothing is ended."""

MAX_ERROR_CHARS = 500

METHOD_NOT_FOUND = -32601
SERVER_CANCELLED = -32802

_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,12})[ \t]*$", re.IGNORECASE | re.MULTILINE)

HandleRequest = Callable[[str, Any], Any]
"""Answers a request of the server. Raises LookupError for an unknown method."""

TakeNotification = Callable[[str, Any], None]


class RpcError(ToolError):
    """The server answered a request with an error."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class MessageFrames:
    """Messages of an output that arrives in pieces."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the messages that are complete with this piece. Raises `ToolError` for anything else."""
        self._buffer += piece
        while True:
            end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEADER_BYTES)
            if end < 0:
                if len(self._buffer) >= MAX_HEADER_BYTES:
                    raise ToolError("It wrote something other than messages to its standard output.")
                return
            found = _LENGTH.search(bytes(self._buffer[:end]).replace(b"\r\n", b"\n"))
            if found is None:
                raise ToolError("It wrote something other than messages to its standard output.")
            size = int(found[1])
            if size > MAX_MESSAGE_BYTES:
                raise ToolError(f"It wrote a message of more than {MAX_MESSAGE_BYTES:,} bytes.")
            if len(self._buffer) < end + 4 + size:
                return
            yield bytes(self._buffer[end + 4 : end + 4 + size])
            del self._buffer[: end + 4 + size]


class RpcProcess:
    """Runs a server from `start` to `stop`; its process ends even if the daemon is killed."""

    def __init__(
        self, run: RunProgram, spec: ProcessSpec, log: OnOutput, handle: HandleRequest, take: TakeNotification
    ) -> None:
        """`log` is given standard error, `handle` each request of the server, `take` each notification."""
        self._run_program = run
        self._spec = spec
        self._log = log
        self._handle = handle
        self._take = take
        self._frames = MessageFrames()
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue()
        self._n_unsent = 0
        self._process: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()
        """Set when the process has ended, or was given up."""
        self.why_ended = ""
        """How it has ended, for a person; empty while it runs."""

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and not self._process.done() and not self.why_ended

    def start(self) -> None:
        """Start the program. A failure is in `why_ended`, and fails every request."""
        reading, writing = os.pipe()
        self._writing = asyncio.create_task(self._write(writing))
        self._process = asyncio.create_task(self._run(reading))

    async def request(self, method: str, params: object, timeout_s: float) -> Any:
        """Send a request and return its result. Raises `RpcError` for an error, `ToolError` if the server has ended,
        and TimeoutError. The server is told of a timeout and of a cancellation."""
        if self.why_ended:
            raise ToolError(self.why_ended)
        number = next(self._ids)
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except (TimeoutError, asyncio.CancelledError):
            self.notify("$/cancelRequest", {"id": number})
            raise
        finally:
            self._open.pop(number, None)

    def notify(self, method: str, params: object) -> None:
        """Send a notification; a server that has ended is sent nothing."""
        self._send({"method": method, "params": params})

    async def stop(self, grace_s: float) -> None:
        """Let the server end by itself within the time, then end it. Returns once its process has ended."""
        if self._process is None or self._writing is None:
            return
        try:
            if self.runs:
                with suppress(ToolError, TimeoutError):
                    await self.request("shutdown", None, grace_s)
                self.notify("exit", None)
                await asyncio.wait([self._process], timeout=grace_s)
        finally:
            self._process.cancel()
            self._writing.cancel()
            await asyncio.wait([self._process, self._writing])

    def _send(self, message: Mapping[str, Any]) -> None:
        if self.why_ended:
            return
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._n_unsent += len(body)
        if self._n_unsent > MAX_UNSENT_BYTES and self._process is not None:
            self._fail("It does not read what it is sent.")
            self._process.cancel()
            return
        self._unsent.put_nowait(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _run(self, stdin: int) -> None:
        why = "It was ended."
        try:
            why = _how(await self._run_program(self._spec, self._read, stdin, self._log))
        except ToolError as error:
            why = str(error)
        finally:
            self._fail(why)

    def _fail(self, why: str) -> None:
        self.why_ended = self.why_ended or why
        self.ended.set()
        for each in self._open.values():
            if not each.done():
                each.set_exception(ToolError(self.why_ended))

    async def _read(self, text: str) -> None:
        for body in self._frames.feed(text.encode("utf-8", "surrogatepass")):
            try:
                message: Any = json.loads(body)
            except (ValueError, RecursionError):
                raise ToolError("It wrote a message that is not JSON.") from None
            if isinstance(message, dict):
                self._receive(cast("dict[str, Any]", message))

    def _receive(self, message: Mapping[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            if number is None:
                self._take(method, message.get("params"))
            else:
                self._answer(number, method, message.get("params"))
            return
        answer = self._open.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if isinstance(error, Mapping):
            answer.set_exception(_error_of(cast("Mapping[str, Any]", error)))
        else:
            answer.set_result(message.get("result"))

    def _answer(self, number: object, method: str, params: object) -> None:
        try:
            self._send({"id": number, "result": self._handle(method, params)})
        except LookupError:
            self._send({"id": number, "error": {"code": METHOD_NOT_FOUND, "message": f"no such method: {method}"}})

    async def _write(self, descriptor: int) -> None:
        try:
            async with writer_to(descriptor) as writer:
                while True:
                    piece = await self._unsent.get()
                    writer.write(piece)
                    await writer.drain()
                    self._n_unsent -= len(piece)
        except OSError:  # it reads no more; the end of its output fails the requests
            while True:
                await self._unsent.get()


def _error_of(error: Mapping[str, Any]) -> RpcError:
    code = error.get("code")
    return RpcError(one_line(str(error.get("message")), MAX_ERROR_CHARS), code if isinstance(code, int) else 0)


def _how(result: ProcessResult) -> str:
    said = "\n".join(result.stderr.strip().splitlines()[-3:])
    how = f"with exit code {result.exit_code}" if result.exit_code >= 0 else f"by signal {-result.exit_code}"
    return f"The program ended {how}." + (f" It wrote: {one_line(said, MAX_ERROR_CHARS)}" if said else "")
