"""One client on a Unix socket: its frames, and the server that answers it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Protocol

from pygent_ls.editors.lsp.daemon.reconnection import Window, window_of
from pygent_ls.editors.lsp.daemon.stdio_server import LAST_WORDS_S, UNWINDING_S, watch_process
from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.transport.stdio import UNTAPPED, FrameReader, FrameWriter, Message, Tap

if TYPE_CHECKING:
    from pygent_ls.editors.ports import ReadSettings

log = logging.getLogger(__name__)

MAX_UNHANDLED_FRAMES = 32
"""Maximum number of unhandled frames of one client. A client that floods the daemon is read no further, and does not
delay the others."""

MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Maximum output for a client that does not read; with more, it is disconnected. Events are held back far earlier."""


class Windows(Protocol):
    """Keeps the servers of disconnected windows."""

    def give(self, window: Window) -> PygentServer | None:
        """Return the server of such a window whose client is lost; None if it starts with a new one."""
        ...

    def keep(self, window: Window, server: PygentServer) -> bool:
        """Keep the server of a lost client until the window reconnects; False if the server must be closed."""
        ...


class SocketClient:
    """One client with its frames and its server, until it disconnects."""

    def __init__(
        self, connection: socket.socket, read_settings: ReadSettings, windows: Windows, tap: Tap = UNTAPPED
    ) -> None:
        self._connection = connection
        self._windows = windows
        self._window: Window | None = None
        self._server: PygentServer | None = None
        self._is_lost = False
        self._tap = tap
        self._read_settings = read_settings
        self._leaving = asyncio.Event()
        self._read_all = asyncio.Event()
        self._window_of_frames = threading.Semaphore(MAX_UNHANDLED_FRAMES)
        self._undo = ExitStack()

    @property
    def is_leaving(self) -> bool:
        """Whether the client is disconnecting, so that its messages are ignored."""
        return self._leaving.is_set()

    def leave(self) -> None:
        """End this connection: cancel its turns, and write the remaining output."""
        self._leaving.set()

    def lose(self) -> None:
        """Note that the client disconnected without `exit`, and may reconnect."""
        self._is_lost = self._is_lost or not self.is_leaving
        self.leave()

    def can_hand_over(self, window: Window) -> bool:
        """Whether the window is connected here, or was until now, and did not exit."""
        is_of = self._window is not None and self._window.id == window.id
        return is_of and not self._has_left and self._server is not None and self._server.endpoint.phase == "running"

    @property
    def _has_left(self) -> bool:
        return self.is_leaving and not self._is_lost

    def hand_over(self) -> tuple[Window, PygentServer]:
        """Give away the server and end: the window has connected again before the loss of this connection was
        noticed."""
        assert self._window is not None
        assert self._server is not None
        server, self._server = self._server, None
        server.lose_client()
        self.lose()
        return self._window, server

    async def serve(self) -> None:
        """Serve the client until it disconnects."""
        with self._connection:
            self._connection.settimeout(None)  # the threads use blocking calls
            loop = asyncio.get_running_loop()
            with self._connection.makefile("rb") as stream, self._undo:
                writer = FrameWriter(self._connection.fileno(), loop, on_broken=self.lose, tap=self._tap)
                self._serve_with(PygentServer(self._read_settings, writer), writer)
                reader = FrameReader(
                    stream=stream,
                    loop=loop,
                    on_message=lambda message: self._receive(message, writer),
                    on_end=self._end_of_input,
                    before_frame=self._window_of_frames.acquire,
                    tap=self._tap,
                )
                reader.start()
                try:
                    await self._leaving.wait()
                finally:
                    await self._part(writer)

    def _serve_with(self, server: PygentServer, writer: FrameWriter) -> None:
        """Connect a server to this client."""

        def write(body: bytes) -> None:
            if writer.unwritten_bytes > MAX_UNREAD_BYTES:
                if not self.is_leaving:
                    log.warning("a client that does not read was disconnected")
                self.lose()
            else:
                writer.write(body)

        def watch(pid: int) -> None:
            if _is_there(pid):  # the id may be that of a process in another container
                self._undo.callback(watch_process(pid, self.lose))

        server.endpoint.write = write
        server.endpoint.on_exit = lambda _: self.leave()
        server.on_process_id = watch
        self._server = server

    def _receive(self, message: Message, writer: FrameWriter) -> None:
        self._window_of_frames.release()
        if self.is_leaving or self._server is None:
            return
        if self._server.endpoint.phase == "new" and (window := window_of(message)):
            known = self._windows.give(window)
            self._window = window  # only now, because `give` looks for clients of the same window
            if known is not None:
                known.take_client(writer)
                self._serve_with(known, writer)
        self._server.endpoint.receive(message)

    async def _part(self, writer: FrameWriter) -> None:
        """Close or keep the server, and close the connection."""
        writer.stop_waiting()
        server, self._server = self._server, None
        if server is not None and not self._is_kept(server):
            await server.close()
            await server.endpoint.end_requests(UNWINDING_S)
        await self._hang_up(writer)

    def _is_kept(self, server: PygentServer) -> bool:
        if self._window is None or not self._is_lost or server.endpoint.phase != "running":
            return False
        if not server.sessions_with_turns or not self._windows.keep(self._window, server):
            return False
        server.lose_client()
        return True

    def _end_of_input(self) -> None:
        self._read_all.set()
        self.lose()

    async def _hang_up(self, writer: FrameWriter) -> None:
        """Close the connection after both threads have stopped using the descriptor, because its number will be
        reused."""
        await asyncio.to_thread(writer.close, LAST_WORDS_S)
        with suppress(OSError):  # the client has already closed it
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
