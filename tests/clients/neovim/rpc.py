"""Neovim's API over its socket, one request at a time, none of them without an end.

pynvim, the usual client, waits for ever where Neovim does not answer, as it does not while it shows a prompt.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgpack as untyped  # pyright: ignore[reportMissingTypeStubs]

from tests.clients.waiting import WAIT_S

msgpack = cast("Any", untyped)

LOOK_AGAIN_S = 0.005
"""To the next look at a Neovim that draws nothing."""

LOOK_AGAIN_AT_MOST_S = 0.05
"""Seconds between looks after a long wait: each look takes time from a loaded machine."""


class NeovimError(Exception):
    """Neovim answered with an error, which is a Vim or Lua error's text."""


class Namespace:
    """`nvim.api.buf_get_lines(…)` is `nvim_buf_get_lines`; `nvim.funcs.getline(…)` is Vim script's `getline()`."""

    def __init__(self, nvim: Nvim, *, of_script: bool) -> None:
        self._nvim = nvim
        self._of_script = of_script

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if self._of_script:
                return self._nvim.request("nvim_call_function", name, arguments)
            return self._nvim.request(f"nvim_{name}", *arguments)

        return call


class Nvim:
    """A connection; buffers, windows and tab pages are their numbers."""

    def __init__(self, address: Path) -> None:
        """Connect. Raises OSError if nothing listens there."""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(address))
        except OSError:
            self._socket.close()
            raise
        self._unpacker: Any = msgpack.Unpacker(ext_hook=_number, strict_map_key=False, unicode_errors="surrogateescape")
        self._n_requests = 0
        self.api = Namespace(self, of_script=False)
        self.funcs = Namespace(self, of_script=True)

    def request(self, method: str, *arguments: Any) -> Any:
        """Its result. Raises `NeovimError`, and TimeoutError where Neovim waits for a key."""
        self._n_requests += 1
        number = self._n_requests
        self._socket.settimeout(WAIT_S)
        self._socket.sendall(msgpack.packb([0, number, method, arguments], unicode_errors="surrogateescape"))
        deadline = time.monotonic() + WAIT_S
        while True:
            for message in self._unpacker:
                if message[0] == 1 and message[1] == number:
                    if message[2] is not None:
                        raise NeovimError(message[2][1])
                    return message[3]
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            received = self._socket.recv(1 << 20)
            if not received:
                raise NeovimError("Neovim has ended")
            self._unpacker.feed(received)

    def wait_for_news(self, longest_s: float = LOOK_AGAIN_S) -> None:
        """Until it draws something, or for a moment, however long it may be: not all that it does can be seen."""
        longest_s = min(max(longest_s, LOOK_AGAIN_S), LOOK_AGAIN_AT_MOST_S)
        select.select([self._socket], [], [], longest_s)

    def command(self, command: str) -> None:
        """As typed behind `:`."""
        self.request("nvim_command", command)

    def exec_lua(self, code: str, *arguments: Any) -> Any:
        """What the chunk returns; `...` are the arguments."""
        return self.request("nvim_exec_lua", code, arguments)

    def input(self, keys: str) -> None:
        """As typed, in the notation of mappings; also while Neovim waits for a key."""
        self.request("nvim_input", keys)

    def close(self) -> None:
        """End the connection, and not Neovim."""
        self._socket.close()


def _number(_: int, packed: bytes) -> int:
    return msgpack.unpackb(packed)
