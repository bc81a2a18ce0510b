"""Commands in a container and on a host: the same promises as here. podman and OpenSSH are real."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.remote.remote_processes import LOST, RemoteProcesses
from tests.workspace.processes.remote.places import Place, becomes, kill, living
from tests.workspace.programs import LIMIT_S, Listener, shell

_SECONDS = count(os.getpid() * 1000 + 100_000_000)


@pytest.fixture
def sleep() -> str:
    """A command that does not end, with words that no other has."""
    return f"sleep {next(_SECONDS)}"


@pytest.fixture
def processes(place: Place) -> RemoteProcesses:
    return place.processes()


async def none_lives(words: str) -> bool:
    """Whether all that have this command line are gone, at the latest after a while."""
    return await asyncio.to_thread(becomes, lambda: not living(words))


async def lives(words: str, number: int) -> bool:
    return await asyncio.to_thread(becomes, lambda: len(living(words)) >= number)


async def test_outputs_and_exit_code_are_told_apart(processes: RemoteProcesses, place: Place) -> None:
    result = await processes.run(shell("echo out; echo err >&2; pwd; exit 3", place.here))

    assert (result.exit_code, result.stdout, result.stderr) == (3, f"out\n{place.there}\n", "err\n")
    assert (result.omitted_chars, result.timed_out) == (0, False)


async def test_with_a_listener_both_outputs_are_one_in_order(processes: RemoteProcesses, place: Place) -> None:
    listener = Listener()
    script = "n=0; while [ $n -lt 100 ]; do echo $n; n=$((n+1)); echo $n >&2; n=$((n+1)); done"

    result = await processes.run(shell(script, place.here), listener)

    assert result.stdout == "".join(f"{number}\n" for number in range(100))
    assert "".join(listener.pieces) == result.stdout


async def test_output_is_passed_on_as_it_comes(processes: RemoteProcesses, place: Place) -> None:
    listener = Listener()
    running = asyncio.create_task(processes.run(shell("echo one; cat gate; echo two", place.here), listener))
    gate = place.here / "gate"
    os.mkfifo(gate)
    try:
        assert await listener.until("one\n") == "one\n"
        await asyncio.to_thread(gate.write_text, "")
        assert (await running).stdout == "one\ntwo\n"
    finally:
        gate.unlink()


async def test_a_long_output_keeps_its_head_and_its_tail(processes: RemoteProcesses, place: Place) -> None:
    result = await processes.run(shell("head -c 100000 /dev/zero | cat; echo end", place.here, max_output_chars=100))

    assert result.omitted_chars == 100_004 - 100
    assert result.stdout.endswith("end\n")


async def test_there_is_no_input_but_what_is_given(processes: RemoteProcesses, place: Place) -> None:
    data = b"x" * 300_000

    assert (await processes.run(replace(shell("wc -c", place.here), stdin_bytes=data))).stdout.strip() == "300000"
    assert (await processes.run(replace(shell("exit 4", place.here), stdin_bytes=data))).exit_code == 4
    assert (await processes.run(shell("cat; echo end", place.here))).stdout == "end\n"


async def test_variables_of_the_call_go_there_and_those_of_this_machine_do_not(
    processes: RemoteProcesses, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-this-machine")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/of-this-machine")
    spec = replace(shell("env", place.here), env={"GIVEN": "it's $HOME `id` \\\n here"}, was_allowed=True)

    said = (await processes.run(spec)).stdout

    assert "GIVEN=it's $HOME `id` \\\n here\n" in said
    assert "PAGER=cat\n" in said
    assert "of-this-machine" not in said


async def test_at_the_time_limit_everything_that_it_started_is_ended(
    processes: RemoteProcesses, place: Place, sleep: str
) -> None:
    command = f"echo out; setsid {sleep} & {sleep} & {sleep}"

    result = await processes.run(shell(command, place.here, timeout_s=1.5), Listener())

    assert (result.timed_out, result.stdout) == (True, "out\n")
    assert await none_lives(sleep)


async def test_a_cancelled_command_is_gone_with_all_its_processes(
    processes: RemoteProcesses, place: Place, sleep: str
) -> None:
    command = f"trap '' TERM; setsid {sleep} & {sleep} & {sleep}; {sleep}"
    running = asyncio.create_task(processes.run(shell(command, place.here), Listener()))
    assert await lives(sleep, 3)

    running.cancel()
    await asyncio.wait([running])

    assert running.cancelled()
    assert living(sleep) == {}


async def test_what_it_leaves_behind_in_its_group_is_ended(
    processes: RemoteProcesses, place: Place, sleep: str
) -> None:
    result = await processes.run(shell(f"{sleep} & echo out", place.here))

    assert (result.exit_code, result.stdout) == (0, "out\n")
    assert await none_lives(sleep)


DAEMON = """
import asyncio, sys
from pathlib import Path
from tests.workspace.processes.remote.places import Place
from tests.workspace.programs import shell

place = Place(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), "", sys.argv[4])
asyncio.run(place.processes().run(shell(sys.argv[5], place.here)))
"""


def daemon_that_runs(*given: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", DAEMON, *given], cwd=Path(__file__).parents[4])


async def test_a_command_ends_with_a_daemon_that_is_killed(place: Place, sleep: str) -> None:
    given = (place.commands, str(place.programs), str(place.here), place.folder, f"setsid {sleep} & {sleep}")
    daemon = daemon_that_runs(*given)
    try:
        assert await lives(sleep, 2)
    finally:
        daemon.kill()
        daemon.wait(LIMIT_S)

    assert await none_lives(sleep)


async def test_a_connection_that_breaks_is_said(processes: RemoteProcesses, place: Place, sleep: str) -> None:
    listener = Listener()
    command = f"echo out; {sleep}"
    running = asyncio.create_task(processes.run(shell(command, place.here), listener))
    await listener.until("out\n")
    for each in clients(place.commands.partition(":")[0]):
        kill(each)

    result = await running

    assert result.exit_code == LOST
    assert result.stdout.startswith("out\n\n[the connection broke: the command ran ")
    assert await none_lives(sleep)
    assert (await processes.run(shell("echo again", place.here))).stdout == "again\n"


def clients(program: str) -> Sequence[int]:
    """The clients that this process has started and that run."""
    found: list[int] = []
    for each in Path("/proc").iterdir():
        try:
            status = (each / "stat").read_text().rpartition(")")[2].split()
            name = (each / "comm").read_text().strip()
        except OSError:
            continue
        if name == program and int(status[1]) == os.getpid() and status[0] != "Z":
            found.append(int(each.name))
    return found


async def test_a_background_command_is_written_to_listed_and_ended(
    processes: RemoteProcesses, place: Place, sleep: str
) -> None:
    background = processes.background
    command = f"while read line; do echo got $line; done; {sleep}"
    name = await background.start("session", shell(f"{sleep} & {command}", place.here))
    try:
        await background.write("session", name, "one\n")
        async with asyncio.timeout(LIMIT_S):
            said = ""
            while "got one\n" not in said:
                said += (await background.read("session", name, 0.1)).output
        assert [each.name for each in await background.listed("session") if each.runs] == [name]
        ended = await background.end("session", name)
        assert not ended.runs
        assert await none_lives(sleep)
    finally:
        await background.end_all("session")


async def test_a_background_command_that_reads_nothing_runs_on(
    processes: RemoteProcesses, place: Place, sleep: str
) -> None:
    background = processes.background
    name = await background.start("session", shell(f"exec <&-; {sleep}", place.here))
    try:
        assert await lives(sleep, 1)
        await background.write("session", name, "one\n" * 10)
        assert (await background.read("session", name, 0.5)).runs
    finally:
        await background.end_all("session")
    assert await none_lives(sleep)


async def test_a_folder_that_is_not_there_is_refused(processes: RemoteProcesses, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"does not exist (in the container|on) .*remote.folder"):
        await processes.run(shell("pwd", tmp_path))


async def test_a_folder_below_the_workspace_is_there(processes: RemoteProcesses, place: Place) -> None:
    below = place.here / "$(touch here) it's\nbelow"
    below.mkdir(exist_ok=True)

    assert (await processes.run(shell("pwd; touch made", below))).stdout == f"{place.there}/{below.name}\n"
    assert (below / "made").exists()
    assert not (place.here / "here").exists()


async def test_a_program_that_is_missing_there_is_said(processes: RemoteProcesses, place: Place) -> None:
    spec = ProcessSpec(argv=("no-such-program",), cwd=place.here, timeout_s=LIMIT_S)

    result = await processes.run(spec)

    assert result.exit_code == 127
    assert "no-such-program" in result.stderr


async def test_bash_is_found_where_it_is(processes: RemoteProcesses, place: Place) -> None:
    state = await processes.sandbox()

    assert (state.kind, state.place) == ("off", processes.place)
    assert processes.find("bash") == ("bash" if place.commands.startswith("ssh") else None)
    assert processes.find("sh") == "sh"


async def test_what_leads_there_must_be_installed(
    processes: RemoteProcesses, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ToolError, match=f"{place.commands.partition(':')[0]} is not installed on this machine"):
        await processes.sandbox()


@settings(max_examples=settings().max_examples // 3)
@given(arguments=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"))))
def test_no_argument_is_taken_for_anything_else(place: Place, arguments: list[str]) -> None:
    argv = ("sh", "-c", 'for each; do printf "%s|" "$each"; done', "sh", *arguments)
    result = asyncio.run(place.processes().run(ProcessSpec(argv=argv, cwd=place.here, timeout_s=LIMIT_S)))

    assert result.stdout == "".join(f"{each}|" for each in arguments)
