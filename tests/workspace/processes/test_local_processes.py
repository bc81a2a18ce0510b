"""Child processes: what they write, and that nothing of them is left. All of them are real."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.ports.processes import Processes, ProcessSpec
from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.workspace.programs import LIMIT_S, Listener, python, shell


@pytest.fixture
def processes() -> Processes:
    """The real ones, behind the port."""
    return LocalProcesses()


async def test_outputs_and_exit_code_are_told_apart(processes: Processes, tmp_path: Path) -> None:
    result = await processes.run(shell("echo out; echo err >&2; pwd; exit 3", tmp_path))

    assert (result.exit_code, result.stdout, result.stderr) == (3, f"out\n{tmp_path}\n", "err\n")
    assert (result.omitted_chars, result.timed_out) == (0, False)
    assert 0 < result.duration_s < LIMIT_S


async def test_with_a_listener_both_outputs_are_one_in_order(processes: Processes, tmp_path: Path) -> None:
    listener = Listener()
    script = "import os\nfor n in range(200): os.write(1 + n % 2, b'%d\\n' % n)"

    result = await processes.run(python(script, tmp_path), listener)

    assert result.stdout == "".join(f"{number}\n" for number in range(200))
    assert result.stderr == ""
    assert "".join(listener.pieces) == result.stdout


async def test_errors_that_are_kept_apart_do_not_reach_the_listener(processes: Processes, tmp_path: Path) -> None:
    listener = Listener()
    spec = replace(shell("echo out; echo err >&2; echo more", tmp_path), errors_apart=True)

    result = await processes.run(spec, listener)

    assert (result.stdout, result.stderr) == ("out\nmore\n", "err\n")
    assert "".join(listener.pieces) == "out\nmore\n"


async def test_a_program_waits_a_moment_for_descriptors_that_others_use(processes: Processes, tmp_path: Path) -> None:
    await processes.run(shell("true", tmp_path))  # what is started with the first program is there
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    asyncio.get_running_loop().call_later(0.02, resource.setrlimit, resource.RLIMIT_NOFILE, usual)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, usual[1]))

    result = await processes.run(shell("echo out", tmp_path))

    assert result.stdout == "out\n"


async def test_without_any_descriptor_it_is_said_what_would_work(processes: Processes, tmp_path: Path) -> None:
    await processes.run(shell("true", tmp_path))
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, usual[1]))
    try:
        with pytest.raises(ToolError, match="pygent-ls cannot open more files"):
            await processes.run(shell("echo out", tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)


async def test_a_signal_is_a_negative_exit_code(processes: Processes, tmp_path: Path) -> None:
    assert (await processes.run(shell("kill -SEGV $$", tmp_path))).exit_code == -signal.SIGSEGV


async def test_there_is_no_input_no_terminal_and_no_pager(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_DAEMON", "kept")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PAGER", "less")
    command = "cat; echo $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $FROM_DAEMON $NO_COLOR $ADDED; cat 2>&- </dev/tty"
    spec = ProcessSpec(argv=("sh", "-c", command), cwd=tmp_path, timeout_s=LIMIT_S, env={"ADDED": "too"})

    result = await processes.run(spec)

    assert result.stdout == "cat cat 0 kept 1 too\n"
    assert result.exit_code != 0


async def test_a_program_reads_what_it_is_given_and_then_the_end(processes: Processes, tmp_path: Path) -> None:
    given = b"line\n" * 100_000  # more than a pipe holds
    spec = ProcessSpec(argv=("wc", "-c"), cwd=tmp_path, timeout_s=LIMIT_S, stdin_bytes=given)
    ignoring = ProcessSpec(argv=("true",), cwd=tmp_path, timeout_s=LIMIT_S, stdin_bytes=given)

    assert int((await processes.run(spec)).stdout) == len(given)
    assert (await processes.run(ignoring)).exit_code == 0


async def test_the_environment_of_a_call_wins(processes: Processes, tmp_path: Path) -> None:
    spec = ProcessSpec(argv=("sh", "-c", "echo $PAGER"), cwd=tmp_path, timeout_s=LIMIT_S, env={"PAGER": "own"})

    assert (await processes.run(spec)).stdout == "own\n"


async def test_a_make_that_started_the_daemon_is_not_inherited(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKEFLAGS", "-j2 --jobserver-auth=3,4")
    monkeypatch.setenv("MAKELEVEL", "1")

    result = await processes.run(shell('echo "${MAKEFLAGS-none} ${MAKELEVEL-none}"', tmp_path))

    assert result.stdout == "none none\n"


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ((), "the command is empty"),
        (("no-such-program-anywhere",), "the program was not found"),
        (("./plain.txt",), "not executable"),
        (("./unknown",), "Exec format error"),
        (("sh", "a\0b"), "contain an invalid character"),
        (("sh", "\ud800"), "contain an invalid character"),
        (("echo", "x" * 10_000_000), "list too long"),
    ],
)
async def test_a_program_that_cannot_be_started_is_a_clear_error(
    processes: Processes, tmp_path: Path, argv: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "plain.txt").write_text("x")
    (tmp_path / "unknown").write_bytes(b"\x01\x02")
    (tmp_path / "unknown").chmod(0o755)

    with pytest.raises(ToolError, match=problem):
        await processes.run(ProcessSpec(argv=argv, cwd=tmp_path, timeout_s=LIMIT_S))


async def test_a_folder_that_is_not_there_is_named(processes: Processes, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="gone: no such folder"):
        await processes.run(shell("true", tmp_path / "gone"))


@given(data=st.binary(max_size=200) | st.text(max_size=50).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_become_text(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "data").write_bytes(data)
    command = ProcessSpec(argv=("cat", "data"), cwd=tmp_path, timeout_s=LIMIT_S)

    assert asyncio.run(LocalProcesses().run(command)).stdout == data.decode("utf-8", "replace")


async def test_a_character_that_comes_in_two_parts_is_whole(processes: Processes, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    listener = Listener()
    script = "import os; os.write(1, b'a\\xf0\\x9f'); open('go').read(); os.write(1, b'\\x98\\x80b')"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(processes.run(python(script, tmp_path), listener))
        await listener.until("a")
        await asyncio.to_thread((tmp_path / "go").write_text, "go")

    assert running.result().stdout == "a😀b"
    assert "".join(listener.pieces) == "a😀b"


async def test_output_arrives_while_the_program_runs(processes: Processes, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "answer")
    listener = Listener()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(processes.run(shell("echo question; cat answer", tmp_path), listener))
        await listener.until("question\n")
        await asyncio.to_thread((tmp_path / "answer").write_text, "42")

    assert running.result().stdout == "question\n42"


FLOOD = """
import os, select, sys
os.set_blocking(1, False)
written = 0
while written < 50_000_000:
    try:
        written += os.write(1, b"x" * 65_536)
    except BlockingIOError:
        if not select.select([], [1], [], 0.5)[1]:
            break  # nobody has read anything for half a second
open(sys.argv[1], "w").write(str(written))
"""


async def test_a_slow_listener_slows_the_program(processes: Processes, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "written")
    n_written = 0

    async def read_slowly(text: str) -> None:
        nonlocal n_written
        if not n_written:
            n_written = int(await asyncio.to_thread((tmp_path / "written").read_text))

    result = await processes.run(python(FLOOD, tmp_path, str(tmp_path / "written")), read_slowly)

    assert 0 < n_written < 1_000_000
    assert len(result.stdout) + result.omitted_chars >= n_written


async def test_memory_is_bounded_whatever_is_printed(processes: Processes, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        result = await processes.run(shell("yes | head -c 20000000", tmp_path, max_output_chars=1_000))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert result.omitted_chars == 20_000_000 - 1_000
    half = "y\n" * 250
    assert result.stdout == f"{half}\n[… 19999000 characters left out …]\n{half}"
    assert peak_bytes < 3_000_000


def test_programs_are_found_on_absolute_paths_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = LocalProcesses()
    tool = tmp_path / "own-tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.chdir(tmp_path)

    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    assert processes.find("own-tool") is None
    assert Path(processes.find("sh") or "").is_absolute()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert processes.find("own-tool") == str(tool)
    assert processes.find("sh") is None


def test_ripgrep_is_the_systems_or_else_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = LocalProcesses()
    monkeypatch.setenv("PATH", str(tmp_path))
    own = processes.find("rg")
    assert own is not None
    assert Path(own).parent == Path(sys.executable).parent

    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    assert processes.find("rg") == str(tmp_path / "rg")
