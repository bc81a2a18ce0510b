"""Transport to an MCP server that is a child process: one JSON-RPC message a line.

The SDK's own transport does not tell the id of the process, which must end even if the daemon is killed.
"""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from pygent_ls.agent.ports.workspace import ProcessResult, ProcessSpec
from pygent_ls.errors import ToolError
from pygent_ls.extensions.pipes import OnOutput, OutputLines, RunProgram, writer_to

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

    Item = TypeVar("Item")
    Messages = tuple[MemoryObjectSendStream[Item], MemoryObjectReceiveStream[Item]]

MAX_LINE_CHARS = 32_000_000
"""Maximum length of one message: room for an image of 20 MB in base64."""

MAX_NOISE_CHARS = 1_000_000
"""Maximum length of all lines on standard output that cannot be parsed as messages. A banner or debug output is
skipped, but a program that goes on writing text does not speak the protocol."""

MAX_ERROR_CHARS = 20_000
"""Maximum length of standard error that is kept for the message about a server that has ended."""

MAX_LAST_LINES = 5
"""Maximum number of lines of standard error in the message about a server that has ended."""

GRACE_S = 0.5
"""Time for the server to end by itself once its input is closed, as the specification wants; SIGTERM follows."""


class StdioTransport:
    """Runs the server from `async with` to its end. Yields the streams that the SDK's client reads and writes."""

    def __init__(self, run: RunProgram, spec: ProcessSpec, log: OnOutput) -> None:
        self._run_server = run
        self._spec = spec
        self._log = log
        self._lines = OutputLines(
            MAX_LINE_CHARS, f"The server wrote a line of more than {MAX_LINE_CHARS:,} characters and was ended."
        )
        self._n_noise = 0
        self._process: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()
        """Set when the process has ended."""
        self.why_ended = ""
        """How it has ended, for a person; empty while it runs."""

    async def __aenter__(self) -> TransportStreams:
        import anyio

        incoming: Messages[SessionMessage | Exception] = anyio.create_memory_object_stream(0)
        outgoing: Messages[SessionMessage] = anyio.create_memory_object_stream(0)
        (self._incoming, received), (sent, self._outgoing) = incoming, outgoing
        self._streams = (self._incoming, received, sent, self._outgoing)
        reading, writing = os.pipe()
        self._writing = asyncio.create_task(self._write(writing))
        self._process = asyncio.create_task(self._run(reading))
        return received, sent

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        assert self._writing is not None
        assert self._process is not None
        self._writing.cancel()  # closes the server's input
        await asyncio.wait([self._writing])
        try:
            await asyncio.wait([self._process], timeout=GRACE_S)
        finally:
            self._process.cancel()
            await asyncio.wait([self._process])
            for stream in self._streams:
                stream.close()

    async def _run(self, stdin: int) -> None:
        try:
            self.why_ended = _how(await self._run_server(self._spec, self._read, stdin, self._log))
        except ToolError as error:
            self.why_ended = str(error)
        finally:
            self.ended.set()
            self._incoming.close()

    async def _read(self, text: str) -> None:
        """Pass on the messages in a piece of output, each once its line is complete. Raises `ToolError`."""
        for line in self._lines.feed(text):
            await self._receive(line)

    async def _receive(self, line: str) -> None:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        try:
            message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            self._n_noise += len(line)
            if self._n_noise > MAX_NOISE_CHARS:
                raise ToolError(
                    f"The server wrote more than {MAX_NOISE_CHARS:,} characters to its standard output that are no "
                    "MCP messages, and was ended. A server writes its log to standard error."
                ) from None
            return
        try:
            await self._incoming.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the client is gone, and the process is ended

    async def _write(self, descriptor: int) -> None:
        try:
            async with writer_to(descriptor) as writer:
                async for each in self._outgoing:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    writer.write(f"{text}\n".encode())
                    await writer.drain()
        except OSError:
            return  # it reads no more; the end of its output tells the client
        finally:
            self._outgoing.close()


def _how(result: ProcessResult) -> str:
    """Say how a program has ended, with the end of what it wrote to standard error."""
    said = "\n".join(result.stderr.strip().splitlines()[-MAX_LAST_LINES:])
    how = f"with exit code {result.exit_code}" if result.exit_code >= 0 else f"by signal {-result.exit_code}"
    return f"The program ended {how}." + (f" It wrote: {said}" if said else "")
