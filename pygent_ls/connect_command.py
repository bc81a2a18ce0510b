"""`pygent-ls connect`: standard input and output of an editor that starts commands, on to a daemon that runs."""

from __future__ import annotations

import os
import re
import socket
import threading
from pathlib import Path

from pygent_ls.editors.lsp.listening import reach
from pygent_ls.errors import SocketError

CHUNK_BYTES = 64 * 1024

LAST_BYTES = 4096
"""Of what the editor sent last, where its goodbye is looked for."""

_GOODBYE = re.compile(rb'"method"\s*:\s*"(?:shutdown|exit)"')

GONE_S = 3.0
"""From the end of the input to the end of the command: the daemon cancels turns, and answers what is open."""


def connect(path: Path) -> int:
    """Pass bytes on both ways until either side ends; returns the exit code.

    0 after the editor has said that it ends, else 1: as a daemon of its own would. Raises `SocketError` where nobody
    listens, or no longer.
    """
    with reach(path) as connection:
        editor = _Editor(connection)
        threading.Thread(target=editor.pass_on, name="connect-input", daemon=True).start()
        editor.pass_back()
        if not editor.has_ended and not editor.said_goodbye:
            raise SocketError(f"The daemon at {path} has closed the connection.")
        return editor.code


class _Editor:
    """The side that started the command."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._last = b""
        self._over = threading.Event()
        self.has_ended = False
        """It sends no more."""

    @property
    def said_goodbye(self) -> bool:
        """Whether the last that it sent says that it ends."""
        return _GOODBYE.search(self._last) is not None

    @property
    def code(self) -> int:
        """The exit code."""
        return 0 if self.said_goodbye else 1

    def pass_on(self) -> None:
        """What it sends, until it ends, or nobody takes it; what then does not end is ended."""
        try:
            while chunk := os.read(0, CHUNK_BYTES):
                self._last = (self._last + chunk)[-LAST_BYTES:]
                self._connection.sendall(chunk)
            self.has_ended = True
            self._connection.shutdown(socket.SHUT_WR)
        except OSError:  # the daemon is gone: the other way sees it, too
            return
        if not self._over.wait(GONE_S):
            os._exit(self.code)

    def pass_back(self) -> None:
        """What the daemon says, until it hangs up, or nobody reads it."""
        try:
            while chunk := self._connection.recv(CHUNK_BYTES):
                left = memoryview(chunk)
                while left:
                    left = left[os.write(1, left) :]
        except OSError:
            return
        finally:
            self._over.set()
