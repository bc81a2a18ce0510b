"""Messages to and from an agent's process, on which the SDK's connection is built."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Protocol, cast

from pygent_ls.agent.ports.workspace import ProcessSpec
from pygent_ls.extensions.line_process import LineProcess
from pygent_ls.extensions.pipes import RunProgram

MAX_UNTAKEN = 1_000
"""Maximum number of messages that were received and not processed; more stay in the pipe, so that an agent that floods
waits."""


class Backlog(Protocol):
    """What waits to be processed."""

    async def has_room(self) -> None:
        """Return once few enough messages wait."""
        ...


class AgentTransport:
    """Implementation of the SDK's `Transport` over a process."""

    def __init__(self, run: RunProgram, spec: ProcessSpec, backlog: Backlog) -> None:
        self.process = LineProcess(run, spec, _unheard, self._take)
        self._backlog = backlog
        self._received: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_UNTAKEN)

    async def _take(self, line: str) -> bool:
        try:
            message: object = json.loads(line)
        except (ValueError, RecursionError):
            return False
        if not isinstance(message, dict):
            return False
        await self._received.put(cast("dict[str, Any]", message))
        return True

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None after the last one."""
        await self._backlog.has_room()
        getting, ended = asyncio.ensure_future(self._received.get()), asyncio.ensure_future(self.process.ended.wait())
        try:
            await asyncio.wait((getting, ended), return_when=asyncio.FIRST_COMPLETED)
            return getting.result() if getting.done() else None
        finally:
            getting.cancel()
            ended.cancel()

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        await self.process.send(json.dumps(message, ensure_ascii=False, separators=(",", ":")))

    async def close(self) -> None:
        """Do nothing: the process is stopped by its owner."""


async def _unheard(_text: str) -> None:
    """Do nothing with standard error, whose end is in the message about a process that has ended."""
