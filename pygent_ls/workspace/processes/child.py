"""Child process: its start, its output, and the end of its process group."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import os
import resource
import signal
import subprocess
import tempfile
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import IO

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.agent.tools.program_output import KeptOutput
from pygent_ls.errors import ToolError

QUIET_ENVIRONMENT: Mapping[str, str] = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""Variables for programs without a user, who could neither page through output nor type a password."""

TERMINATE_S = 2.0
"""Time between SIGTERM and SIGKILL for a group."""

LEFTOVER_S = 0.5
"""Maximum time that other processes may hold the outputs open after the program has ended: enough for the last member
of a pipeline, but not noticeable after `server &`.
"""

VANISH_S = 1.0
"""Maximum wait for killed processes to disappear; one that the kernel does not release is abandoned."""

POLL_S = 0.005
"""First interval for polling whether a group has ended, which sends no signal; each next interval is twice as long."""

MAX_POLL_S = 0.1
"""Longest polling interval."""

READ_BYTES = 65_536
"""A pipe's capacity on Linux. At most this much of each pipe is held before it is passed on."""

MAX_PIPE_BYTES = 1_048_576
"""Maximum pipe capacity without privileges (`/proc/sys/fs/pipe-max-size`)."""

DESCRIPTOR_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Waits between attempts to start a program when file descriptors are exhausted: most are in use only briefly."""

OnOutput = Callable[[str], Awaitable[None]]


async def start(
    spec: ProcessSpec,
    argv: Sequence[str],
    *,
    merged: bool,
    inherited: Mapping[str, str],
    stdin: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start `argv`, which is the spec's or wraps it, with the variables `inherited` from the daemon's environment.

    If file descriptors are exhausted, waits 1.55 s at most. Raises `ToolError` if the program cannot be started.
    """
    if not spec.argv:
        raise ToolError("There is no program to run: the command is empty.")
    try:
        for pause_s in DESCRIPTOR_PAUSES_S:
            try:
                return _started(spec, argv, merged=merged, inherited=inherited, stdin=stdin)
            except OSError as error:
                if error.errno != errno.EMFILE:
                    raise
            await asyncio.sleep(pause_s)
        return _started(spec, argv, merged=merged, inherited=inherited, stdin=stdin)
    except (OSError, ValueError) as error:
        raise ToolError(_why_not_started(spec, error)) from None


def _started(
    spec: ProcessSpec, argv: Sequence[str], *, merged: bool, inherited: Mapping[str, str], stdin: int | None
) -> subprocess.Popen[bytes]:
    with _input(spec, stdin) as source:
        child = subprocess.Popen(
            argv,
            bufsize=0,
            cwd=spec.cwd,
            env={**inherited, **QUIET_ENVIRONMENT, **spec.env},
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            start_new_session=True,
        )
    if spec.max_memory_bytes and hasattr(resource, "prlimit"):
        with contextlib.suppress(OSError):  # it has ended
            resource.prlimit(child.pid, resource.RLIMIT_AS, (spec.max_memory_bytes, spec.max_memory_bytes))
    return child


@contextlib.contextmanager
def _input(spec: ProcessSpec, given: int | None) -> Generator[IO[bytes] | int]:
    """Yield the program's standard input: an unnamed file, which needs no writer during the run, or `given`."""
    if given is not None:
        yield given
        return
    if not spec.stdin_bytes:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(spec.stdin_bytes)
        file.seek(0)
        yield file


def _why_not_started(spec: ProcessSpec, error: OSError | ValueError) -> str:
    program = spec.argv[0]
    if limit := limit_reached(error):
        return f"{program} cannot be started: {limit}"
    if not spec.cwd.is_dir():
        return f"{program} cannot be started in {spec.cwd}: no such folder."
    match error:
        case FileNotFoundError():
            return f"{program} cannot be started: the program was not found."
        case PermissionError():
            return f"{program} cannot be started: it is not executable, or {spec.cwd} cannot be entered."
        case OSError():
            return f"{program} cannot be started: {error.strerror}."
        case ValueError():  # a NUL, or half of a surrogate pair
            return f"{program!r} cannot be started: its name, arguments or environment contain an invalid character."


class _Pipe:
    """Output pipe of a child, read piece by piece."""

    def __init__(self, fd: int, kept: KeptOutput) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.kept = kept
        self.piece: bytes | None = None
        """Data that was read and not yet passed on; empty at the end."""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.open = True

    def read(self) -> None:
        """Read a piece, without waiting."""
        try:
            self.piece = os.read(self.fd, READ_BYTES)
        except BlockingIOError:
            self.piece = None
        except OSError:
            self.piece = b""

    def take(self) -> str:
        """Return the piece as text; a character split over two pieces is part of the second."""
        piece = self.piece or b""
        self.open = self.piece != b""
        self.piece = None
        text = self.decoder.decode(piece, final=not self.open)
        self.kept.add(text)
        return text


class Child:
    """Running program with its output so far. `end` must always be called."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        max_chars: int,
        on_output: OnOutput | None,
        on_errors: OnOutput | None = None,
    ) -> None:
        self.pid = process.pid
        self._process = process
        self._on_output = on_output
        self._on_errors = on_errors
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._exited_at: float | None = None
        self._followed = False
        self._is_gone = False
        self._pipes = [
            _Pipe(pipe.fileno(), KeptOutput(max_chars)) for pipe in (process.stdout, process.stderr) if pipe is not None
        ]
        threading.Thread(target=self._wait_in_thread, name=f"exit of {self.pid}", daemon=True).start()

    async def follow(self) -> None:
        """Pass on the output until the program has ended and its outputs are closed or only held open by other
        processes.
        """
        for pipe in self._pipes:
            self._listen(pipe)
        while True:
            self._changed.clear()
            for pipe in self._pipes:
                if pipe.piece is not None:
                    await self._pass_on(pipe)
                    if pipe.open:
                        self._listen(pipe)
            if self._exited_at is None:
                await self._changed.wait()
                continue
            left_s = self._exited_at + LEFTOVER_S - self._loop.time()
            if left_s <= 0 or not any(pipe.open for pipe in self._pipes):
                self._followed = True
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._changed.wait()

    async def end(self) -> None:
        """End the group with SIGTERM, then SIGKILL, and wait until it is gone.

        If `follow` was interrupted, further output is kept but not passed on: there may be no listener, and a program
        that cannot write cannot end itself.
        """
        if not self._followed:
            self._on_output = self._on_errors = None
        try:
            if not self._gone():
                self.signal(signal.SIGTERM)
                await self._wait_gone(TERMINATE_S)
        finally:  # also when cancelled again
            if not self._gone():
                self.signal(signal.SIGKILL)
                await self._wait_gone(VANISH_S)

    async def drain(self) -> None:
        """Pass on what the ended group left in its pipes."""
        for pipe in self._pipes:
            for _ in range(MAX_PIPE_BYTES // READ_BYTES):
                if pipe.piece is None and pipe.open:
                    pipe.read()
                if pipe.piece is None:
                    break
                await self._pass_on(pipe)

    async def add(self, text: str) -> None:
        """Append text to the program's output, after it has ended."""
        self._pipes[0].kept.add(text)
        if self._on_output is not None:
            await self._on_output(text)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group, if it still exists."""
        if not self._is_gone:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # gone, or another user's (sudo)
                os.killpg(self.pid, number)

    @property
    def is_gone(self) -> bool:
        """Whether the whole group has ended, as determined by `end`, since its number may be reused afterwards."""
        return self._is_gone

    def result(self, *, timed_out: bool, duration_s: float) -> ProcessResult:
        """Return the result as known now."""
        kept = [pipe.kept for pipe in self._pipes]
        code = self._process.poll()
        return ProcessResult(
            exit_code=-signal.SIGKILL if code is None else code,  # None: the kernel has not released it
            stdout=kept[0].text(),
            stderr=kept[1].text() if len(kept) > 1 else "",
            omitted_chars=sum(each.omitted_chars for each in kept),
            timed_out=timed_out,
            duration_s=duration_s,
        )

    def close(self) -> None:
        """Close the pipes."""
        for pipe in self._pipes:
            self._loop.remove_reader(pipe.fd)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    async def _pass_on(self, pipe: _Pipe) -> None:
        text = pipe.take()
        listener = self._on_output if pipe is self._pipes[0] else self._on_errors
        if text and listener is not None:
            await listener(text)

    def _listen(self, pipe: _Pipe) -> None:
        self._loop.add_reader(pipe.fd, self._readable, pipe)

    def _readable(self, pipe: _Pipe) -> None:
        pipe.read()
        if pipe.piece is not None:
            self._loop.remove_reader(pipe.fd)
            self._changed.set()

    async def _wait_gone(self, limit_s: float) -> None:
        """Wait until the group is gone, at most for the limit, and meanwhile collect its output."""
        until, poll_s = self._loop.time() + limit_s, POLL_S
        while not self._gone() and self._loop.time() < until:
            if not self._followed:
                await self.drain()
            await asyncio.sleep(poll_s)
            poll_s = min(poll_s * 2, MAX_POLL_S)

    def _gone(self) -> bool:
        if not self._is_gone and self._exited_at is not None:
            self._process.poll()  # releases the process number, which represented the group until now
            self._is_gone = not _group_lives(self.pid)
        return self._is_gone

    def _wait_in_thread(self) -> None:
        with contextlib.suppress(ChildProcessError):
            if hasattr(os, "waitid"):  # not on macOS
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)  # its number stays reserved until it is polled
            else:
                self._process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._exited)

    def _exited(self) -> None:
        self._exited_at = self._loop.time()
        self._changed.set()


def _group_lives(group: int) -> bool:
    """Return whether a process of the group still runs; zombies do not count."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    proc = Path("/proc")
    if not (proc / "self" / "stat").exists():  # not Linux
        return True
    for entry in proc.iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                state, _, its_group = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:3]
                if int(its_group) == group and state not in {b"Z", b"X"}:
                    return True
    return False
