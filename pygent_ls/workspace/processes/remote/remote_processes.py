"""Commands in an existing container or on another machine, run by a program of this machine.

Each command has one connection. Over there a script starts it and ends all its processes when its standard input ends,
whether because the command is cancelled or because this daemon, or the connection, has died.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from msgspec.structs import asdict, replace

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec, Repositories, SandboxState
from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.background import Running
from pygent_ls.workspace.processes.child import LEFTOVER_S, QUIET_ENVIRONMENT, READ_BYTES, OnOutput
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.processes.remote.owners import Found, ProcessOwner, last_line
from pygent_ls.workspace.processes.remote.script import script_argv

CONNECT_S = 20.0
"""Maximum time for an answer from over there, before anything is run."""

ENDING_S = 10.0
"""Maximum time for a cancelled command to end over there: 2 s between SIGTERM and SIGKILL, the search for its
processes on a slow machine, and the way back."""

MAX_MARKER_CHARS = 100
"""Maximum length of the script's own lines."""

LOST = 255
"""Exit code of a command of which it is not known how it ended; ssh has the same for a broken connection."""

_MARKER = re.compile(r"([0-9a-f]{32}) (?:started|ended (\d{1,3}))\n")
"""Line of the script, with the id of its run."""

_PROBE = "printf 'pygent-ls:%s\\n' \"$(command -v bash)\""


class _Link:
    """Standard input and standard error of the program that runs a command over there."""

    def __init__(self, run_id: str, source: int | None) -> None:
        self._run_id = run_id
        self._tail = ""
        self._source = source
        self._feeding: asyncio.Task[None] | None = None
        self.writing = -1
        self.has_started = False
        self.code: int | None = None
        self.ended = asyncio.Event()
        self.is_muted = False

    async def take(self, text: str) -> None:
        """Take a piece of standard error."""
        self._tail = (self._tail + text)[-MAX_MARKER_CHARS - len(text) :]
        for found in _MARKER.finditer(self._tail):
            self.has_started |= found[1] == self._run_id
            if found[1] == self._run_id and found[2]:
                self.code = int(found[2])
                self.ended.set()

    def passing(self, on_output: OnOutput | None) -> OnOutput | None:
        """Return what takes output: that of a command which is being ended has no listener."""

        async def passed(text: str) -> None:
            if on_output is not None and not self.is_muted:
                await on_output(text)

        return None if on_output is None else passed

    def without_markers(self, text: str) -> str:
        """Return standard error without the script's own lines."""
        return _MARKER.sub(lambda found: "" if found[1] == self._run_id else found[0], text)

    def feed(self, data: bytes) -> None:
        """Write standard input from now on: the data, then what is written to the source, if there is one."""
        self._feeding = asyncio.create_task(self._fed(data))

    async def close(self) -> None:
        """End standard input, and with it the command, unless it has ended."""
        if self._feeding is not None:
            self._feeding.cancel()
            await asyncio.wait([self._feeding])
        for each in (self.writing, self._source):
            if each is not None and each >= 0:
                os.close(each)
        self.writing, self._source = -1, None

    async def _fed(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # the reader has gone
            await self._write(data)
            while self._source is not None:
                await _ready(self._source, is_read=True)
                if not (piece := os.read(self._source, READ_BYTES)):
                    return
                await self._write(piece)

    async def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self.writing, left) :]
            except BlockingIOError:
                await _ready(self.writing, is_read=False)


class _RemoteRunning(Running, frozen=True, kw_only=True):
    link: _Link
    timeout_s: float


class RemoteProcesses:
    """Implementation of `Processes` for the commands of the model and the project's tests."""

    def __init__(self, local: LocalProcesses, owner: ProcessOwner) -> None:
        self._local = local
        self._owner = owner
        self._found: Found | None = None
        self._has_bash = False
        self._asking = asyncio.Lock()
        self.background = local.background.beside(self)

    @property
    def place(self) -> str:
        """Where the commands run."""
        return self._owner.place

    @property
    def repositories(self) -> Repositories:
        """Implement `Processes`: those of this machine."""
        return self._local.repositories

    async def sandbox(self) -> SandboxState:
        """Implement `Processes`. Raises `ToolError` if nothing can run over there."""
        local = await self._local.sandbox()
        if not local.required:
            await self.connect()
        return SandboxState(kind="off", place=self.place, required=local.required)

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        """Implement `Processes`. Programs are found over there when they run; that of bash was asked for before."""
        return program if program != "bash" or self._has_bash else None

    def path_there(self, path: Path) -> str | None:
        """Return the path of a file or folder over there, once it has answered; None if it is not there."""
        if self._found is None:
            return None
        path = path.resolve()
        inside = [each for each in self._found.mounts if path.is_relative_to(each.here)]
        if not inside:
            return None
        nearest = max(inside, key=lambda each: len(each.here.parts))
        return str(nearest.there / path.relative_to(nearest.here))

    async def connect(self) -> Found:
        """Ask it whether it can run commands, once. Raises `ToolError` that says why not."""
        async with self._asking:
            if self._found is None:
                found = await self._owner.find(self._run_here)
                result = await self._run_here(self._owner.argv(found, ("sh", "-c", _PROBE)))
                answer = re.search(r"^pygent-ls:(.*)$", result.stdout, re.M)
                if answer is None:
                    raise ToolError(f"Commands cannot be run {self.place}: {last_line(result.stderr)}")
                self._found, self._has_bash = found, bool(answer[1])
            return self._found

    async def run(self, spec: ProcessSpec, on_output: OnOutput | None = None) -> ProcessResult:
        """Implement `Processes`. Raises `ToolError` if it was not started."""
        return await self.finish(await self.begin(spec, on_output))

    async def begin(self, spec: ProcessSpec, on_output: OnOutput | None, stdin: int | None = None) -> Running:
        """Start a program, with `stdin` as its input if given; `finish` must be called. Raises `ToolError`."""
        found = await self.connect()
        folder = self.path_there(spec.cwd)
        if folder is None:
            there = ", ".join(str(each.here) for each in found.mounts) or "none of this machine"
            raise ToolError(
                f"{spec.cwd} does not exist {self.place}, where commands run. Folders that are there: {there}. The "
                "setting remote.folder names the workspace's folder there."
            )
        run_id = uuid4().hex
        argv = script_argv(
            run_id,
            (self._program_there(spec.argv[0]), *spec.argv[1:]),
            folder,
            {**QUIET_ENVIRONMENT, **spec.env},
            merged=on_output is not None and not spec.errors_apart,
            n_input=len(spec.stdin_bytes) if stdin is None else None,
        )
        link = _Link(run_id, None if stdin is None else os.dup(stdin))
        reading, link.writing = os.pipe()
        try:
            os.set_blocking(link.writing, False)
            here = ProcessSpec(
                argv=(self._program(), *self._owner.argv(found, argv)),
                cwd=Path("/"),
                timeout_s=math.inf,
                max_output_chars=spec.max_output_chars,
                errors_apart=True,
            )
            running = await self._local.begin(here, link.passing(on_output), reading, link.take)
        except BaseException:
            await link.close()
            raise
        finally:
            os.close(reading)
        link.feed(spec.stdin_bytes)
        return _RemoteRunning(**asdict(running), link=link, timeout_s=spec.timeout_s)

    async def finish(self, running: Running) -> ProcessResult:
        """Follow a program to its end, or end it. Raises `ToolError` if it was not started."""
        assert isinstance(running, _RemoteRunning)
        link, following = running.link, asyncio.create_task(self._local.finish(running))
        ending = asyncio.create_task(link.ended.wait())
        limit_s = None if math.isinf(running.timeout_s) else running.timeout_s
        has_ended = False
        try:
            done, _ = await asyncio.wait([following, ending], timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            has_ended = bool(done)
        finally:
            link.is_muted = not has_ended
            ending.cancel()
            await self._ended(running, following, LEFTOVER_S if has_ended else ENDING_S)
        return self._result(following.result(), link, timed_out=not has_ended)

    async def _ended(self, running: _RemoteRunning, following: asyncio.Task[ProcessResult], limit_s: float) -> None:
        """End the command over there, if it runs, then the program here, if that does not end by itself."""
        try:
            await running.link.close()
            await asyncio.wait([following], timeout=limit_s)
            if not following.done():
                running.child.signal(signal.SIGTERM)
                await asyncio.wait([following], timeout=LEFTOVER_S)
        finally:
            following.cancel()
            await asyncio.wait([following])

    def _result(self, result: ProcessResult, link: _Link, *, timed_out: bool) -> ProcessResult:
        errors = link.without_markers(result.stderr)
        if link.code is not None:
            return replace(result, exit_code=link.code, stderr=errors, timed_out=timed_out)
        self._found = None
        if not link.has_started and not timed_out:
            raise ToolError(f"The command could not be started {self.place}: {last_line(errors)}")
        note = f"\n[the connection broke: the command ran {self.place}, and it is unknown how it ended. "
        note += f"{self._owner.program}: {last_line(errors)}]\n"
        return replace(result, exit_code=LOST, stdout=result.stdout + note, stderr=errors, timed_out=timed_out)

    def _program_there(self, program: str) -> str:
        """Return the program's path over there if it is in the workspace."""
        path = Path(program)
        return (self.path_there(path.parent) or str(path.parent)) + f"/{path.name}" if path.is_absolute() else program

    def _program(self) -> str:
        """Return the path of the program here. Raises `ToolError`."""
        program = self._local.find(self._owner.program)
        if program is None:
            raise ToolError(
                f"{self._owner.program} is not installed on this machine, so commands cannot be run {self.place}, as "
                "the setting remote.commands says. Tell the user."
            )
        return program

    async def _run_here(self, arguments: Sequence[str]) -> ProcessResult:
        argv = (self._program(), *arguments)
        result = await self._local.run(ProcessSpec(argv=argv, cwd=Path("/"), timeout_s=CONNECT_S))
        if result.timed_out:
            raise ToolError(
                f"{self._owner.program} did not answer within {CONNECT_S:g} s, so nothing runs {self.place}."
            )
        return result


async def _ready(descriptor: int, *, is_read: bool) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    (loop.add_reader if is_read else loop.add_writer)(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        (loop.remove_reader if is_read else loop.remove_writer)(descriptor)
