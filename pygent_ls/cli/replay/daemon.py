"""Daemon that a recording is played against."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from pygent_ls.cli.replay.recording import Message, ReplayError

ENDING_S = 5.0
"""Maximum time for the daemon to end without a client; it promises 3 s."""

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,15})", re.IGNORECASE)


class ReplayedDaemon:
    """Language server on standard input and output; it shares our standard error."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input = process.stdin
        self._output = process.stdout

    @staticmethod
    async def start(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> ReplayedDaemon:
        """Start the daemon. Raises `ReplayError`."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env=dict(environment),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise ReplayError(f"{command[0]} cannot be started in {folder}: {error.strerror or error}") from None
        return ReplayedDaemon(process)

    async def send(self, body: bytes) -> None:
        """Send a frame; do nothing if the daemon has ended."""
        with suppress(ConnectionError):
            self._input.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            await self._input.drain()

    async def receive(self) -> Message | None:
        """Return the next message; None at the end of output. Raises `ReplayError` for invalid output."""
        try:
            head = await self._output.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        found = _LENGTH.search(head)
        if found is None:
            raise ReplayError("the daemon sent something that is not a message of the language server protocol")
        try:
            return cast("Message", json.loads(await self._output.readexactly(int(found[1]))))
        except asyncio.IncompleteReadError:
            return None
        except ValueError as error:
            raise ReplayError(f"the daemon sent invalid JSON: {error}") from None

    async def end(self) -> None:
        """Close the daemon's input, and make sure that it ends."""
        with suppress(ConnectionError):
            self._input.close()
        try:
            async with asyncio.timeout(ENDING_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
