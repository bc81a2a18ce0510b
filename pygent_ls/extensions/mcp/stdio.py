"""Transport to an MCP server that is a child process: one JSON-RPC message a line.

The SDK's own transport does not tell the id of the process, which must end even if the daemon is killed.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.extensions.line_process import LineProcess
from pygent_ls.extensions.pipes import OnOutput, RunProgram

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

    Item = TypeVar("Item")
    Messages = tuple[MemoryObjectSendStream[Item], MemoryObjectReceiveStream[Item]]

GRACE_S = 0.5
"""Time for the server to end by itself once its input is closed, as the specification wants; SIGTERM follows."""


class StdioTransport:
    """Runs the server from `async with` to its end. Yields the streams that the SDK's client reads and writes."""

    def __init__(self, run: RunProgram, spec: ProcessSpec, log: OnOutput) -> None:
        self.process = LineProcess(run, spec, log, self._receive)
        self._passing: tuple[asyncio.Task[None], ...] = ()

    async def __aenter__(self) -> TransportStreams:
        import anyio

        incoming: Messages[SessionMessage | Exception] = anyio.create_memory_object_stream(0)
        outgoing: Messages[SessionMessage] = anyio.create_memory_object_stream(0)
        (self._incoming, received), (sent, self._outgoing) = incoming, outgoing
        self._streams = (self._incoming, received, sent, self._outgoing)
        self.process.start()
        self._passing = (asyncio.create_task(self._write()), asyncio.create_task(self._end()))
        return received, sent

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        try:
            await self.process.stop(GRACE_S)
        finally:
            for task in self._passing:
                task.cancel()
            await asyncio.wait(self._passing)
            for stream in self._streams:
                stream.close()

    async def _receive(self, line: str) -> bool:
        import anyio
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        try:
            message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            return False
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client is gone
            await self._incoming.send(message)
        return True

    async def _write(self) -> None:
        async for each in self._outgoing:
            await self.process.send(each.message.model_dump_json(by_alias=True, exclude_unset=True))

    async def _end(self) -> None:
        await self.process.ended.wait()
        self._incoming.close()
