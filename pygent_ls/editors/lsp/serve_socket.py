"""The life of a daemon that serves several clients over a Unix socket: from the first connection to the exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from pygent_ls.editors.closing import Closable, close
from pygent_ls.editors.lsp.listening import peer
from pygent_ls.editors.lsp.serve import LAST_WORDS_S, UNWINDING_S, cancel_the_rest, end_at_last, watch_process
from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.stdio import (
    UNTAPPED,
    BrokenFrame,
    FrameReader,
    FrameWriter,
    Tap,
    claim_standard_streams,
    untapped,
)

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.tracing import Trace
    from pygent_ls.editors.ports import ReadSettings

log = logging.getLogger(__name__)

MAX_CLIENTS = 64
"""At once; each has two threads."""

MAX_UNHANDLED_FRAMES = 32
"""Of one client: more are not read before these were handled, so one that floods the daemon waits, and nobody else."""

MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Written for a client that reads nothing; with more it is let go of. Events wait long before that."""

NO_DESCRIPTOR_S = 1.0
"""To the next look where the system has no descriptor left for a client."""

TOO_MANY = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"this daemon serves %d clients already"}}'


def serve_socket(
    listener: socket.socket, read_settings: ReadSettings, core: Closable, trace: Trace | None = None
) -> int:
    """Speak LSP with each client that connects, until a signal says that it is enough; returns the exit code.

    `core` is what all clients have in common, and is closed at the end; `trace` records the wires.
    """
    for descriptor in claim_standard_streams():  # nothing reads or writes there
        os.close(descriptor)
    code = asyncio.Runner().run(_serve(Daemon(listener, read_settings, core, tap=trace.tap if trace else untapped)))
    if trace:
        trace.close(LAST_WORDS_S)
    return code


async def _serve(daemon: Daemon) -> int:
    def end() -> None:
        daemon.end()
        end_at_last()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as below nohup
            asyncio.get_running_loop().add_signal_handler(number, end)
    await daemon.serve()
    await cancel_the_rest()
    return 0


class Daemon:
    """Accepts clients, and owns the task of each; it awaits them when it ends."""

    def __init__(
        self,
        listener: socket.socket,
        read_settings: ReadSettings,
        core: Closable,
        *,
        uid: int | None = None,
        max_clients: int = MAX_CLIENTS,
        tap: Callable[[], Tap] = untapped,
    ) -> None:
        """Serves the clients of one user alone; by default its own."""
        self._tap = tap
        self._listener = listener
        self._read_settings = read_settings
        self._core = core
        self._uid = os.geteuid() if uid is None else uid
        self._max_clients = max_clients
        self._clients: dict[asyncio.Task[None], SocketClient] = {}
        self._ended = asyncio.Event()

    async def serve(self) -> None:
        """Accept clients until `end`, and wait for their end."""
        self._listener.settimeout(0)
        accepting = asyncio.create_task(self._accept())
        try:
            await self._ended.wait()
        finally:
            accepting.cancel()
            for client in self._clients.values():
                client.leave()
            await asyncio.gather(close(self._core), *self._clients, accepting, return_exceptions=True)

    def end(self) -> None:
        """Let every client go, and end."""
        self._ended.set()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:  # none left for the process, or the system
                log.warning("a client could not be accepted: %s", error.strerror)
                await asyncio.sleep(NO_DESCRIPTOR_S)
                continue
            if self._takes(connection):
                self._begin(connection)
            else:
                connection.close()

    def _takes(self, connection: socket.socket) -> bool:
        other = peer(connection)
        if other is not None and (other.uid != self._uid or other.is_ours):  # a command could answer for the user
            log.warning("%s was refused", "a command of ours" if other.uid == self._uid else "another user's client")
            return False
        if sum(not each.is_leaving for each in self._clients.values()) >= self._max_clients:
            said = TOO_MANY % self._max_clients
            with suppress(OSError):
                connection.send(b"Content-Length: %d\r\n\r\n%b" % (len(said), said))
            return False
        return True

    def _begin(self, connection: socket.socket) -> None:
        client = SocketClient(connection, self._read_settings, self._tap())
        task = asyncio.create_task(client.serve())
        self._clients[task] = client
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """What goes wrong with one client is no other's business."""
        del self._clients[task]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("a client was lost: %s", type(error).__name__, exc_info=error)


class SocketClient:
    """One client: its frames, its endpoint, its buffers, until it leaves."""

    def __init__(self, connection: socket.socket, read_settings: ReadSettings, tap: Tap = UNTAPPED) -> None:
        self._connection = connection
        self._tap = tap
        self._read_settings = read_settings
        self._leaving = asyncio.Event()
        self._read_all = asyncio.Event()
        self._window = threading.Semaphore(MAX_UNHANDLED_FRAMES)
        self._undo = ExitStack()

    @property
    def is_leaving(self) -> bool:
        """Nothing that it says counts any more."""
        return self._leaving.is_set()

    def leave(self) -> None:
        """End this connection: its turns are cancelled, what was said last is written."""
        self._leaving.set()

    async def serve(self) -> None:
        """Speak with it until it leaves."""
        with self._connection:
            self._connection.settimeout(None)  # for the threads
            loop = asyncio.get_running_loop()
            with self._connection.makefile("rb") as stream, self._undo:
                writer = FrameWriter(self._connection.fileno(), loop, on_broken=self.leave, tap=self._tap)
                server = self._server(writer)
                reader = FrameReader(
                    stream=stream,
                    loop=loop,
                    on_frame=self._handing_to(server),
                    on_end=self._end_of_input,
                    before_frame=self._window.acquire,
                    tap=self._tap,
                )
                reader.start()
                try:
                    await self._leaving.wait()
                finally:
                    writer.stop_waiting()
                    await server.close()
                    await server.endpoint.end_requests(UNWINDING_S)
                    await self._hang_up(writer)

    def _server(self, writer: FrameWriter) -> PygentServer:
        server = PygentServer(self._read_settings, writer)

        def write(body: bytes) -> None:
            if writer.unwritten_bytes > MAX_UNREAD_BYTES:
                if not self.is_leaving:
                    log.warning("a client that reads nothing was let go of")
                self.leave()
            else:
                writer.write(body)

        def watch(pid: int) -> None:
            if _is_there(pid):  # it may be the number of a process in another container
                self._undo.callback(watch_process(pid, self.leave))

        server.endpoint.write = write
        server.endpoint.on_exit = lambda _: self.leave()
        server.on_process_id = watch
        return server

    def _handing_to(self, server: PygentServer) -> Callable[[bytes | BrokenFrame], None]:
        def receive(frame: bytes | BrokenFrame) -> None:
            self._window.release()
            if not self.is_leaving:
                server.endpoint.receive(frame)

        return receive

    def _end_of_input(self) -> None:
        self._read_all.set()
        self.leave()

    async def _hang_up(self, writer: FrameWriter) -> None:
        """Both threads have let go of the descriptor when this returns: its number will be another client's."""
        await asyncio.to_thread(writer.close, LAST_WORDS_S)
        with suppress(OSError):  # the client was faster
            self._connection.shutdown(socket.SHUT_RDWR)
        await self._read_all.wait()
        await asyncio.to_thread(writer.close, LAST_WORDS_S)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return pid > 0
