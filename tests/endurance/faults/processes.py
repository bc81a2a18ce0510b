"""Commands that start many programs, hide them, do not end, or write without an end. All of them are bounded."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

from tests.endurance.editor import let_pass
from tests.endurance.faults.stage import Stage, stage
from tests.model_server import Call, Step

MARK = "PYGENT_ENDURANCE_MARK"
GONE_S = 20.0

N_SLEEPERS = 200

BOMB = """
import os, sys, time
for _ in range({n}):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(120)
            os._exit(0)
    except OSError as error:
        print(error, flush=True)
        break
print("started", flush=True)
time.sleep(120)
"""

KEEPS_FORKING = """
import os, resource, time
print("started", flush=True)
ends = time.monotonic() + 60
n = 0
while time.monotonic() < ends and n < 2000:
    n += 1
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.2)
        if os.fork():
            os._exit(0)
        time.sleep(0.2)
        os._exit(0)
    time.sleep(0.002)
time.sleep(60)
"""


def marked(mark: str) -> list[int]:
    """Processes that inherited a mark in their environment."""
    found: list[int] = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            try:
                if f"{MARK}={mark}".encode() in (each / "environ").read_bytes().split(b"\0"):
                    found.append(int(each.name))
            except OSError:
                continue
    return found


async def gone(mark: str) -> None:
    """Wait until no process has the mark."""
    ends_s = monotonic() + GONE_S
    while left := marked(mark):
        if monotonic() > ends_s:
            for pid in left:
                os.kill(pid, 9)
            raise AssertionError(f"{len(left)} processes are left")
        await let_pass(0.1)


def _command(root: Path, text: str) -> str:
    (root / "work.py").write_text(text)
    return f"{MARK}={root.name} python3 {root}/work.py"


async def _cancelled(here: Stage, command: str, mark: str, n_processes: int = 1) -> None:
    turn = here.begin(Step(calls=(Call(name="shell", arguments={"command": command}),)))
    await turn.until("tool_progress")
    assert len(marked(mark)) >= n_processes, turn.of("tool_progress")
    await here.answers_within(5)
    await turn.cancel()
    assert turn.result["stopReason"] == "cancelled", turn.result
    await gone(mark)
    await here.goes_on()


async def many_hidden_sleepers_are_cancelled(root: Path) -> None:
    """200 programs in sessions of their own, without a parent, end with the turn."""
    async with stage(root) as here:
        await _cancelled(here, _command(root, BOMB.format(n=N_SLEEPERS)), root.name, N_SLEEPERS // 2)


async def many_hidden_sleepers_run_out_of_time(root: Path) -> None:
    """The same programs end when the command's time is over."""
    async with stage(root) as here:
        said = await here.tool("shell", command=_command(root, BOMB.format(n=N_SLEEPERS)), timeout_s=3)
        assert "started" in said, said
        assert "timed out" in said, said
        await gone(root.name)
        await here.goes_on()


async def a_command_that_keeps_forking(root: Path) -> None:
    """The command ends, however fast it starts new programs."""
    async with stage(root) as here:
        await _cancelled(here, _command(root, KEEPS_FORKING), root.name)


async def a_daemon_is_killed_with_sleepers(root: Path) -> None:
    """What the daemon started ends with it, even if it is killed."""
    async with stage(root) as here:
        command = f"{MARK}={root.name} sh -c 'sleep 120 & sleep 120 & echo begun; wait'"
        turn = here.begin(Step(calls=(Call(name="shell", arguments={"command": command}),)))
        await turn.until("tool_progress")
        assert len(marked(root.name)) > 1
        here.daemon.kill()
        await here.daemon.wait()
        await gone(root.name)


async def ignores_its_end(root: Path) -> None:
    """A command that ignores SIGTERM and SIGINT."""
    async with stage(root) as here:
        command = f"{MARK}={root.name} sh -c 'trap \"\" TERM INT HUP; echo begun; while :; do sleep 1; done'"
        await _cancelled(here, command, root.name)


async def closes_its_output(root: Path) -> None:
    """A command that closes its output and goes on."""
    async with stage(root) as here:
        began_s = monotonic()
        command = f"{MARK}={root.name} sh -c 'echo begun; exec >&- 2>&-; sleep 60'"
        said = await here.tool("shell", command=command, timeout_s=3)
        assert "timed out" in said, said
        assert monotonic() - began_s < 30
        await gone(root.name)
        await here.goes_on()


async def fills_the_pipe(root: Path) -> None:
    """A command that writes as fast as it can, for its whole time: little is held."""
    async with stage(root) as here:
        await here.goes_on()
        before_bytes = here.daemon.resident_bytes()
        asked = here.begin(
            Step(calls=(Call(name="shell", arguments={"command": f"{MARK}={root.name} yes", "timeout_s": 4}),)),
            Step(text="Done."),
        )
        await asked.until("tool_progress")
        await here.answers_within(5)
        await asked.end()
        assert asked.result["stopReason"] == "end_turn", asked.result
        grown = here.daemon.resident_bytes() - before_bytes
        assert grown < 150e6, f"grown by {grown / 1e6:.0f} MB"
        await gone(root.name)
        await here.goes_on()


async def daemonizes_in_the_sandbox(root: Path) -> None:
    """A command that leaves a program behind and ends: the program ends with it."""
    async with stage(root, settings={"PYGENT_SANDBOX": "require"}) as here:
        command = f"{MARK}={root.name} sh -c '(setsid sleep 90 >/dev/null 2>&1 &) ; echo done'"
        said = await here.tool("shell", command=command)
        assert "done" in said, said
        await gone(root.name)
        await here.goes_on()


FAULTS = (many_hidden_sleepers_are_cancelled, ignores_its_end)
LONG = (
    many_hidden_sleepers_run_out_of_time,
    a_command_that_keeps_forking,
    a_daemon_is_killed_with_sleepers,
    closes_its_output,
    fills_the_pipe,
    daemonizes_in_the_sandbox,
)
