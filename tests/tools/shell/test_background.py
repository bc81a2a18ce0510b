"""Background commands: started, read, written to, ended; none outlives its session or the daemon. All are real."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator

import pytest

from pygent_ls.errors import ToolError
from pygent_ls.tools.shell.background import shell_input, shell_kill, shell_output
from pygent_ls.tools.shell.command import shell_tool
from pygent_ls.workspace.processes.background import MAX_RUNNING, MAX_UNREAD_CHARS
from tests.tools.tool_bench import Bench
from tests.workspace.programs import runs

SHELL = shell_tool(0.5)


@pytest.fixture(autouse=True)
async def session_that_ends(bench: Bench) -> AsyncGenerator[None]:
    yield
    await bench.processes.background.end_all("session-1")


async def start(bench: Bench, command: str) -> str:
    told = await bench.call(SHELL, command=command, background=True)
    found = re.fullmatch(r"Started in the background as (shell_\d+)\..*", told)
    assert found
    return found[1]


async def read_until(bench: Bench, shell_id: str, text: str) -> str:
    """All that it says until it has said this."""
    said = ""
    async with asyncio.timeout(20):
        while text not in said:
            said += await bench.call(shell_output, shell_id=shell_id, wait_s=0.05)
    return said


async def test_a_command_goes_on_after_its_call_and_is_read_piece_by_piece(bench: Bench) -> None:
    shell_id = await start(bench, "echo one; read line; echo got $line; sleep 0.6; exit 3")

    assert "one\n[still running]" in await read_until(bench, shell_id, "one")
    assert await bench.call(shell_output, shell_id=shell_id) == "(nothing new)\n[still running]"
    assert await bench.call(shell_input, shell_id=shell_id, text="plum\n") == f"Wrote 5 characters to {shell_id}."
    told = await bench.call(shell_output, shell_id=shell_id, wait_s=20)
    assert told == "got plum\n[exit code 3]", "longer than a call in the foreground may take"
    assert await bench.call(shell_output, shell_id=shell_id) == "(nothing new)\n[exit code 3]"


async def test_ending_one_ends_all_that_it_started(bench: Bench) -> None:
    shell_id = await start(bench, "sleep 100 & echo $! $$ up; wait")
    pids = [int(number) for number in (await read_until(bench, shell_id, "up")).split()[:2]]

    told = await bench.call(shell_kill, shell_id=shell_id)

    assert told == "(nothing new)\n[ended by signal 15]"
    assert not any(map(runs, pids))
    with pytest.raises(ToolError, match="has ended"):
        await bench.call(shell_input, shell_id=shell_id, text="x")


async def test_when_the_session_ends_its_commands_do_and_those_of_others_do_not(bench: Bench) -> None:
    os.mkfifo(bench.folder / "alive")
    reading_end = os.open(bench.folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
    shell_id = await start(bench, "exec 9> alive; sleep 100 & echo up; sleep 100")
    await read_until(bench, shell_id, "up")

    await bench.processes.background.end_all("another session")
    assert "still running" in await bench.call(shell_output, shell_id=shell_id)
    await bench.processes.background.end_all("session-1")

    assert os.read(reading_end, 1) == b""
    os.close(reading_end)
    with pytest.raises(ToolError, match="no background command"):
        await bench.call(shell_output, shell_id=shell_id)


async def test_what_is_not_read_is_bounded_and_counted(bench: Bench) -> None:
    shell_id = await start(bench, "head -c 1000000 /dev/zero | tr '\\0' x")

    told = await bench.call(shell_output, shell_id=shell_id, wait_s=20)

    assert len(told) < MAX_UNREAD_CHARS + 300
    assert f"[exit code 0; {1_000_000 - MAX_UNREAD_CHARS} characters in the middle were left out]" in told


async def test_input_that_nobody_takes_is_an_error(bench: Bench) -> None:
    closed = await start(bench, "exec <&-; echo closed; sleep 100")
    await read_until(bench, closed, "closed")

    with pytest.raises(ToolError, match="closed its input"):
        await bench.call(shell_input, shell_id=closed, text="x")
    deaf = await start(bench, "sleep 100")
    with pytest.raises(ToolError, match="does not read its input"):
        await bench.call(shell_input, shell_id=deaf, text="x" * 1_000_000)


async def test_there_is_an_end_to_how_many_run(bench: Bench) -> None:
    for _ in range(MAX_RUNNING):
        await start(bench, "sleep 100")

    with pytest.raises(ToolError, match="are already running"):
        await start(bench, "sleep 100")


async def test_no_descriptor_is_left_behind(bench: Bench) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count, not paths

    await bench.call(shell_kill, shell_id=await start(bench, "sleep 100"))
    before = count()
    for _ in range(5):
        await bench.call(shell_kill, shell_id=await start(bench, "sleep 100"))
    with pytest.raises(ToolError):
        await bench.call(SHELL, command="true", cwd="nowhere", background=True)

    assert count() == before
