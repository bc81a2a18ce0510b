"""A program that is talked to in lines of JSON on its standard input and output."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.errors import ToolError
from pygent_ls.extensions.pipes import OnOutput, OutputLines, RunProgram, writer_to

MAX_LINE_CHARS = 32_000_000
"""Maximum length of one message: room for an image of 20 MB in base64."""

MAX_NOISE_CHARS = 1_000_000
"""Maximum length of all lines on standard output that cannot be parsed as messages. A banner or debug output is
skipped, but a program that goes on writing text does not speak the protocol."""

MAX_ERROR_CHARS = 20_000
"""Maximum length of standard error that is kept for the message about a program that has ended."""

MAX_LAST_LINES = 5
"""Maximum number of lines of standard error in the message about a program that has ended."""

TakeLine = Callable[[str], Awaitable[bool]]
"""Takes a line of standard output; returns whether it is a message."""


class LineProcess:
    """Runs a program from `start` to `stop`, whose process ends even if the daemon is killed."""

    def __init__(self, run: RunProgram, spec: ProcessSpec, log: OnOutput, take: TakeLine) -> None:
        """`log` is given standard error, `take` each line of standard output."""
        self._run_program = run
        self._spec = spec
        self._log = log
        self._take = take
        self._lines = OutputLines(
            MAX_LINE_CHARS, f"It wrote a line of more than {MAX_LINE_CHARS:,} characters and was ended."
        )
        self._n_noise = 0
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue(1)
        self._process: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()
        """Set when the process has ended."""
        self.why_ended = ""
        """How it has ended, for a person; empty while it runs."""

    def start(self) -> None:
        """Start the program. A failure is in `why_ended`."""
        reading, writing = os.pipe()
        self._writing = asyncio.create_task(self._write(writing))
        self._process = asyncio.create_task(self._run(reading))

    async def send(self, line: str) -> None:
        """Write a line, once the previous one was taken. What a program that has ended is sent is dropped."""
        await self._unsent.put(f"{line}\n".encode())

    async def stop(self, grace_s: float) -> None:
        """Close the program's input, and end it if it does not end by itself within the time."""
        assert self._writing is not None
        assert self._process is not None
        self._writing.cancel()
        await asyncio.wait([self._writing])
        try:
            await asyncio.wait([self._process], timeout=grace_s)
        finally:
            self._process.cancel()
            await asyncio.wait([self._process])

    async def _run(self, stdin: int) -> None:
        try:
            self.why_ended = _how(await self._run_program(self._spec, self._read, stdin, self._log))
        except ToolError as error:
            self.why_ended = str(error)
        finally:
            self.ended.set()

    async def _read(self, text: str) -> None:
        for line in self._lines.feed(text):
            if line.strip() and not await self._take(line):
                self._n_noise += len(line)
        if self._n_noise > MAX_NOISE_CHARS:
            raise ToolError(
                f"It wrote more than {MAX_NOISE_CHARS:,} characters to its standard output that are no messages of "
                "the protocol, and was ended. A program writes its log to standard error."
            )

    async def _write(self, descriptor: int) -> None:
        try:
            async with writer_to(descriptor) as writer:
                while True:
                    writer.write(await self._unsent.get())
                    await writer.drain()
        except OSError:  # it reads no more; the end of its output tells the client
            while True:
                await self._unsent.get()


def spec_of(argv: tuple[str, ...], folder: Path, env: Mapping[str, str]) -> ProcessSpec:
    """Return the specification of a program that runs until it is stopped."""
    return ProcessSpec(
        argv=argv, cwd=folder, timeout_s=math.inf, env=env, max_output_chars=MAX_ERROR_CHARS, errors_apart=True
    )


def _how(result: ProcessResult) -> str:
    """Say how a program has ended, with the end of what it wrote to standard error."""
    said = "\n".join(result.stderr.strip().splitlines()[-MAX_LAST_LINES:])
    how = f"with exit code {result.exit_code}" if result.exit_code >= 0 else f"by signal {-result.exit_code}"
    return f"The program ended {how}." + (f" It wrote: {said}" if said else "")
