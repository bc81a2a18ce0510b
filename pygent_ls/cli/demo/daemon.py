"""Daemon as a child process, and its messages."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, cast

READ_BYTES = 65_536
"""Capacity of a Linux pipe."""

CLOSING_S = 5.0
"""Maximum time for the daemon to end; it promises to exit within 3 s."""

Message = dict[str, Any]


class DemoError(Exception):
    """Raised if the demo cannot continue; the text is for the user."""


class DemoDaemon:
    """Language server on standard input and output. Reads block, up to a timeout given by the caller."""

    def __init__(self, command: Sequence[str], *, folder: Path, environment: Mapping[str, str], log: Path) -> None:
        """Start the daemon in `folder`; `log` receives its standard error. Raises `DemoError`."""
        self._log = log
        self._received = bytearray()
        try:
            with log.open("wb") as stderr:
                self._process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=dict(environment),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    bufsize=0,
                )
        except OSError as error:
            raise DemoError(f"the daemon could not be started: {error}") from None

    def send(self, message: Message) -> None:
        """Send one message. Raises `DemoError`."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except OSError:
            raise self._gone() from None

    def receive(self, timeout_s: float) -> Message:
        """Return the next message. Raises `DemoError` if none arrives in time, or the daemon has ended."""
        deadline = monotonic() + timeout_s
        while (message := self._take()) is None:
            self._read(deadline, timeout_s)
        return message

    def close(self) -> int:
        """Shut the daemon down and make sure that it ends; return its exit code. To be called on every path."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            return self._process.wait(CLOSING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(CLOSING_S)

    def _read(self, deadline: float, timeout_s: float) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        ready, _, _ = select.select([descriptor], [], [], max(deadline - monotonic(), 0))
        if not ready:
            raise DemoError(f"the daemon sent nothing for {timeout_s:g} s")
        piece = os.read(descriptor, READ_BYTES)
        if not piece:
            raise self._gone()
        self._received += piece

    def _take(self) -> Message | None:
        """Remove a complete message from the received data and return it."""
        head, end_of_head, rest = self._received.partition(b"\r\n\r\n")
        if not end_of_head:
            return None
        length = _content_length(bytes(head))
        if len(rest) < length:
            return None
        self._received = rest[length:]
        return cast("Message", json.loads(rest[:length]))

    def _gone(self) -> DemoError:
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        said = f"; its last output: {lines[-1]}" if lines else ""
        return DemoError(f"the daemon has ended{said}")


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    raise DemoError(f"not a message of the language server protocol: {head!r}")
