"""Messages of the Agent Client Protocol on standard input and output: one JSON object in each line."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

from pygent_ls.editors.scripts.stdin import lines_of
from pygent_ls.editors.scripts.writer import LineWriter

PARSE_ERROR, INVALID_REQUEST = -32700, -32600


class LineTransport:
    """Implementation of the SDK's `Transport`. Writing never waits for a client that does not read, unless `send` is
    awaited."""

    def __init__(self, descriptor_in: int, writer: LineWriter) -> None:
        self.writer = writer
        self.intercept: Callable[[dict[str, Any]], bool] = lambda _: False
        """Called with each message before it is returned; a message for which it returns True is not."""
        self._lines: AsyncGenerator[bytes] = lines_of(descriptor_in)
        self._returned: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of the input. Lines that hold none are answered with an error."""
        if self._returned:
            return self._returned.pop()
        async for line in self._lines:
            if not line.strip():
                continue
            try:
                message: object = json.loads(line)
            except (ValueError, RecursionError):
                self._refuse(PARSE_ERROR, "The line is not JSON.")
                continue
            if isinstance(message, dict):
                found = cast("dict[str, Any]", message)
                if self.intercept(found):
                    continue
                return found
            self._refuse(INVALID_REQUEST, "The line is not a JSON object.")
        return None

    def put_back(self, message: dict[str, Any]) -> None:
        """Make this the next message that is received."""
        self._returned.append(message)

    def write(self, message: dict[str, Any]) -> None:
        """Queue a message."""
        self.writer.write(message)

    async def send(self, message: dict[str, Any]) -> None:
        """Queue a message, and return when there is room for more."""
        self.write(message)
        await self.writer.has_room()

    async def close(self) -> None:
        """Stop once the queued messages are written."""
        self.writer.close()

    def _refuse(self, code: int, message: str) -> None:
        self.write({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}})
