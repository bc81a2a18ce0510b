"""Pipes to processes that are talked to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Protocol

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.errors import ToolError

OnOutput = Callable[[str], Awaitable[None]]


class RunProgram(Protocol):
    """Runs a program to its end, or ends it when cancelled."""

    async def __call__(
        self, spec: ProcessSpec, on_output: OnOutput, stdin: int, on_errors: OnOutput | None = None
    ) -> ProcessResult:
        """Pass standard output and standard error on piece by piece. Standard input is the descriptor, which is closed
        in this process. Raises `ToolError` if the program cannot be started."""
        ...


class OutputLines:
    """Lines of an output that arrives in pieces. A line of more than `max_chars` is the `problem`."""

    def __init__(self, max_chars: int, problem: str) -> None:
        self._max_chars = max_chars
        self._problem = problem
        self._open: list[str] = []
        self._n_open = 0

    def feed(self, text: str) -> Iterator[str]:
        """Yield the lines that are complete with this piece. Raises `ToolError` if the rest is too long for a line."""
        *lines, rest = text.split("\n")
        for each in lines:
            line = "".join([*self._open, each])
            self._open, self._n_open = [], 0
            yield line
        self._open.append(rest)
        self._n_open += len(rest)
        if self._n_open > self._max_chars:
            raise ToolError(self._problem)


@asynccontextmanager
async def writer_to(descriptor: int) -> AsyncGenerator[asyncio.StreamWriter]:
    """Yield what writes to a pipe without blocking; the descriptor is closed at the end."""
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb", 0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    try:
        yield asyncio.StreamWriter(transport, protocol, None, loop)
    finally:
        if not transport.is_closing():  # it closes itself with its other end
            transport.abort()
