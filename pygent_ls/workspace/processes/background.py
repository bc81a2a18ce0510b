"""Background commands, which run while the conversation continues: their unread output, their input and their end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import os
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.messages import now
from pygent_ls.agent.ports.processes import (
    BackgroundCommand,
    BackgroundJob,
    BackgroundListener,
    BackgroundState,
    OutputMask,
    ProcessResult,
    ProcessSpec,
)
from pygent_ls.agent.tools.program_output import KeptOutput
from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.child import Child, OnOutput
from pygent_ls.workspace.sandbox.sandbox import Stay

log = logging.getLogger(__name__)

MAX_RUNNING = 16
"""Maximum number of running commands per session: servers and watchers; more than that is a repeated mistake."""

MAX_AGENTS = 4
"""Maximum number of running subagents per session: what a provider's rate limit usually allows."""

MAX_ENDED = 32
"""Maximum number of ended commands that are kept, so that their last output can be read."""

MAX_UNREAD_CHARS = 200_000
"""Maximum length of a command's unread output, of which the head and the tail are kept."""

MAX_LAST_CHARS = 4_000
"""Maximum length of a command's last output in a list, which is kept after the model has read it."""

INPUT_S = 5.0
"""Maximum time for a program to read its input; a pipe holds 64 KiB of unread data."""


class Running(Struct, frozen=True):
    """Started program that must be finished."""

    child: Child
    spec: ProcessSpec
    started: float
    stay: Stay | None = None
    """Placeholders in the workspace while it runs in the sandbox."""
    mark: str = ""
    """Value of `MARK` in its environment, outside the sandbox."""
    notes: list[str] = field(default_factory=list[str])
    """Notes to append to its output, in sentences."""


def note_line(note: str) -> str:
    """Format a note as a line of a command's output."""
    return f"[sandbox: {note}]\n"


class ProgramRunner(Protocol):
    """Starts programs and follows them to their end."""

    async def begin(self, spec: ProcessSpec, on_output: OnOutput | None, stdin: int | None = None) -> Running:
        """Start a program."""
        ...

    async def finish(self, running: Running) -> ProcessResult:
        """Follow a program to its end, or end it."""
        ...


class _Command(Struct, kw_only=True):
    """Background command, whose task follows it to its end."""

    input: int = -1
    """Descriptor of its standard input; negative if it has none."""
    mask: OutputMask | None = None
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    unread: KeptOutput = field(default_factory=lambda: KeptOutput(MAX_UNREAD_CHARS))
    last: str = ""
    """End of its output, whether read or not."""
    task: asyncio.Task[ProcessResult] | None = None
    name: str = ""
    line: str = ""
    """Command line."""
    started_at: datetime = field(default_factory=now)
    ended_by: Literal["user", "others"] | None = None
    """Who ended it; None if it ended by itself."""
    kind: Literal["command", "agent"] = "command"
    report: str = ""
    n_waiting: int = 0
    """Number of calls that wait for its end."""

    @property
    def runs(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def exit_code(self) -> int | None:
        if self.task is None or self.runs:
            return None
        if self.task.cancelled():
            return -15
        return 1 if self.task.exception() is not None else self.task.result().exit_code

    @property
    def listed(self) -> BackgroundCommand:
        return BackgroundCommand(
            name=self.name,
            command=self.line,
            started_at=self.started_at,
            runs=self.runs,
            exit_code=self.exit_code,
            stopped_by_user=self.ended_by == "user",
            last_output=self.last,
            kind=self.kind,
            report=self.report,
            was_read=self.n_waiting > 0,
        )

    async def keep(self, text: str) -> None:
        async with self.one_at_a_time:
            self._add(await self.mask.feed(text) if self.mask else text)

    async def release(self) -> None:
        """Add the output that the mask has held back, as far as it may be shown."""
        async with self.one_at_a_time:
            if self.mask:
                self._add(await (self.mask.pause() if self.runs else self.mask.close()))

    async def state(self) -> BackgroundState:
        """Return the unread output and mark it as read."""
        await self.release()
        unread, self.unread = self.unread, KeptOutput(MAX_UNREAD_CHARS)
        return BackgroundState(
            output=unread.text(),
            omitted_chars=unread.omitted_chars,
            held_chars=self.mask.n_held if self.mask else 0,
            runs=self.runs,
            exit_code=self.exit_code,
        )

    def _add(self, text: str) -> None:
        self.unread.add(text)
        self.last = (self.last + text)[-MAX_LAST_CHARS:]


class LocalBackground:
    """Implementation of `Background`. Owns the tasks that follow the commands, and awaits them in `end_all`."""

    def __init__(self, runner: ProgramRunner) -> None:
        self._runner = runner
        self._commands: dict[str, dict[str, _Command]] = {}
        self._numbers = itertools.count(1)
        self._listeners: dict[str, BackgroundListener] = {}

    def beside(self, runner: ProgramRunner) -> LocalBackground:
        """Return a view of the same commands that starts new ones with another runner."""
        other = LocalBackground(runner)
        other._commands, other._numbers, other._listeners = self._commands, self._numbers, self._listeners
        return other

    async def start(self, owner: str, spec: ProcessSpec, mask: OutputMask | None = None) -> str:
        """Implement `Background`."""
        mine = self._commands.setdefault(owner, {})
        if sum(each.runs and each.kind == "command" for each in mine.values()) >= MAX_RUNNING:
            raise ToolError(f"{MAX_RUNNING} background commands are already running; stop one with shell_kill first.")
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        command = _Command(input=writing, mask=mask, line=spec.argv[-1])
        endless = replace(spec, timeout_s=math.inf, max_output_chars=0)
        try:
            running = await self._runner.begin(endless, command.keep, reading)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        command.task = asyncio.create_task(self._follow(command, running))
        command.task.add_done_callback(lambda _: self._ended(owner, command))
        name = command.name = f"shell_{next(self._numbers)}"
        mine[name] = command
        self._forget_some(mine)
        self._changed(owner)
        return name

    async def start_job(self, owner: str, job: BackgroundJob) -> str:
        """Implement `Background`."""
        mine = self._commands.setdefault(owner, {})
        if len(self.running_jobs(owner)) >= MAX_AGENTS:
            raise ToolError(
                f"{MAX_AGENTS} subagents are already running in the background. Wait for one with shell_output, or end "
                "one with shell_kill."
            )
        name = f"agent_{next(self._numbers)}"
        command = _Command(kind="agent", name=name, line=job.title)
        command.task = asyncio.create_task(self._work(command, job))
        command.task.add_done_callback(lambda _: self._ended(owner, command))
        mine[name] = command
        self._forget_some(mine)
        self._changed(owner)
        return name

    def running_jobs(self, owner: str) -> Sequence[BackgroundCommand]:
        """Implement `Background`."""
        mine = self._commands.get(owner, {}).values()
        return [each.listed for each in mine if each.kind == "agent" and each.runs]

    async def read(self, owner: str, name: str, wait_s: float) -> BackgroundState:
        """Implement `Background`."""
        command = self._find(owner, name)
        if command.runs and command.task is not None and wait_s > 0:
            command.n_waiting += 1
            try:
                await asyncio.wait([command.task], timeout=wait_s)
            finally:
                command.n_waiting -= 1
        state = await command.state()
        if not state.runs and (listener := self._listeners.get(owner)) is not None:
            listener.end_read(name)
        return state

    async def write(self, owner: str, name: str, text: str) -> None:
        """Implement `Background`."""
        command = self._find(owner, name)
        if command.kind == "agent":
            raise ToolError(f"{name} is a subagent and reads no input. Start another one with what it should know.")
        if not command.runs:
            raise ToolError(f"{name} has ended and reads no more input; shell_output shows how it ended.")
        left = memoryview(text.encode("utf-8", "replace"))
        try:
            async with asyncio.timeout(INPUT_S):
                while left:
                    left = left[await self._written(command.input, left) :]
        except TimeoutError:
            raise ToolError(f"{name} does not read its input: {len(left)} bytes were not accepted.") from None
        except OSError:
            raise ToolError(f"{name} has closed its input.") from None

    async def end(self, owner: str, name: str) -> BackgroundState:
        """Implement `Background`."""
        command = self._find(owner, name)
        await self._end(command, "others")
        return await command.state()

    async def stop(self, owner: str, name: str) -> bool:
        """Implement `Background`."""
        command = self._find(owner, name)
        if not command.runs:
            return False
        await self._end(command, "user")
        return True

    async def listed(self, owner: str) -> Sequence[BackgroundCommand]:
        """Implement `Background`."""
        mine = list(self._commands.get(owner, {}).values())
        for each in mine:
            await each.release()
        return [each.listed for each in mine]

    def listen(self, owner: str, listener: BackgroundListener) -> None:
        """Implement `Background`."""
        self._listeners[owner] = listener

    def has_any(self, owner: str) -> bool:
        """Implement `Background`."""
        return bool(self._commands.get(owner))

    async def end_all(self, owner: str) -> None:
        """Implement `Background`."""
        self._listeners.pop(owner, None)
        mine = self._commands.pop(owner, {})
        await asyncio.gather(*(self._end(command, "others") for command in mine.values()))

    async def _follow(self, command: _Command, running: Running) -> ProcessResult:
        try:
            return await self._runner.finish(running)
        except asyncio.CancelledError:
            await command.keep("".join(map(note_line, running.notes)))
            raise
        finally:
            os.close(command.input)
            command.input = -1

    async def _work(self, command: _Command, job: BackgroundJob) -> ProcessResult:
        """Follow a subagent to its end."""
        began_s = time.monotonic()
        end = await job.run(command.keep)
        command.report = end.report
        await command.keep(f"Report:\n{end.report}\n")
        return ProcessResult(
            exit_code=1 if end.has_failed else 0,
            stdout="",
            stderr="",
            omitted_chars=0,
            timed_out=False,
            duration_s=time.monotonic() - began_s,
        )

    def _ended(self, owner: str, command: _Command) -> None:
        if command.task is not None and not command.task.cancelled() and (error := command.task.exception()):
            log.error("%s failed: %s", command.name, type(error).__name__, exc_info=error)
        if command.ended_by != "others" and (listener := self._listeners.get(owner)) is not None:
            listener.ended(command.listed)
        self._changed(owner)

    def _changed(self, owner: str) -> None:
        if (listener := self._listeners.get(owner)) is not None:
            listener.changed()

    async def _end(self, command: _Command, by: Literal["user", "others"]) -> None:
        if command.task is not None:
            command.ended_by = by if command.runs else command.ended_by
            await asyncio.sleep(0)  # lets the task start, so that it releases its resources
            command.task.cancel()
            await asyncio.wait([command.task])

    async def _written(self, fd: int, data: memoryview) -> int:
        """Write to the pipe when it has room; return the number of bytes written. Raises OSError if it has no
        reader.
        """
        loop = asyncio.get_running_loop()
        while True:
            with contextlib.suppress(BlockingIOError):
                return os.write(fd, data)
            writable = asyncio.Event()
            loop.add_writer(fd, writable.set)
            try:
                await writable.wait()
            finally:
                loop.remove_writer(fd)

    def _find(self, owner: str, name: str) -> _Command:
        mine = self._commands.get(owner, {})
        if name not in mine:
            known = ", ".join(mine) or "none"
            raise ToolError(f"There is no background command {name!r}. Background commands: {known}.")
        return mine[name]

    def _forget_some(self, mine: dict[str, _Command]) -> None:
        ended = [name for name, each in mine.items() if not each.runs]
        for name in ended[:-MAX_ENDED]:
            del mine[name]
