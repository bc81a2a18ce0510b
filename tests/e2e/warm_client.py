"""pytest-lsp's client on a daemon that need not start Python; see `warm_command`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from pygls.io_ import run_async
from pytest_lsp import LanguageClient
from pytest_lsp.client import forward_stderr

from tests.e2e.warm_command import WarmProcess, start_warm

logger = logging.getLogger(__name__)


class AwaitedProcess:
    """A warm process, as asyncio shows a child."""

    def __init__(self, process: WarmProcess) -> None:
        self._process = process
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._transports: list[asyncio.BaseTransport] = []
        self.pid = process.pid
        self.kill = process.kill
        self.terminate = process.terminate

    async def connect(self) -> None:
        """Take over its pipes."""
        asyncio.get_running_loop().add_reader(self._process.status, self._end, self._process.status)
        self.stdin = await self._writer(self._process.stdin)
        self.stdout = await self._reader(self._process.stdout)
        self.stderr = await self._reader(self._process.stderr)

    @property
    def returncode(self) -> int | None:
        """The exit code, once it was heard of."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        """Its exit code."""
        return await asyncio.shield(self._ended)

    def close(self) -> None:
        """Let go of the pipes."""
        for each in self._transports:
            each.close()

    def _end(self, status: int) -> None:
        asyncio.get_running_loop().remove_reader(status)
        self._ended.set_result(self._process.wait())

    async def _reader(self, stream: IO[bytes] | None) -> asyncio.StreamReader:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stream)
        self._transports.append(transport)
        return reader

    async def _writer(self, stream: IO[bytes] | None) -> asyncio.StreamWriter:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), stream
        )
        self._transports.append(transport)
        return asyncio.StreamWriter(transport, protocol, None, loop)


class WarmClient(LanguageClient):
    """What `LanguageClient` does once it has started its server."""

    async def start_warm(self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        """Instead of `start_io`."""
        process = AwaitedProcess(await asyncio.to_thread(start_warm, arguments, environment, cwd))
        await process.connect()
        own, server = cast(Any, self), cast(Any, process)
        own._server = server
        own.protocol.set_writer(process.stdin)
        connection = run_async(
            stop_event=own._stop_event,
            reader=process.stdout,
            protocol=own.protocol,
            logger=logger,
            error_handler=own.report_server_error,
        )
        own._async_tasks.extend([asyncio.create_task(connection), asyncio.create_task(own._server_exit())])
        own._stderr_forwarder = asyncio.create_task(forward_stderr(server))

    async def stop(self) -> None:
        """Leave no pipe open."""
        own: Any = self
        await super().stop()
        forwarder: asyncio.Task[None] | None = own._stderr_forwarder
        if forwarder is not None:
            with suppress(asyncio.CancelledError):
                await forwarder
        if isinstance(own._server, AwaitedProcess):
            own._server.close()
