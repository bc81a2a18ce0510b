"""Commands in terminals of the client, which shows them live."""

from __future__ import annotations

import asyncio
import math
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from pygent_ls.agent.edits.commit import to_its_end
from pygent_ls.agent.ports.processes import (
    Background,
    Processes,
    ProcessResult,
    ProcessSpec,
    Repositories,
    SandboxState,
)

ANSWER_S = 10.0
"""Time limit for the client to create, read or end a terminal."""

Ask = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Sends the client a request of this session; None if it refuses."""


class TerminalProcesses(Struct, frozen=True, kw_only=True):
    """Implementation of `Processes` that runs commands which the user allowed in terminals of the client. Programs in
    our sandbox, and all that no tool call runs, stay ours."""

    processes: Processes
    ask: Ask
    show: Callable[[str], None]
    """Shows the terminal with this id in the call that runs now."""

    @property
    def repositories(self) -> Repositories:
        """Implement `Processes`."""
        return self.processes.repositories

    @property
    def background(self) -> Background:
        """Implement `Processes`."""
        return self.processes.background

    async def sandbox(self) -> SandboxState:
        """Implement `Processes`."""
        return await self.processes.sandbox()

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        """Implement `Processes`."""
        return self.processes.find(program, anywhere=anywhere)

    async def run(self, spec: ProcessSpec, on_output: Callable[[str], Awaitable[None]] | None = None) -> ProcessResult:
        """Implement `Processes`. If the client refuses a terminal, the command runs here."""
        if spec.sandboxed or not spec.was_allowed or spec.errors_apart or spec.stdin_bytes:
            return await self.processes.run(spec, on_output)
        made = await self._answer("terminal/create", _parameters(spec))
        terminal = made.get("terminalId") if made else None
        if not isinstance(terminal, str):
            return await self.processes.run(spec, on_output)
        self.show(terminal)
        at, began = {"terminalId": terminal}, time.monotonic()
        try:
            status, timed_out = await self._end_of(at, spec.timeout_s)
            shown = await self._answer("terminal/output", at) or {}
        finally:  # also ends a command that was cancelled
            await to_its_end(self._released(at))
        output = shown.get("output")
        output = output if isinstance(output, str) else ""
        if on_output is not None and output:
            await on_output(output)
        return ProcessResult(
            exit_code=_exit_code(status),
            stdout=output,
            stderr="",
            omitted_chars=0,
            timed_out=timed_out,
            duration_s=time.monotonic() - began,
        )

    async def _end_of(self, at: Mapping[str, Any], limit_s: float) -> tuple[Mapping[str, Any], bool]:
        """Return how the command ended, and whether that was at its time limit."""
        limit = asyncio.timeout(None if math.isinf(limit_s) else limit_s)
        try:
            async with limit:
                return await self.ask("terminal/wait_for_exit", at) or {}, False
        except TimeoutError:
            if not limit.expired():
                raise
            await self._answer("terminal/kill", at)
            return await self._answer("terminal/wait_for_exit", at) or {}, True

    async def _released(self, at: Mapping[str, Any]) -> None:
        await self._answer("terminal/kill", at)
        await self._answer("terminal/release", at)

    async def _answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                return await self.ask(method, params)
        return None


def _parameters(spec: ProcessSpec) -> Mapping[str, Any]:
    program, *arguments = spec.argv
    return {
        "command": program,
        "args": arguments,
        "cwd": str(spec.cwd),
        "env": [{"name": name, "value": value} for name, value in spec.env.items()],
        "outputByteLimit": spec.max_output_chars,
    }


def _exit_code(status: Mapping[str, Any]) -> int:
    """Return the exit code; negative for a signal, of which the protocol has only the name."""
    code = status.get("exitCode")
    if isinstance(code, int):
        return code
    name = str(status.get("signal") or "SIGTERM").upper()
    number = getattr(signal, name if name.startswith("SIG") else f"SIG{name}", signal.SIGTERM)
    return -int(number)
