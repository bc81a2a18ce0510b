"""Child processes, each in its own process group, which ends before its caller continues, or with the daemon.

A process that leaves its group (`setsid`, a daemon) is not followed; it cannot block or fill anything. In the sandbox
it ends with the program. Outside, on Linux, it ends if the program is cancelled or exceeds its time limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shutil
import signal
import sys
import sysconfig
import time
import weakref
from collections.abc import Collection
from pathlib import Path
from uuid import uuid4

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec, SandboxState
from pygent_ls.errors import ToolError
from pygent_ls.workspace.environment import clean_environment, find_program
from pygent_ls.workspace.git.repositories import LocalRepositories
from pygent_ls.workspace.processes.background import LocalBackground, Running, note_line
from pygent_ls.workspace.processes.child import Child, OnOutput, start
from pygent_ls.workspace.processes.marked import end_marked
from pygent_ls.workspace.processes.watchdog import Watchdog
from pygent_ls.workspace.sandbox.resource_usage import hold
from pygent_ls.workspace.sandbox.sandbox import Sandbox, SandboxOptions, Stay
from pygent_ls.workspace.sandbox.visible_paths import CREDENTIALS, OF_SERVICES

OF_OUR_MAKE = frozenset({"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"})
"""Variables that a `make` that started the daemon sets for its children: another `make` would take itself for a part of
it.
"""

MARK = "PYGENT_COMMAND_PROCESS"
"""Variable in the environment of a program outside the sandbox, by which what it has started is known."""

LOOK_AGAIN_S = 5.0
"""Interval between checks for files left by a background command."""


class LocalProcesses:
    """Implementation of `Processes` on this machine."""

    def __init__(self, sandbox: Sandbox | None = None, *, hidden_variables: Collection[str] = ()) -> None:
        """Create the port. `hidden_variables`, the daemon's own keys, are not passed to any program."""
        self._hidden = set(hidden_variables)
        self._running: set[Child] = set()
        self._sandbox = sandbox
        self._sandboxes = weakref.WeakSet([sandbox] if sandbox else [])
        self._watchdog = Watchdog()
        self.background = LocalBackground(self)
        self.repositories = LocalRepositories(self._may_write)

    def beside(self, sandbox: Sandbox, *, hidden_variables: Collection[str]) -> LocalProcesses:
        """Return a view of the same processes that starts new ones in another sandbox."""
        other = LocalProcesses(sandbox)
        other._hidden, other._running, other._watchdog = self._hidden, self._running, self._watchdog
        other._sandboxes = self._sandboxes
        other.background = self.background.beside(other)
        self._sandboxes.add(sandbox)
        self.hide(hidden_variables)
        return other

    def hide(self, variables: Collection[str]) -> None:
        """Pass these variables to no program from now on."""
        self._hidden.update(variables)

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        """Implement `Processes`. `rg` is the system's, else the one that pip installed with us."""
        if found := find_program(program, os.environ, _nowhere if anywhere else self._may_write):
            return found
        if program == "rg":
            own = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
            return shutil.which("rg", path=os.pathsep.join(map(str, own)))
        return None

    def _may_write(self, path: Path) -> bool:
        return self._sandbox is not None and self._sandbox.may_write(path)

    async def sandbox(self) -> SandboxState:
        """Implement `Processes`. Checked until it works, so that repairs take effect at once."""
        return await self._sandbox.state(self.find("bwrap")) if self._sandbox else SandboxState(kind="off")

    async def run(self, spec: ProcessSpec, on_output: OnOutput | None = None) -> ProcessResult:
        """Implement `Processes`: run a program to its end. Output is read only after the last piece was taken, so a
        slow `on_output` slows the program, and pending output never fills the memory.

        A line in place of omitted output gives the number of omitted characters. Processes that the program leaves in
        its group are ended with it.
        """
        return await self.finish(await self.begin(spec, on_output))

    async def serve(
        self, spec: ProcessSpec, on_output: OnOutput, stdin: int, on_errors: OnOutput | None = None
    ) -> ProcessResult:
        """Run a program as `run` does, with the descriptor as its input, which is then closed here. `on_errors` is
        given standard error as it comes."""
        try:
            running = await self.begin(spec, on_output, stdin, on_errors)
        finally:
            os.close(stdin)
        return await self.finish(running)

    async def begin(
        self,
        spec: ProcessSpec,
        on_output: OnOutput | None,
        stdin: int | None = None,
        on_errors: OnOutput | None = None,
    ) -> Running:
        """Start a program, with `stdin` as its input if given; `finish` must be called. Raises `ToolError`."""
        with contextlib.ExitStack() as undo:
            argv, stay = await self._confined(spec, undo)
            if argv == spec.argv:
                for sandbox in tuple(self._sandboxes):
                    await asyncio.to_thread(sandbox.look_at_all)
            self._watchdog.start()
            started = time.monotonic()
            merged = on_output is not None and not spec.errors_apart
            mark = uuid4().hex if argv == spec.argv else ""
            inherited = self._inherited(spec, argv) | ({MARK: mark} if mark else {})
            process = await start(spec, argv, merged=merged, stdin=stdin, inherited=inherited)
            self._watchdog.watch(process.pid)
            child = Child(process, spec.max_output_chars, on_output, on_errors)
            self._running.add(child)
            undo.pop_all()
            return Running(child, spec, started, stay, mark=mark)

    def _inherited(self, spec: ProcessSpec, argv: tuple[str, ...]) -> dict[str, str]:
        """Return the variables of the daemon's environment that a program inherits."""
        is_confined = argv != spec.argv
        without = self._hidden | OF_OUR_MAKE
        if is_confined:
            without |= CREDENTIALS | OF_SERVICES
        inherited = {name: value for name, value in os.environ.items() if name not in without}
        if spec.was_allowed and not is_confined:
            return inherited
        clean = clean_environment(inherited, self._may_write)
        if spec.read_only or not is_confined:
            return clean
        # bubblewrap itself runs outside: all variables that do not affect its loading are for the command
        return {name: clean.get(name, "") if name.startswith("LD_") else inherited[name] for name in inherited}

    async def finish(self, running: Running) -> ProcessResult:
        """Follow a program to its end, or end it; then append notes that concern the sandbox to its output."""
        child = running.child
        try:
            timed_out = await self._followed_to_its_end(running)
            await child.drain()
            duration_s = time.monotonic() - running.started
            if running.stay is not None and self._sandbox is not None:
                result = child.result(timed_out=timed_out, duration_s=duration_s)
                said = result.stdout + result.stderr
                running.notes.extend(running.stay.explain(said, failed=result.exit_code != 0))
                running.notes.extend(await asyncio.to_thread(self._sandbox.left, running.stay))
            for note in running.notes:
                await child.add(note_line(note))
            return child.result(timed_out=timed_out, duration_s=duration_s)
        finally:
            if child.is_gone:
                self._running.remove(child)
                self._watchdog.forget(child.pid)
            else:  # a Ctrl-C can arrive at any point: remaining processes stay registered and end with the daemon
                child.signal(signal.SIGKILL)
            child.close()
            if running.stay is not None and self._sandbox is not None:
                running.notes.extend(self._sandbox.left(running.stay))

    async def _followed_to_its_end(self, running: Running) -> bool:
        """Follow a program as `_followed` does. If it did not end by itself, what has left its group is ended, too."""
        ended_itself = False
        try:
            timed_out = await self._followed(running)
            ended_itself = not timed_out
            return timed_out
        finally:
            if running.mark and not ended_itself:
                await asyncio.to_thread(end_marked, MARK, running.mark)

    async def _followed(self, running: Running) -> bool:
        """Follow a program to its end, or end it at a limit; return whether it exceeded the time limit."""
        if running.stay is None or self._sandbox is None:
            return await _follow(running.child, running.spec.timeout_s)
        holding = asyncio.create_task(hold(running.child.pid, self._sandbox.resources))
        looking = asyncio.create_task(_look_again(running.stay, running.spec))
        try:
            return await _follow(running.child, running.spec.timeout_s)
        finally:
            holding.cancel()
            looking.cancel()
            await asyncio.wait([holding, looking])
            if not holding.cancelled():
                running.notes.append(holding.result())

    def kill_all(self) -> None:
        """Send SIGKILL to every running group at once, and remove their shared files; for the daemon's exit."""
        for child in tuple(self._running):
            child.signal(signal.SIGKILL)
        for sandbox in self._sandboxes:
            sandbox.close()

    async def _confined(self, spec: ProcessSpec, undo: contextlib.ExitStack) -> tuple[tuple[str, ...], Stay | None]:
        """Return the command line, in the sandbox if required. Raises `ToolError` if that is not possible."""
        sandbox = self._sandbox
        if not (spec.sandboxed or spec.read_only) or sandbox is None or not spec.argv or not spec.cwd.is_dir():
            return spec.argv, None
        bwrap = self.find("bwrap")
        state = await sandbox.state(bwrap)
        if state.kind == "off" or (state.kind != "on" and not spec.sandboxed):
            return spec.argv, None
        if bwrap is None or state.kind != "on":
            raise ToolError(f"The command was not run because it would not be sandboxed. {state.reason}")
        if spec.read_only:
            return (*await asyncio.to_thread(sandbox.look, bwrap, spec.cwd, spec.read_only), *spec.argv), None
        entering = asyncio.ensure_future(asyncio.to_thread(sandbox.enter, bwrap, self.find("git"), spec.cwd))
        try:
            beginning, stay = await asyncio.shield(entering)
        except asyncio.CancelledError:
            entering.add_done_callback(lambda done: done.exception() or sandbox.left(done.result()[1]))
            raise
        except OSError as error:
            raise ToolError(f"The command was not run because the sandbox cannot be set up: {error}.") from None
        undo.callback(sandbox.left, stay)
        return (*beginning, *spec.argv), stay


async def _look_again(stay: Stay, spec: ProcessSpec) -> None:
    """Check repeatedly for files left by a command that runs on; others are checked when they end, since a test may
    create and remove a repository that would run something.
    """
    while math.isinf(spec.timeout_s):
        await asyncio.sleep(LOOK_AGAIN_S)
        await asyncio.to_thread(stay.look)


def _nowhere(_path: Path) -> bool:
    return False


def processes_in(folder: Path) -> LocalProcesses:
    """Return the processes of a command run in a folder, without a sandbox. Programs are not searched for in that
    folder.
    """
    return LocalProcesses(Sandbox(SandboxOptions(mode="off"), lambda: [folder.resolve()]))


async def _follow(child: Child, timeout_s: float) -> bool:
    """Follow the program to its end, or end it; return whether it exceeded the time limit."""
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            await child.follow()
    except TimeoutError:
        if not limit.expired():
            raise  # raised by on_output
        return True
    finally:
        await child.end()
    return False
