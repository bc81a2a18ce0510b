"""Programs for tests, and ears for what they say."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.workspace.processes.background import Running
from pygent_ls.workspace.processes.child import OnOutput
from pygent_ls.workspace.processes.local_processes import LocalProcesses

LIMIT_S = 30.0
"""Longest wait for something that must happen."""

UP = "echo >up"
"""Shell command by which a program says that it is up, to `OnceUp`."""


class OnceUp(LocalProcesses):
    """The real ones; a time limit under a second counts from when the program is up."""

    async def begin(
        self,
        spec: ProcessSpec,
        on_output: OnOutput | None,
        stdin: int | None = None,
        on_errors: OnOutput | None = None,
    ) -> Running:
        if spec.timeout_s >= 1:
            return await super().begin(spec, on_output, stdin, on_errors)
        os.mkfifo(spec.cwd / "up")
        running = await super().begin(spec, on_output, stdin, on_errors)
        async with asyncio.timeout(LIMIT_S):
            await asyncio.to_thread((spec.cwd / "up").read_bytes)
        return running


def shell(command: str, folder: Path, *, timeout_s: float = LIMIT_S, max_output_chars: int = 200_000) -> ProcessSpec:
    """A shell command."""
    return ProcessSpec(argv=("sh", "-c", command), cwd=folder, timeout_s=timeout_s, max_output_chars=max_output_chars)


def python(script: str, folder: Path, *arguments: str, timeout_s: float = LIMIT_S) -> ProcessSpec:
    """A Python script."""
    return ProcessSpec(argv=(sys.executable, "-c", script, *arguments), cwd=folder, timeout_s=timeout_s)


def runs(pid: int) -> bool:
    """Whether a process still does anything; one that waits for its parent's attention does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


class Listener:
    """Takes live output; waits can be bounded by it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._came = asyncio.Event()

    async def __call__(self, text: str) -> None:
        self.pieces.append(text)
        self._came.set()

    async def until(self, text: str, times: int = 1) -> str:
        """All output so far, once `text` is in it."""
        async with asyncio.timeout(LIMIT_S):
            while "".join(self.pieces).count(text) < times:
                self._came.clear()
                await self._came.wait()
        return "".join(self.pieces)
