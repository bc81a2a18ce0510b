"""Command `pygent-ls connect`: connects an editor's standard input and output to a running daemon."""

from __future__ import annotations

import os
import re
import socket
import threading
from pathlib import Path

from pygent_ls.editors.lsp.transport.unix_socket import reach
from pygent_ls.errors import SocketError

CHUNK_BYTES = 64 * 1024

LAST_BYTES = 4096
"""Number of bytes kept from the end of the editor's input, to find its exit notification."""

_GOODBYE = re.compile(rb'"method"\s*:\s*"(?:shutdown|exit)"')

GONE_S = 3.0
"""Maximum time from the end of input to the command's exit: the daemon cancels turns and answers open requests."""


def connect(path: Path) -> int:
    """Pass bytes in both directions until either side ends; return the exit code.

    The code is 0 if the editor has sent its exit notification, else 1, as for a separate daemon. Raises `SocketError`
    if no daemon is listening.
    """
    with reach(path) as connection:
        editor = _Editor(connection)
        threading.Thread(target=editor.pass_on, name="connect-input", daemon=True).start()
        editor.pass_back()
        if not editor.has_ended and not editor.said_goodbye:
            raise SocketError(f"The daemon at {path} has closed the connection.")
        return editor.code


class _Editor:
    """Editor side of the connection, which started the command."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._last = b""
        self._over = threading.Event()
        self.has_ended = False
        """Whether the editor's input has ended."""

    @property
    def said_goodbye(self) -> bool:
        """Return whether the editor's last message is its exit notification."""
        return _GOODBYE.search(self._last) is not None

    @property
    def code(self) -> int:
        """Return the exit code."""
        return 0 if self.said_goodbye else 1

    def pass_on(self) -> None:
        """Pass the editor's input to the daemon until it ends or the daemon stops reading.

        After the input has ended, the process exits if the daemon does not disconnect within `GONE_S`.
        """
        try:
            while chunk := os.read(0, CHUNK_BYTES):
                self._last = (self._last + chunk)[-LAST_BYTES:]
                self._connection.sendall(chunk)
            self.has_ended = True
            self._connection.shutdown(socket.SHUT_WR)
        except OSError:  # the daemon is gone, which the other direction notices, too
            return
        if not self._over.wait(GONE_S):
            os._exit(self.code)

    def pass_back(self) -> None:
        """Pass the daemon's output to the editor until the daemon disconnects or the editor stops reading."""
        try:
            while chunk := self._connection.recv(CHUNK_BYTES):
                left = memoryview(chunk)
                while left:
                    left = left[os.write(1, left) :]
        except OSError:
            return
        finally:
            self._over.set()
