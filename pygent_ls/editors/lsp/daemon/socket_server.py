"""The daemon that serves several clients over a Unix socket, from the first connection to the exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pygent_ls.editors.lsp.daemon.client_connection import SocketClient
from pygent_ls.editors.lsp.daemon.reconnection import WaitingServers, Window
from pygent_ls.editors.lsp.daemon.stdio_server import LAST_WORDS_S, cancel_the_rest, end_at_last
from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.transport.stdio import (
    Tap,
    untapped,
)
from pygent_ls.editors.lsp.transport.unix_socket import peer
from pygent_ls.editors.shutdown import Closable, close
from pygent_ls.editors.standard_streams import claim_standard_streams

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.transport.recording import Trace
    from pygent_ls.editors.ports import ReadSettings

log = logging.getLogger(__name__)

MAX_CLIENTS = 64
"""Maximum number of connected clients; each has two threads."""

FIRST_CLIENT_S = 30.0
"""Minimum wait for the first client, if the daemon ends by itself."""

NO_DESCRIPTOR_S = 1.0
"""Delay before the next accept when no file descriptor is left."""

TOO_MANY = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"this daemon serves %d clients already"}}'


def serve_socket(
    listener: socket.socket,
    read_settings: ReadSettings,
    core: Closable,
    trace: Trace | None = None,
    *,
    linger_s: float | None = None,
) -> int:
    """Speak LSP with each client that connects, until a signal arrives or no client was connected for `linger_s`
    seconds. Returns the exit code.

    `core` is shared by all clients and closed at the end; `trace` records the wires.
    """
    for descriptor in claim_standard_streams():  # standard input and output are not used
        os.close(descriptor)
    tap = trace.tap if trace else untapped
    daemon = SocketDaemon(listener, read_settings, core, tap=tap)
    daemon.linger_s = linger_s
    code = asyncio.Runner().run(_serve(daemon))
    if trace:
        trace.close(LAST_WORDS_S)
    return code


async def _serve(daemon: SocketDaemon) -> int:
    def end() -> None:
        daemon.end()
        end_at_last()

    daemon.on_deserted = end
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
            asyncio.get_running_loop().add_signal_handler(number, end)
    await daemon.serve()
    await cancel_the_rest()
    return 0


class SocketDaemon:
    """Accepts clients, owns their tasks, and awaits them at the end."""

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
        """Serve the clients of one user only; by default, that of this process."""
        self.linger_s: float | None = None
        """Time from the end of the last client to the end of the daemon, during which turns continue. None: the daemon
        waits for clients for ever, and turns end with their client."""
        self._tap = tap
        self._listener = listener
        self._read_settings = read_settings
        self._core = core
        self._uid = os.geteuid() if uid is None else uid
        self._max_clients = max_clients
        self._clients: dict[asyncio.Task[None], SocketClient] = {}
        self._waiting = WaitingServers()
        self._deserted: asyncio.TimerHandle | None = None
        self.on_deserted: Callable[[], None] = self.end
        """Called when no client has connected within `linger_s`."""
        self._ended = asyncio.Event()

    async def serve(self) -> None:
        """Accept clients until `end` is called, and wait for their end."""
        self._listener.settimeout(0)
        self._expect(FIRST_CLIENT_S)
        accepting = asyncio.create_task(self._accept())
        try:
            await self._ended.wait()
        finally:
            accepting.cancel()
            self._expect_nobody()
            for client in self._clients.values():
                client.leave()
            ending = (close(self._core), self._waiting.close(), *self._clients, accepting)
            await asyncio.gather(*ending, return_exceptions=True)

    def end(self) -> None:
        """Disconnect every client, and end."""
        self._ended.set()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:  # no file descriptor left in the process or the system
                log.warning("a client could not be accepted: %s", error.strerror)
                await asyncio.sleep(NO_DESCRIPTOR_S)
                continue
            if self._takes(connection):
                self._begin(connection)
            else:
                connection.close()

    def _takes(self, connection: socket.socket) -> bool:
        other = peer(connection)
        if other is not None and (other.uid != self._uid or other.is_ours):  # the agent's commands must not answer
            log.warning("%s was refused", "a command of ours" if other.uid == self._uid else "another user's client")
            return False
        if sum(not each.is_leaving for each in self._clients.values()) >= self._max_clients:
            said = TOO_MANY % self._max_clients
            with suppress(OSError):
                connection.send(b"Content-Length: %d\r\n\r\n%b" % (len(said), said))
            return False
        return True

    def _begin(self, connection: socket.socket) -> None:
        self._expect_nobody()
        client = SocketClient(connection, self._read_settings, self, self._tap())
        task = asyncio.create_task(client.serve())
        self._clients[task] = client
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """Remove an ended client. Its error is logged and does not affect the others."""
        del self._clients[task]
        self._expect(0.0)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("a client was lost: %s", type(error).__name__, exc_info=error)

    # Reconnecting windows

    def give(self, window: Window) -> PygentServer | None:
        if not self.linger_s or self._ended.is_set():
            return None
        for client in self._clients.values():
            if client.can_hand_over(window):
                self.keep(*client.hand_over())
        return self._waiting.take(window)

    def keep(self, window: Window, server: PygentServer) -> bool:
        if not self.linger_s or self._ended.is_set():
            return False
        self._waiting.keep(window, server, self.linger_s)
        return True

    def _expect(self, at_least_s: float) -> None:
        """Without clients, end after the linger time, but not before `at_least_s`."""
        if self.linger_s is not None and not self._clients and not self._ended.is_set():
            self._expect_nobody()
            wait_s = max(self.linger_s, at_least_s)
            self._deserted = asyncio.get_running_loop().call_later(wait_s, self.on_deserted)

    def _expect_nobody(self) -> None:
        if self._deserted is not None:
            self._deserted.cancel()
