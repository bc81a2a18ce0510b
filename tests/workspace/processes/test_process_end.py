"""How child processes end: in time, with their group, and with nothing lost. All of them are real."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import time
from pathlib import Path

import pytest

from pygent_ls.agent.ports.processes import Processes
from pygent_ls.workspace.processes.child import TERMINATE_S
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.workspace.programs import LIMIT_S, UP, Listener, OnceUp, python, runs, shell


@pytest.fixture
def processes() -> Processes:
    """The real ones, behind the port."""
    return LocalProcesses()


async def test_a_program_that_takes_too_long_is_asked_to_end_and_its_last_words_are_kept(tmp_path: Path) -> None:
    command = f"trap 'echo bye; exit 7' TERM; echo hello; {UP}; while :; do sleep 0.01; done"

    result = await OnceUp().run(shell(command, tmp_path, timeout_s=0.1))

    assert (result.stdout, result.exit_code, result.timed_out) == ("hello\nbye\n", 7, True)


STUBBORN = """
trap '' TERM
sh -c 'trap "" TERM; echo "$$"; while :; do sleep 0.05; done' &
wait
"""


async def test_a_group_that_ignores_the_request_is_killed_after_two_seconds(tmp_path: Path) -> None:
    command = STUBBORN.replace('echo "$$"', f'echo "$$"; {UP}')

    result = await OnceUp().run(shell(command, tmp_path, timeout_s=0.1))

    assert result.timed_out
    assert result.exit_code == -signal.SIGKILL
    assert result.duration_s > TERMINATE_S
    assert not runs(int(result.stdout))


async def test_a_cancel_ends_the_whole_group(processes: Processes, tmp_path: Path) -> None:
    listener = Listener()
    command = "trap 'touch asked; exit' TERM; echo $$; sleep 100 & echo $!; wait"
    task = asyncio.create_task(processes.run(shell(command, tmp_path), listener))
    pids = [int(line) for line in (await listener.until("\n", times=2)).split()]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (tmp_path / "asked").exists()
    assert not any(map(runs, pids))


async def test_a_cancel_kills_those_who_ignore_it_and_a_second_cancel_at_once(
    processes: Processes, tmp_path: Path
) -> None:
    for n_cancels in (1, 2):
        listener = Listener()
        task = asyncio.create_task(processes.run(shell(STUBBORN, tmp_path), listener))
        pid = int(await listener.until("\n"))
        started = time.monotonic()
        task.cancel()
        if n_cancels == 2:
            await asyncio.wait([task], timeout=0.1)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        duration_s = time.monotonic() - started

        assert not runs(pid)
        assert (duration_s > TERMINATE_S) == (n_cancels == 1)


async def test_a_background_process_neither_holds_up_nor_outlives_the_program(
    processes: Processes, tmp_path: Path
) -> None:
    listener = Listener()

    result = await processes.run(shell("sleep 100 & echo $!", tmp_path), listener)

    assert (result.exit_code, result.timed_out) == (0, False)
    assert not runs(int(result.stdout))
    assert "".join(listener.pieces) == result.stdout


async def test_a_background_process_that_closed_its_outputs_is_ended_too(processes: Processes, tmp_path: Path) -> None:
    result = await processes.run(shell("sleep 100 >/dev/null 2>&1 & echo $!", tmp_path))

    assert not runs(int(result.stdout))


async def test_a_background_process_may_write_on_for_a_moment(processes: Processes, tmp_path: Path) -> None:
    result = await processes.run(shell("(sleep 0.1; echo late) & echo early", tmp_path))

    assert result.stdout == "early\nlate\n"


async def test_a_process_that_left_the_group_with_the_pipe_does_not_hold_up(
    processes: Processes, tmp_path: Path
) -> None:
    script = """
import os
from pathlib import Path
if (pid := os.fork()) == 0:
    os.setsid()
    while True:
        os.write(1, b"x" * 1000)
Path("pid").write_text(str(pid))
"""
    result = await processes.run(python(script, tmp_path))
    pid = int((tmp_path / "pid").read_text())
    try:
        assert (result.exit_code, result.timed_out) == (0, False)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


HIDDEN = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(1, b"%d\\n" % os.getpid())
            time.sleep(100)
        os._exit(0)
time.sleep(100)
"""


@pytest.mark.parametrize("way", ["cancel", "time limit"])
async def test_what_left_the_group_ends_with_a_program_that_did_not_end_itself(
    processes: Processes, tmp_path: Path, way: str
) -> None:
    listener = Listener()
    spec = python(HIDDEN, tmp_path, timeout_s=3 if way == "time limit" else LIMIT_S)
    task = asyncio.create_task(processes.run(spec, listener))
    pids = [int(line) for line in (await listener.until("\n", times=20)).split()]
    if way == "cancel":
        task.cancel()
    await asyncio.wait([task], timeout=LIMIT_S)

    assert not any(map(runs, pids))


TIDIES_UP = """
import os, signal, sys, time
from pathlib import Path
if os.fork():
    time.sleep(100)
os.setsid()
def tidy(number, frame):
    Path("tidied").touch()
    sys.exit()
signal.signal(signal.SIGTERM, tidy)
os.write(1, b"%d\\n" % os.getpid())
time.sleep(100)
"""


async def test_what_left_the_group_is_asked_to_end_first(processes: Processes, tmp_path: Path) -> None:
    listener = Listener()
    task = asyncio.create_task(processes.run(python(TIDIES_UP, tmp_path), listener))
    pid = int(await listener.until("\n"))
    task.cancel()
    await asyncio.wait([task], timeout=LIMIT_S)

    assert (tmp_path / "tidied").exists()
    assert not runs(pid)


async def test_what_left_the_group_and_ignores_the_request_is_killed(processes: Processes, tmp_path: Path) -> None:
    listener = Listener()
    command = f"setsid sh -c {shlex.quote(STUBBORN)} & wait"
    task = asyncio.create_task(processes.run(shell(command, tmp_path), listener))
    pid = int(await listener.until("\n"))
    task.cancel()
    await asyncio.wait([task], timeout=LIMIT_S)

    assert not runs(pid)


BECOMES_ANOTHER = 'setsid sh -c \'echo $$; exec sh -c "$0" "$0"\' \'exec sh -c "$0" "$0"\' & wait'
"""Leaves the group, and replaces itself with another program all the time."""


async def test_what_is_replacing_itself_with_another_program_is_found(processes: Processes, tmp_path: Path) -> None:
    for _ in range(20):
        listener = Listener()
        task = asyncio.create_task(processes.run(shell(BECOMES_ANOTHER, tmp_path), listener))
        pid = int(await listener.until("\n"))
        task.cancel()
        await asyncio.wait([task], timeout=LIMIT_S)
        found = runs(pid)
        if found:
            os.kill(pid, signal.SIGKILL)

        assert not found


LEAVES_ONE_BEHIND = """
import os, time
reading, writing = os.pipe()
if (pid := os.fork()) == 0:
    os.setsid()
    os.write(writing, b"x")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    os.dup2(1, 2)
    time.sleep(100)
os.read(reading, 1)
print(pid)
"""


async def test_what_left_the_group_of_a_program_that_ended_itself_goes_on(processes: Processes, tmp_path: Path) -> None:
    result = await processes.run(python(LEAVES_ONE_BEHIND, tmp_path))
    pid = int(result.stdout)
    try:
        assert (result.exit_code, runs(pid)) == (0, True)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def test_nothing_is_lost_when_the_listener_is_slow_and_the_program_has_gone(
    processes: Processes, tmp_path: Path
) -> None:
    pieces: list[str] = []
    never = asyncio.Event()

    async def listen_slowly(text: str) -> None:
        pieces.append(text)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(never.wait(), timeout=0.7)  # longer than others may hold the pipe

    result = await processes.run(python("import os; os.write(1, b'x' * 130_000)", tmp_path), listen_slowly)

    assert result.stdout == "x" * 130_000
    assert "".join(pieces) == result.stdout


async def test_an_error_of_the_listener_ends_the_program_and_is_passed_on(processes: Processes, tmp_path: Path) -> None:
    pids: list[int] = []

    async def break_down(text: str) -> None:
        pids.append(int(text))
        raise TimeoutError("the listener's own")

    with pytest.raises(TimeoutError, match="the listener's own"):
        await processes.run(shell("echo $$; sleep 100", tmp_path), break_down)

    assert not any(map(runs, pids))


async def test_kill_all_ends_every_group_at_once(tmp_path: Path) -> None:
    processes = LocalProcesses()
    listeners = [Listener() for _ in range(3)]
    tasks = [asyncio.create_task(processes.run(shell(STUBBORN, tmp_path), listener)) for listener in listeners]
    pids = [int(await listener.until("\n")) for listener in listeners]

    processes.kill_all()

    results = await asyncio.wait_for(asyncio.gather(*tasks), LIMIT_S)
    assert [result.exit_code for result in results] == [-signal.SIGKILL] * 3
    assert not any(map(runs, pids))
    processes.kill_all()


async def test_many_programs_at_once_leave_no_descriptor_behind(processes: Processes, tmp_path: Path) -> None:
    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    await processes.run(shell("true", tmp_path))
    before = descriptors()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(processes.run(shell(f"echo {number}", tmp_path))) for number in range(40)]

    assert [task.result().stdout for task in tasks] == [f"{number}\n" for number in range(40)]
    assert descriptors() <= before
