"""The shell tool runs a command, passes its output on as it comes, and tells how it ended."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest

from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.shell.command import MAX_OUTPUT_CHARS, shell_tool
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.tools.tool_bench import Bench
from tests.workspace.programs import UP, OnceUp


@pytest.fixture
def shell() -> Tool:
    return shell_tool(30)


async def test_output_of_both_streams_and_the_exit_code_are_told(bench: Bench, shell: Tool) -> None:
    result = await bench.call(shell, command="echo hel''lo; echo oops >&2; exit $((40 + 3))")

    assert result == "hello\noops\n[exit code 43]"


async def test_output_is_passed_on_while_the_command_runs(bench: Bench, shell: Tool) -> None:
    task = asyncio.create_task(
        bench.call(shell, command="echo started; until [ -e go ]; do sleep 0.01; done; echo done")
    )
    async with asyncio.timeout(10):
        await bench.heard.wait()
        running = not task.done()
        bench.write("go")
        result = await task

    assert running
    assert "".join(bench.reported) == "started\ndone\n"
    assert re.fullmatch(r"started\ndone\n\[exit code 0(; \d+\.\d s)?\]", result)


async def test_a_command_that_writes_nothing_says_so(bench: Bench, shell: Tool) -> None:
    assert await bench.call(shell, command="true") == "(no output)\n[exit code 0]"


async def test_it_runs_in_the_workspace_folder_or_in_the_one_that_is_named(bench: Bench, shell: Tool) -> None:
    bench.write("src/a.py")

    assert await bench.call(shell, command="pwd") == f"{bench.folder}\n[exit code 0]"
    assert await bench.call(shell, command="pwd", cwd="src") == f"{bench.folder}/src\n[exit code 0]"
    with pytest.raises(OutsideWorkspaceError):
        await bench.call(shell, command="pwd", cwd="..")
    with pytest.raises(ToolError, match="no such folder"):
        await bench.call(shell, command="pwd", cwd="src/a.py")


async def test_without_a_workspace_folder_it_runs_where_the_daemon_does(shell: Tool) -> None:
    assert await Bench().call(shell, command="pwd") == f"{Path.cwd()}\n[exit code 0]"


async def test_a_command_that_takes_too_long_is_ended_and_what_it_wrote_is_told(bench: Bench) -> None:
    bench.processes = OnceUp()
    result = await bench.call(shell_tool(0.2), command=f"echo begun; {UP}; sleep 60; echo never")

    assert result == (
        "begun\n[timed out: stopped after 0.2 s, before it was done; set timeout_s if it needs longer, and do "
        "not start commands that never end]"
    )


async def test_a_call_may_set_its_own_time(bench: Bench, shell: Tool) -> None:
    result = await bench.call(shell, command="sleep 60", timeout_s=0.1)

    assert result.startswith("(no output)\n[timed out: stopped after 0.1 s")
    with pytest.raises(ToolError, match="timeout_s"):
        await bench.call(shell, command="true", timeout_s=0)


async def test_a_command_that_takes_long_has_its_duration_told(bench: Bench, shell: Tool) -> None:
    assert re.fullmatch(r"\(no output\)\n\[exit code 0; \d+\.\d s\]", await bench.call(shell, command="sleep 1"))


async def test_a_signal_is_told_as_one(bench: Bench, shell: Tool) -> None:
    assert await bench.call(shell, command="kill -KILL $$") == "(no output)\n[ended by signal 9]"


async def test_long_output_keeps_its_head_and_tail_and_the_rest_is_counted(bench: Bench, shell: Tool) -> None:
    result = await bench.call(shell, command="seq -f 'line %08.0f' 1 100000")

    n_chars = 14 * 100_000
    assert result.startswith("line 00000001\n")
    assert f"line 00100000\n[exit code 0; {n_chars - MAX_OUTPUT_CHARS} characters in the middle of the output" in result
    assert len(result) < MAX_OUTPUT_CHARS + 500


async def test_a_cancelled_command_leaves_no_process(bench: Bench, shell: Tool) -> None:
    os.mkfifo(bench.folder / "alive")
    reading_end = os.open(bench.folder / "alive", os.O_RDONLY | os.O_NONBLOCK)
    task = asyncio.create_task(bench.call(shell, command="exec 9> alive; sleep 60 & echo started; sleep 60"))
    async with asyncio.timeout(10):
        await bench.heard.wait()
        with pytest.raises(BlockingIOError):  # held open by somebody
            os.read(reading_end, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert os.read(reading_end, 1) == b""
    os.close(reading_end)


async def test_there_is_no_standard_input(bench: Bench, shell: Tool) -> None:
    assert await bench.call(shell, command="cat") == "(no output)\n[exit code 0]"


async def test_sh_is_used_where_there_is_no_bash(bench: Bench, shell: Tool) -> None:
    bench.processes = ProcessesWithout("bash")
    assert await bench.call(shell, command='echo "${BASH_VERSION-none}"') == "none\n[exit code 0]"

    bench.processes = ProcessesWithout("bash", "sh")
    with pytest.raises(ToolError, match="Neither bash nor sh"):
        await bench.call(shell, command="true")


@pytest.mark.parametrize(
    "command", ["echo a &>/dev/null touch z", "((touch z))", "echo $'\\'; touch z; '", "[[ a || touch z ]]"]
)
async def test_without_bash_no_line_is_run_that_sh_may_read_otherwise(bench: Bench, shell: Tool, command: str) -> None:
    bench.processes = ProcessesWithout("bash")
    with pytest.raises(ToolError, match="Write it for POSIX sh"):
        await bench.call(shell, command=command)


class ProcessesWithout(LocalProcesses):
    """A machine where some programs are not installed."""

    def __init__(self, *missing: str) -> None:
        super().__init__()
        self._missing = missing

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        return None if program in self._missing else super().find(program)


def test_the_model_is_told_the_time_that_a_command_has() -> None:
    assert shell_tool(120).definition.description.endswith("It is stopped after 120 s unless timeout_s says otherwise.")


async def test_the_folder_of_a_call_is_part_of_what_the_user_is_asked(bench: Bench) -> None:
    shell = shell_tool(10.0)
    assert shell.action_for({"command": "rm -rf *", "cwd": "sub dir"}) == "cd 'sub dir' && rm -rf *"
    assert shell.title_for({"command": "ls", "cwd": "."}) == "ls"


async def test_it_runs_in_the_folder_of_the_session(bench: Bench) -> None:
    bench.write("sub/here.txt")
    bench.context.working_directory = bench.folder / "sub"
    result = await shell_tool(10.0).run(bench.context, command="ls")
    assert isinstance(result, str)
    assert "here.txt" in result
