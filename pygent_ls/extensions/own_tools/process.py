"""Conversation with the process that runs own tools."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.errors import ToolError
from pygent_ls.extensions.pipes import OutputLines, RunProgram, writer_to

Answer = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Answers a message of the process; None for one that wants no answer. Raises `ToolError`."""

MAX_MESSAGE_CHARS = 10_000_000
"""Maximum length of one message of the process."""

CHILD = "pygent_ls.extensions.own_tools.child"


class ToolSource(Struct, frozen=True, kw_only=True):
    """Where tools are defined: a file with its text, or a module of an installed package."""

    path: str = ""
    text: str = ""
    module: str = ""

    @property
    def name(self) -> str:
        """Name for a person."""
        return self.module or Path(self.path).name

    @property
    def job(self) -> dict[str, Any]:
        """The part of a job that names it."""
        return {"module": self.module} if self.module else {"path": self.path, "source": self.text}


async def converse(
    run: RunProgram, source: ToolSource, more: Mapping[str, Any], folder: Path, answer: Answer, timeout_s: float
) -> Mapping[str, Any]:
    """Give the process a job, and return its last message: `tools`, `result` or `error`. Raises `ToolError`."""
    reading, writing = os.pipe()
    spec = ProcessSpec(argv=(sys.executable, "-I", "-m", CHILD), cwd=folder, timeout_s=math.inf, errors_apart=True)
    async with writer_to(writing) as writer:
        conversation = _Conversation(writer, answer)
        conversation.write({**source.job, **more})
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                result = await run(spec, conversation.read, reading)
        except TimeoutError:
            if not limit.expired():
                raise
            raise ToolError(f"It was stopped after {timeout_s:g} s.") from None
    if conversation.last is None:
        said = result.stderr.strip().splitlines()
        raise ToolError("It ended without a result." + (f" It wrote: {said[-1]}" if said else ""))
    return conversation.last


class _Conversation:
    def __init__(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        self.last: Mapping[str, Any] | None = None
        self._writer = writer
        self._answer = answer
        self._lines = OutputLines(
            MAX_MESSAGE_CHARS, f"It wrote a message of more than {MAX_MESSAGE_CHARS:,} characters."
        )

    def write(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        self._writer.write(f"{json.dumps(message)}\n".encode())

    async def read(self, text: str) -> None:
        """Take a piece of the process's output. Raises `ToolError`."""
        for line in self._lines.feed(text):
            await self._take(line)

    async def _take(self, line: str) -> None:
        try:
            message: Any = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        given = cast("dict[str, Any]", message)
        if {"tools", "result", "error"} & given.keys():
            self.last = given
            return
        try:
            answer = await self._answer(given)
        except ToolError as error:
            answer = {"error": str(error)}
        if answer is not None:
            self.write(answer)
