"""What `--trace` records of a real daemon, on standard input and output and at a socket, however the daemon ends."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from tests.e2e.command_line import run
from tests.e2e.raw import DAEMON, RawClient, clean_environment, raw_client
from tests.fakes import WAIT_S


def recorded(trace: Path, side: str, client: int = 1) -> list[dict[str, Any]]:
    """The messages of one side; each line of the file is whole."""
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert lines[0]["type"] == "trace"
    return [line["message"] for line in lines[1:] if (line["from"], line["client"]) == (side, client)]


def methods(trace: Path, client: int = 1) -> list[str]:
    return [message["method"] for message in recorded(trace, "client", client)]


def until_recorded(trace: Path, request_id: int, client: RawClient) -> None:
    """The request and its answer, whole: a recording is written beside what is recorded."""
    ends_s = monotonic() + WAIT_S
    while (text := trace.read_text()).count(f'"id":{request_id}') < 2 or not text.endswith("\n"):
        assert monotonic() < ends_s, text
        with suppress(subprocess.TimeoutExpired):
            client.wait(0.02)


def test_a_recording_that_was_cut_by_kill_has_all_that_was_said(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    command = (*DAEMON, "--trace", str(trace))
    with raw_client(folder, command=command, environment={"PYGENT_MODEL": "offline/rules"}) as client:
        client.initialize(folder)
        client.request(1, "pygent/turn/start", {"prompt": "help", "partialResultToken": "events"})
        client.request(2, "pygent/tools/list")
        until_recorded(trace, 2, client)
        client.process.send_signal(signal.SIGKILL)
        client.wait()

    assert methods(trace) == ["initialize", "initialized", "pygent/turn/start", "pygent/tools/list"]
    assert any(frame.get("method") == "$/progress" for frame in client.frames)
    assert recorded(trace, "server")[: len(client.frames)] == client.frames


def test_a_daemon_that_is_told_to_end_writes_what_it_said_last(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    with raw_client(folder, command=(*DAEMON, "--trace", str(trace))) as client:
        client.initialize(folder)
        client.request("last words", "pygent/tools/list")
        client.process.send_signal(signal.SIGTERM)
        client.wait()

    assert methods(trace)[-1] == "pygent/tools/list"
    assert [message for message in recorded(trace, "server") if message.get("id") == "last words"]


def test_each_client_of_a_socket_is_recorded_with_its_number(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    frames: list[list[dict[str, Any]]] = []
    with tempfile.TemporaryDirectory(prefix="pygent-") as short:
        path = f"{short}/socket"
        with raw_client(folder, command=(*DAEMON, "--socket", path, "--trace", str(trace))) as daemon:
            daemon.until_said(f"listening at {path}")
            for _ in range(2):
                with raw_client(folder, command=(*DAEMON, "connect", path)) as client:
                    client.initialize(folder)
                    assert client.finish() == 0
                frames.append(client.frames)
            daemon.process.send_signal(signal.SIGTERM)
            daemon.wait()

    for number, received in enumerate(frames, start=1):
        assert methods(trace, number) == ["initialize", "initialized", "shutdown", "exit"]
        assert recorded(trace, "server", number) == received
    assert methods(trace, 3) == []


def test_a_recording_that_cannot_be_made_is_bad_usage(folder: Path) -> None:
    done = run("--trace", str(folder / "no" / "where.jsonl"), environment=clean_environment(folder.parent))

    assert done.returncode == 2
    assert "--trace: " in done.stderr
