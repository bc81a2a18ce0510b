"""How the daemon ends: orderly, with its editor, and with everything that it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.e2e.command_line import is_alive
from tests.e2e.raw import DAEMON, WAIT_S, RawClient, clean_environment, framed, raw_client

NOTHING: dict[str, Any] = {}

GONE_S = 10.0
"""Seconds between the editor's end and the daemon's: three, as the protocol says, and what a busy machine adds."""


def with_script(folder: Path, *lines: dict[str, Any]) -> dict[str, str]:
    path = folder.parent / "script.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"PYGENT_MODEL": f"scripted:{path}"}


def run_in_shell(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "input": {"command": command}}]}


STUBBORN = "trap '' TERM HUP INT; echo $$; sleep 300 & echo $!; while :; do sleep 1; done"
"""Programs that only SIGKILL ends, and a child of theirs."""


@pytest.fixture
def busy(folder: Path) -> Generator[tuple[RawClient, list[int]]]:
    """A daemon whose turn runs a program that does not want to end, and the program's processes."""
    environment = with_script(folder, run_in_shell(STUBBORN), {"text": "never"}) | {"PYGENT_PERSIST_SESSIONS": "false"}
    with raw_client(folder, environment=environment) as client:
        client.initialize(folder)
        client.begin(1, "pygent/turn/start", {"prompt": "go", "partialResultToken": "events"})
        asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow once"}})
        said = ""
        while len(said.split()) < 2:
            said = live_output(client)
            if len(said.split()) < 2:
                n_frames = len(client.frames)
                client.until(lambda frame, seen=n_frames: client.frames.index(frame) >= seen)
        yield client, [int(pid) for pid in said.split()]


def live_output(client: RawClient) -> str:
    values = [frame["params"]["value"] for frame in client.frames if frame.get("method") == "$/progress"]
    events = [event for value in values for event in value.get("events", ())]
    return "".join(event["content"] for event in events if event["type"] == "tool_progress")


# Orderly


def test_shutdown_and_exit_are_clean(folder: Path) -> None:
    with raw_client(folder, command=(*DAEMON, "--stdio"), may_be_warm=False) as client:
        client.initialize(folder)

        assert client.finish() == 0
        assert client.stderr == ""


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([], 1),
        ([("notification", "exit")], 1),
        ([("request", "initialize")], 1),
        ([("request", "initialize"), ("notification", "exit")], 1),
        ([("request", "initialize"), ("request", "shutdown")], 0),
    ],
    ids=["silence", "exit", "initialize", "initialize, exit", "initialize, shutdown"],
)
def test_the_end_of_the_input_is_the_end_and_the_code_says_whether_it_was_announced(
    folder: Path, messages: list[tuple[str, str]], code: int
) -> None:
    with raw_client(folder) as client:
        for number, (kind, method) in enumerate(messages):
            params = {"processId": None, "capabilities": NOTHING} if method == "initialize" else None
            if kind == "request":
                client.request(number, method, params)
            else:
                client.tell(method)
        client.stdin.close()

        assert client.wait() == code


@pytest.mark.parametrize("end", [framed({"jsonrpc": "2.0", "method": "exit"}), b""], ids=["exit", "end of input"])
def test_shutdown_is_answered_although_the_end_comes_with_it(folder: Path, end: bytes) -> None:
    params = {"processId": None, "capabilities": NOTHING}
    with raw_client(folder) as client:
        client.send_raw(
            framed({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
            + framed({"jsonrpc": "2.0", "id": 2, "method": "shutdown"})
            + end
        )
        client.stdin.close()

        assert client.wait() == 0
        assert "capabilities" in client.answer(1)["result"]
        assert client.answer(2)["result"] is None


def test_before_initialize_and_after_shutdown_requests_are_refused(folder: Path) -> None:
    with raw_client(folder) as client:
        assert client.request(1, "pygent/status")["error"]["code"] == -32002
        client.initialize(folder)
        assert client.request(2, "initialize", {"processId": None, "capabilities": {}})["error"]["code"] == -32600
        assert client.request(3, "shutdown")["result"] is None
        assert client.request(4, "pygent/status")["error"]["code"] == -32600
        client.tell("exit")

        assert client.wait() == 0


# With programs that run


def test_shutdown_ends_the_turn_and_its_programs_first(busy: tuple[RawClient, list[int]]) -> None:
    client, pids = busy
    assert all(map(is_alive, pids))

    client.begin(2, "shutdown")

    assert client.answer(1)["result"]["stopReason"] == "cancelled"
    assert client.answer(2)["result"] is None
    assert not any(map(is_alive, pids))
    client.tell("exit")
    assert client.wait() == 0


@pytest.mark.parametrize("way", ["end of input", "exit", "SIGTERM", "SIGHUP", "SIGINT"])
def test_however_the_editor_leaves_the_daemon_and_its_programs_are_gone_in_time(
    folder: Path, busy: tuple[RawClient, list[int]], way: str
) -> None:
    """So are the copies of files of a session that is not kept."""
    client, pids = busy
    copies = folder.parent / "home" / ".local" / "state" / "pygent-ls" / "snapshots"
    assert copies.exists()
    began_s = monotonic()
    if way == "end of input":
        client.stdin.close()
    elif way == "exit":
        client.tell("exit")
    else:
        client.process.send_signal(getattr(signal, way))

    assert client.wait() == 1
    assert monotonic() - began_s < GONE_S
    assert not any(map(is_alive, pids))
    assert not copies.exists()


def test_an_editor_that_reads_nothing_more_does_not_keep_the_daemon(folder: Path) -> None:
    line = {"text": "x" * 5_000_000, "chunk": 1000}
    with raw_client(folder, environment=with_script(folder, line)) as client:
        client.initialize(folder)
        client.begin(1, "pygent/turn/start", {"prompt": "go", "partialResultToken": "events"})
        client.until(lambda frame: frame.get("method") == "$/progress")
        client.stop_reading()
        client.until_idle()

        began_s = monotonic()
        client.stdin.close()

        assert client.wait() == 1
        assert monotonic() - began_s < GONE_S


def test_an_editor_that_closes_our_output_is_gone(folder: Path) -> None:
    line = {"text": "x" * 5_000_000, "chunk": 1000}
    with raw_client(folder, environment=with_script(folder, line)) as client:
        client.initialize(folder)
        client.begin(1, "pygent/turn/start", {"prompt": "go", "partialResultToken": "events"})
        client.until(lambda frame: frame.get("method") == "$/progress")

        client.close_output()

        assert client.wait() == 1


def test_the_end_of_the_input_while_litellm_is_loading_does_not_wait_for_it(folder: Path) -> None:
    variables = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": "http://127.0.0.1:9"}
    with raw_client(folder, environment={"PYGENT_MODEL": "litellm/openai/mock", **variables}) as client:
        client.initialize(folder)
        client.begin(1, "pygent/turn/start", {"prompt": "go", "workDoneToken": "work"})
        client.until(lambda frame: "Loading the model" in json.dumps(frame))

        began_s = monotonic()
        client.stdin.close()

        assert client.wait() == 1
        assert monotonic() - began_s < GONE_S


def misbehaving(folder: Path, tool: str) -> RawClient:
    """A client of a daemon with bad tools, whose turn is in one of them."""
    script = with_script(folder, {"tool_calls": [{"name": tool, "input": {}}]})
    root = str(Path(__file__).parents[2])
    environment = clean_environment(folder.parent, **script, PYTHONPATH=root)
    client = RawClient((sys.executable, "-m", "tests.e2e.chatty_daemon"), environment, folder)
    client.initialize(folder)
    client.begin(1, "pygent/turn/start", {"prompt": "go"})
    client.until_said("held")
    return client


@pytest.mark.parametrize("tool", ["snooze", "hog"])
def test_neither_a_thread_that_a_tool_left_behind_nor_one_that_it_holds_keeps_the_daemon(
    folder: Path, tool: str
) -> None:
    client = misbehaving(folder, tool)
    try:
        began_s = monotonic()
        client.stdin.close()

        assert client.wait() == 1
        assert monotonic() - began_s < GONE_S
    finally:
        client.kill()
    where = f'chatty_daemon.py", line {line_of("    threading.Event().wait(300.0)")} in hog'
    assert (where in client.stderr) == (tool == "hog")  # for who looks for the bug


def line_of(code: str) -> int:
    lines = Path(__file__).with_name("chatty_daemon.py").read_text().splitlines()
    return lines.index(code) + 1


# With the process that it belongs to

PARENT = """
import json, os, subprocess, sys, time
daemon = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
os.set_inheritable(daemon.stdin.fileno(), True)
holder = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], close_fds=False)
params = {"processId": os.getpid(), "rootUri": None, "capabilities": {}}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
daemon.stdin.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
daemon.stdin.flush()
daemon.stdout.readline()
print(daemon.pid, holder.pid, flush=True)
sys.stdin.read()
"""
"""An editor whose end does not close the daemon's input, since another process holds it, too."""


def test_the_daemon_does_not_outlive_the_process_that_it_was_told_of(folder: Path) -> None:
    environment = clean_environment(folder.parent)
    editor = subprocess.Popen(
        [sys.executable, "-c", PARENT, *DAEMON],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=folder,
        text=True,
    )
    assert editor.stdin is not None
    assert editor.stdout is not None
    pid, holder = (int(word) for word in editor.stdout.readline().split())
    daemon = os.pidfd_open(pid)
    try:
        assert is_alive(pid)

        editor.kill()
        editor.wait(WAIT_S)

        began_s = monotonic()
        assert ended(daemon)
        assert monotonic() - began_s < GONE_S
    finally:
        os.kill(holder, signal.SIGKILL)
        editor.kill()
        editor.stdin.close()
        editor.stdout.close()
        os.close(daemon)


def ended(descriptor: int) -> bool:
    """Wait for the end of a process that is not our child."""
    import select

    return bool(select.select([descriptor], [], [], WAIT_S)[0])


@pytest.mark.parametrize("process_id", [2**22 + 1, 2**31, 2**40, 0, -1])
def test_a_process_that_there_is_not_is_answered_before_anything_else(folder: Path, process_id: int) -> None:
    with raw_client(folder) as client:
        params = {"processId": process_id, "rootUri": None, "capabilities": NOTHING}

        assert client.request(1, "initialize", params)["result"]["serverInfo"]["name"] == "pygent-ls"


def test_a_frame_that_is_cut_off_by_the_end_is_no_frame(folder: Path) -> None:
    with raw_client(folder) as client:
        client.send_raw(framed({"jsonrpc": "2.0", "id": 1, "method": "pygent/status"})[:-5])
        client.stdin.close()

        assert client.wait() == 1
        assert client.frames == []
