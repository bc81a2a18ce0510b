"""A recorded session of a real editor is played again, and what has changed is told."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from lsprotocol.types import ShowMessageRequestParams

from tests.e2e.command_line import run
from tests.e2e.lsp_client import editor_client
from tests.e2e.raw import DAEMON, RawClient, clean_environment, raw_client
from tests.fakes import WAIT_S

APP = "def area(r):\n    return 3.14 * r * r\n"

KEY = "sk-ant-api03-0123456789abcdefghijklmnop"

STORY: Sequence[Mapping[str, Any]] = (
    {"text": "I read it first.", "tool_calls": [{"name": "read_file", "input": {"path": "app.py"}}]},
    {"tool_calls": [{"name": "edit_file", "input": {"path": "app.py", "old": "3.14", "new": "math.pi"}}]},
    {"tool_calls": [{"name": "shell", "input": {"command": "echo checked"}}]},
    {"text": "It uses math.pi now."},
    {"text": "You are welcome."},
)


def allow(params: ShowMessageRequestParams) -> str:
    """Whatever a person would click to get on."""
    return "Save and continue" if "unsaved" in params.message else "Allow once"


def write_story(home: Path, *answers: Mapping[str, Any]) -> str:
    file = home.parent / "story.jsonl"
    file.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    return f"scripted:{file}"


async def recorded(folder: Path) -> Path:
    """A session of an editor: a document with a key in it, typing, an edit, a command, a second turn."""
    trace = folder.parent / "trace.jsonl"
    environment = {"PYGENT_MODEL": write_story(folder, *STORY)}
    (folder / "app.py").write_text(APP)
    async with editor_client(folder, environment, arguments=("--stdio", "--trace", str(trace))) as editor:
        editor.choose = allow
        uri = editor.documents.open(folder / "app.py")
        editor.documents.type_over(uri, f"{APP}# {KEY}\n")
        result = await editor.turn("Use math.pi", workDoneToken="work")
        assert result["stopReason"] == "end_turn"
        again = await editor.turn("Thanks", sessionId=result["sessionId"])
        assert again["text"] == "You are welcome."
        await editor.ask("pygent/session/rename", {"sessionId": result["sessionId"], "name": "Circles"})
    return trace


def play(folder: Path, *arguments: str) -> tuple[int, str]:
    """Play it on a copy of the folder, whose name is as long, since prompts name it; the exit code and what it said."""
    copy = folder.parent / "copying"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    (copy / "app.py").write_text(APP)
    environment = clean_environment(folder.parent / "home")
    trace = str(folder.parent / "trace.jsonl")
    done = run("replay", "--as-fast", "--folder", str(copy), trace, *arguments, environment=environment)
    return done.returncode, done.stdout + done.stderr


async def test_a_session_of_an_editor_plays_again_until_the_daemon_says_something_else(folder: Path) -> None:
    trace = await recorded(folder)

    assert KEY not in trace.read_text()
    assert await asyncio.to_thread(play, folder) == (0, said_the_same(trace))
    assert (folder.parent / "copying" / "app.py").read_text() == f"{APP}# {'*' * len(KEY)}\n".replace("3.14", "math.pi")

    write_story(folder, *STORY[:3], {"text": "Something else."}, STORY[4])
    code, said = await asyncio.to_thread(play, folder)
    assert code == 1
    assert '.text: "It uses math.pi now." → "Something else."' in said


def said_the_same(trace: Path) -> str:
    n_lines = sum('"from":"client"' in line for line in trace.read_text().splitlines())
    return f"{n_lines} client messages were replayed.\nThe daemon sent the same messages.\n"


async def test_what_was_allowed_is_not_allowed_for_another_command(folder: Path) -> None:
    await recorded(folder)
    other = {"tool_calls": [{"name": "shell", "input": {"command": "touch owned"}}]}
    write_story(folder, *STORY[:2], other, *STORY[3:])

    code, said = await asyncio.to_thread(play, folder)

    assert code == 1
    assert "the request window/showMessageRequest: message: " in said
    assert "not received within" not in said, "nothing was waited for in vain"
    assert not (folder.parent / "copying" / "owned").exists()


def until_recorded(trace: Path, request_id: int, client: RawClient) -> None:
    """The request and its answer, whole: a recording is written beside what is recorded."""
    ends_s = monotonic() + WAIT_S
    while (text := trace.read_text()).count(f'"id":{request_id}') < 2 or not text.endswith("\n"):
        assert monotonic() < ends_s, text
        with suppress(subprocess.TimeoutExpired):
            client.wait(0.02)


def test_a_recording_that_was_cut_by_kill_has_all_that_was_said_and_plays(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    command = (*DAEMON, "--trace", str(trace))
    with raw_client(folder, command=command, environment={"PYGENT_MODEL": "offline/rules"}) as client:
        client.initialize(folder)
        client.request(1, "pygent/turn/start", {"prompt": "help"})
        client.request(2, "pygent/tools/list")
        until_recorded(trace, 2, client)
        client.process.send_signal(signal.SIGKILL)
        client.wait()

    assert play(folder) == (0, said_the_same(trace))


def test_a_daemon_that_is_told_to_end_writes_what_it_said_last(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    with raw_client(folder, command=(*DAEMON, "--trace", str(trace))) as client:
        client.initialize(folder)
        client.request("last words", "pygent/tools/list")
        client.process.send_signal(signal.SIGTERM)
        client.wait()

    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [line["from"] for line in lines if line.get("message", {}).get("id") == "last words"] == ["client", "server"]


def test_each_client_of_a_socket_is_recorded_and_plays_alone(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    with tempfile.TemporaryDirectory(prefix="pygent-") as short:
        path = f"{short}/socket"
        with raw_client(folder, command=(*DAEMON, "--socket", path, "--trace", str(trace))) as daemon:
            daemon.until_said(f"listening at {path}")
            for _ in range(2):
                with raw_client(folder, command=(*DAEMON, "connect", path)) as client:
                    client.initialize(folder)
                    assert client.finish() == 0
            daemon.process.send_signal(signal.SIGTERM)
            daemon.wait()

    assert play(folder, "--client", "2")[0] == 0
    assert "has no messages of client 3" in play(folder, "--client", "3")[1]


def test_a_server_that_is_none_is_told(folder: Path) -> None:
    trace = folder.parent / "trace.jsonl"
    with raw_client(folder, command=(*DAEMON, "--trace", str(trace))) as client:
        client.initialize(folder)
        assert client.finish() == 0

    code, said = play(folder, "--", sys.executable, "-c", "print('hello')")
    assert code == 1
    assert "the daemon exited before sending 1 of the answer to request" in said


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        ("hello\n", "is not a recording"),
        ('{"type":"trace","v":9}\n', "has version 9; this pygent-ls can replay version 1"),
        ('{"type":"trace","v":1}\n', "has no messages of client 1"),
    ],
)
def test_what_cannot_be_played_is_told(folder: Path, content: str | None, problem: str) -> None:
    if content is not None:
        (folder.parent / "trace.jsonl").write_text(content)

    code, said = play(folder)

    assert code == 2
    assert problem in said


def test_a_recording_that_cannot_be_made_is_bad_usage(folder: Path) -> None:
    done = run("--trace", str(folder / "no" / "where.jsonl"), environment=clean_environment(folder.parent))

    assert done.returncode == 2
    assert "--trace: " in done.stderr
