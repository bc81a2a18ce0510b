"""What the daemon started ends with it, whatever way it ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.workspace.programs import LIMIT_S

DAEMON = """
import asyncio, sys
from pathlib import Path
from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.sandbox.sandbox import Sandbox, SandboxOptions

async def main(folder, mode, *commands):
    async def pass_on(text):
        (folder / "alive").write_text(text)

    processes = LocalProcesses(Sandbox(SandboxOptions(mode=mode), lambda: [folder]))
    async with asyncio.TaskGroup() as group:
        for command in commands:
            spec = ProcessSpec(argv=("sh", "-c", command), cwd=folder, timeout_s=60, sandboxed=True)
            group.create_task(processes.run(spec, pass_on))

asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
"""
"""What a command writes comes to the test through the daemon, which has told its watchdog of the command by then."""


class Alive:
    """A pipe that commands hold open; its end tells that none of them lives."""

    def __init__(self, folder: Path) -> None:
        os.mkfifo(folder / "alive")
        self._fd = os.open(folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
        self._said = b""

    def says(self, text: str, times: int = 1) -> None:
        """Wait until the commands have written that so often."""
        while self._said.count(text.encode()) < times:
            assert self._read()

    def ends(self) -> None:
        """Wait until the last of them is gone."""
        while self._read():
            pass

    def _read(self) -> bytes:
        ready, _, _ = select.select([self._fd], [], [], LIMIT_S)
        assert ready, f"nothing happened for {LIMIT_S} s; they said {self._said!r}"
        piece = os.read(self._fd, 1000)
        self._said += piece
        return piece

    def close(self) -> None:
        os.close(self._fd)


@pytest.fixture
def alive(tmp_path: Path) -> Generator[Alive]:
    made = Alive(tmp_path)
    yield made
    made.close()


@contextmanager
def daemon(folder: Path, mode: str, *commands: str) -> Generator[subprocess.Popen[bytes]]:
    """A process that runs these commands."""
    process = subprocess.Popen([sys.executable, "-c", DAEMON, str(folder), mode, *commands], start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait(LIMIT_S)


GRANDCHILDREN = "trap '' TERM; exec 9> alive; sh -c 'echo up; sleep 60; true' & sleep 60; true"


@pytest.mark.parametrize("mode", ["off", "require"])
def test_a_daemon_that_is_killed_leaves_no_process(tmp_path: Path, alive: Alive, mode: str) -> None:
    with daemon(tmp_path, mode, GRANDCHILDREN, GRANDCHILDREN) as process:
        alive.says("up\n", times=2)
        os.kill(process.pid, signal.SIGKILL)

        alive.ends()


def test_in_the_sandbox_not_even_a_process_of_another_session_outlives_a_killed_daemon(
    tmp_path: Path, alive: Alive
) -> None:
    command = "setsid sh -c 'exec 9> alive; echo up; sleep 60; true' & wait"
    with daemon(tmp_path, "require", command) as process:
        alive.says("up\n")
        os.kill(process.pid, signal.SIGKILL)

        alive.ends()


LOSES_ITS_WATCHDOG = """
import asyncio, os, sys
from pathlib import Path
from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.workspace.processes.local_processes import LocalProcesses

async def main(folder):
    async def pass_on(text):
        (folder / "alive").write_text(text)

    processes = LocalProcesses()
    # The watchdog is the only child that is not the shell itself.
    lose = f"cat /proc/{os.getpid()}/task/*/children | tr ' ' '\\n' | grep -vx $$ | xargs kill -9; echo done"
    for _ in range(3):
        for command in ("echo fine", lose):
            result = await processes.run(ProcessSpec(argv=("sh", "-c", command), cwd=folder, timeout_s=60))
            print(result.stdout, end="", flush=True)
    last = "trap '' TERM; exec 9> alive; echo up; sleep 60; true"
    await processes.run(ProcessSpec(argv=("sh", "-c", last), cwd=folder, timeout_s=60), pass_on)

asyncio.run(main(Path(sys.argv[1])))
"""
"""A process of its own: what it kills are all the children that it has."""


def test_what_ended_by_itself_is_not_killed_again_and_a_lost_watchdog_is_replaced(tmp_path: Path, alive: Alive) -> None:
    command = [sys.executable, "-c", LOSES_ITS_WATCHDOG, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            alive.says("up\n")
        finally:
            process.kill()

        assert process.stdout.read() == b"fine\ndone\n" * 3
        alive.ends()
