"""Messages to and from an agent's process, on which the SDK's connection is built."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any, Protocol, cast

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.extensions.line_process import LineProcess
from pygent_ls.extensions.pipes import RunProgram

MAX_UNTAKEN = 1_000
"""Maximum number of messages that were received and not processed; more stay in the pipe, so that an agent that floods
waits."""


MAX_UNSENT = 20
"""Maximum number of messages that wait until the agent reads."""

MAX_DEPTH = 100
"""Maximum nesting of a message: far more than the protocol has."""


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
        self._n_unsent = 0
        self._has_few_unsent = asyncio.Event()
        self._has_few_unsent.set()
        self._received: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_UNTAKEN)

    async def _take(self, line: str) -> bool:
        message = _message(line)
        if message is not None:
            await self._received.put(message)
        return message is not None

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None after the last one."""
        await self._backlog.has_room()
        await self._has_few_unsent.wait()
        getting, ended = asyncio.ensure_future(self._received.get()), asyncio.ensure_future(self.process.ended.wait())
        try:
            await asyncio.wait((getting, ended), return_when=asyncio.FIRST_COMPLETED)
            return getting.result() if getting.done() else None
        finally:
            getting.cancel()
            ended.cancel()

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. While many wait because the agent does not read, nothing more is received."""
        self._n_unsent += 1
        if self._n_unsent >= MAX_UNSENT:
            self._has_few_unsent.clear()
        try:
            await self.process.send(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
        finally:
            self._n_unsent -= 1
            if self._n_unsent < MAX_UNSENT:
                self._has_few_unsent.set()

    async def close(self) -> None:
        """Do nothing: the process is stopped by its owner."""


def _message(line: str) -> dict[str, Any] | None:
    """Return the message in a line; None for text, for JSON that no standard allows, and for what the SDK does not
    take."""
    try:
        found: object = json.loads(line, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    if _is_deeper(found, MAX_DEPTH) or not isinstance(found, dict):
        return None
    message = cast("dict[str, Any]", found)
    is_known = isinstance(message.get("id"), str | int | None) and isinstance(message.get("method"), str | None)
    return message if is_known and isinstance(message.get("error"), dict | None) else None


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refused(number)


def _is_deeper(value: object, depth: int) -> bool:
    """Whether lists and objects are nested more than so deep."""
    level: list[object] = [value]
    while level and depth:
        inner = [cast("dict[str, object] | list[object]", each) for each in level if isinstance(each, dict | list)]
        level = [part for each in inner for part in (each.values() if isinstance(each, dict) else each)]
        depth -= 1
    return any(isinstance(each, dict | list) for each in level)


async def _unheard(_text: str) -> None:
    """Do nothing with standard error, whose end is in the message about a process that has ended."""
