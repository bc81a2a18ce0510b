"""One client at a Unix socket: its frames, and the server that answers it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Protocol

from pygent_ls.editors.lsp.returning import Window, window_of
from pygent_ls.editors.lsp.serve import LAST_WORDS_S, UNWINDING_S, watch_process
from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.stdio import UNTAPPED, FrameReader, FrameWriter, Message, Tap

if TYPE_CHECKING:
    from pygent_ls.editors.ports import ReadSettings

log = logging.getLogger(__name__)

MAX_UNHANDLED_FRAMES = 32
"""Of one client: more are not read before these were handled, so one that floods the daemon waits, and nobody else."""

MAX_UNREAD_BYTES = 64 * 1024 * 1024
"""Written for a client that reads nothing; with more it is let go of. Events wait long before that."""


class Windows(Protocol):
    """Where the servers of windows are that are away, or seem to be here."""

    def give(self, window: Window) -> PygentServer | None:
        """The server that such a window has had, whose client is lost; None where it begins anew."""
        ...

    def keep(self, window: Window, server: PygentServer) -> bool:
        """Keep the server, whose client is lost, for when the window comes back; False where it is to end."""
        ...


class SocketClient:
    """One client: its frames, its endpoint, its buffers, until it leaves."""

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
        """Nothing that it says counts any more."""
        return self._leaving.is_set()

    def leave(self) -> None:
        """End this connection: its turns are cancelled, what was said last is written."""
        self._leaving.set()

    def lose(self) -> None:
        """The client has gone without a word, and may come back."""
        self._is_lost = self._is_lost or not self.is_leaving
        self.leave()

    def can_hand_over(self, window: Window) -> bool:
        """Whether the window is here, or was until just now, and has not said goodbye."""
        is_of = self._window is not None and self._window.id == window.id
        return is_of and not self._has_left and self._server is not None and self._server.endpoint.phase == "running"

    @property
    def _has_left(self) -> bool:
        return self.is_leaving and not self._is_lost

    def hand_over(self) -> tuple[Window, PygentServer]:
        """The window is here once more, before this connection was known to be lost: give away its server, and end."""
        assert self._window is not None
        assert self._server is not None
        server, self._server = self._server, None
        server.lose_client()
        self.lose()
        return self._window, server

    async def serve(self) -> None:
        """Speak with it until it leaves."""
        with self._connection:
            self._connection.settimeout(None)  # for the threads
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
        """Let that server answer this client."""

        def write(body: bytes) -> None:
            if writer.unwritten_bytes > MAX_UNREAD_BYTES:
                if not self.is_leaving:
                    log.warning("a client that does not read was disconnected")
                self.lose()
            else:
                writer.write(body)

        def watch(pid: int) -> None:
            if _is_there(pid):  # it may be the number of a process in another container
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
            self._window = window  # not before: `give` looks for others that say so
            if known is not None:
                known.take_client(writer)
                self._serve_with(known, writer)
        self._server.endpoint.receive(message)

    async def _part(self, writer: FrameWriter) -> None:
        """The client is gone, or is let go of: its server ends, or waits for it."""
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
