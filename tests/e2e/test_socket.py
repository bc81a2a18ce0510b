"""One daemon for several editors: real processes, over its socket and through `pygent-ls connect`."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.e2e.command_line import run
from tests.e2e.raw import DAEMON, WAIT_S, RawClient, clean_environment, raw_client
from tests.e2e.test_lifecycle import GONE_S, STUBBORN, is_alive, live_output, run_in_shell, with_script


@dataclass(frozen=True, slots=True)
class SocketDaemon:
    """A daemon that listens, and the editors that reach it."""

    process: RawClient
    path: Path
    stack: ExitStack

    def editor(self, folder: Path, **params: object) -> RawClient:
        """An editor that starts `pygent-ls connect`, and has this folder open."""
        client = self.stack.enter_context(raw_client(folder, command=(*DAEMON, "connect", str(self.path))))
        client.initialized = client.initialize(folder, **params)
        return client


@contextmanager
def socket_daemon(
    folder: Path, environment: Mapping[str, str] | None = None, *options: str, limits: str | None = None
) -> Generator[SocketDaemon]:
    """A daemon at a socket, with these options; its home lies beside the folder. What it makes is for everybody unless
    it says otherwise; a shell sets `limits`."""
    with tempfile.TemporaryDirectory(prefix="pygent-") as short, ExitStack() as stack:
        path = Path(short) / "socket"
        command = (*DAEMON, "--socket", str(path), *options)
        if limits:
            command = ("sh", "-c", f'{limits}; exec "$@"', "sh", *command)
        process = stack.enter_context(raw_client(folder, command=command, environment=environment, umask=0))
        process.until_said(f"listening at {path}")
        yield SocketDaemon(process, path, stack)


def said_by(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of a command that ends, and what it says on standard error."""
    done = run(*arguments, environment=clean_environment(folder.parent), cwd=folder)
    assert done.stdout == ""
    return done.returncode, done.stderr


def busy_pids(client: RawClient) -> list[int]:
    """Start a turn that runs programs which do not want to end; their processes."""
    client.begin("turn", "pygent/turn/start", {"prompt": "go", "partialResultToken": "events"})
    asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow once"}})
    client.until(lambda _: len(live_output(client).split()) == 2)
    return [int(pid) for pid in live_output(client).split()]


def gone(pids: list[int]) -> None:
    """Wait until these processes, which are not our children, are."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            assert select.select([descriptor], [], [], WAIT_S)[0]
        finally:
            os.close(descriptor)


def answers(client: RawClient) -> bool:
    """Whether the daemon answers it."""
    return "result" in client.request(f"status-{monotonic()}", "pygent/status")


def test_editors_reach_one_daemon_through_the_socket(folder: Path) -> None:
    (folder.parent / "other").mkdir()
    with socket_daemon(folder, with_script(folder, {"text": "Hello."}, {"text": "Hello."})) as daemon:
        assert oct(daemon.path.lstat().st_mode & 0o777) == "0o600"
        one, two = daemon.editor(folder), daemon.editor(folder.parent / "other")

        turns = [each.request("turn", "pygent/turn/start", {"prompt": "hi"})["result"] for each in (one, two)]

        assert [turn["text"] for turn in turns] == ["Hello.", "Hello."]
        assert one.finish() == 0
        assert answers(two)


@pytest.mark.parametrize("way", ["kill", "exit", "shutdown", "end of input"])
def test_an_editor_that_leaves_takes_its_programs_with_it_and_nothing_else(folder: Path, way: str) -> None:
    with socket_daemon(folder, with_script(folder, run_in_shell(STUBBORN), {"text": "never"})) as daemon:
        one, two = daemon.editor(folder), daemon.editor(folder)
        pids = busy_pids(one)
        codes = {"kill": -9, "exit": 0, "shutdown": 0, "end of input": 1}
        match way:
            case "kill":
                one.process.kill()
            case "exit":
                one.tell("exit")
            case "shutdown":
                one.begin("shutdown", "shutdown")
                assert one.answer("turn")["result"]["stopReason"] == "cancelled"
                assert one.answer("shutdown")["result"] is None
                one.tell("exit")
            case _:
                one.stdin.close()

        assert one.wait() == codes[way]
        gone(pids)
        assert answers(two)


def test_an_editor_that_is_killed_leaves_its_session_to_the_one_that_waits_in_it(folder: Path) -> None:
    """Each is asked about its own turn alone."""
    made = {"tool_calls": [{"name": "create_file", "input": {"path": "made.txt", "content": "two\n"}}]}
    with socket_daemon(folder, with_script(folder, run_in_shell(STUBBORN), made, {"text": "done"})) as daemon:
        one, two = daemon.editor(folder), daemon.editor(folder)
        pids = busy_pids(one)
        session = one.until(lambda frame: frame.get("method") == "pygent/session/changed")["params"]["sessionId"]
        begun = {"prompt": "then this", "sessionId": session, "partialResultToken": "events"}
        two.begin("turn", "pygent/turn/start", begun)
        two.until(lambda _: [each["type"] for each in events(two)] == ["turn_queued"])

        one.process.kill()

        asked = two.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        assert asked["params"]["message"].startswith("create_file: Create made.txt")
        two.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow once"}})
        turn = two.answer("turn")["result"]
        assert (turn["sessionId"], turn["text"]) == (session, "done")
        assert (folder / "made.txt").read_text() == "two\n"
        gone(pids)
        messages = two.request("load", "pygent/session/load", {"sessionId": session})["result"]["messages"]
        assert [each["role"] for each in messages] == [
            "user",
            "assistant",
            "user",
            "user",
            "assistant",
            "user",
            "assistant",
        ]
        assert one.wait() == -9


def test_a_daemon_without_a_descriptor_left_goes_on_when_there_are_some_again(folder: Path) -> None:
    with socket_daemon(folder, limits="ulimit -n 48") as daemon, ExitStack() as crowd:
        for _ in range(60):
            connection = crowd.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(WAIT_S)
            connection.connect(str(daemon.path))
        daemon.process.until_said("a client could not be accepted")
        crowd.close()

        assert answers(daemon.editor(folder))


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_daemon_in_time_and_all_that_it_started(folder: Path, way: signal.Signals) -> None:
    with socket_daemon(folder, with_script(folder, run_in_shell(STUBBORN), {"text": "never"})) as daemon:
        one, two = daemon.editor(folder), daemon.editor(folder)
        pids = busy_pids(one)
        began_s = monotonic()

        daemon.process.process.send_signal(way)

        assert daemon.process.wait() == 0
        assert monotonic() - began_s < GONE_S
        assert not any(map(is_alive, pids))
        assert one.answer("turn")["result"]["stopReason"] == "cancelled"
        assert (one.wait(), two.wait()) == (1, 1)
        two.until_said(f"The daemon at {daemon.path} has closed the connection.")
        assert not daemon.path.exists()


def test_a_daemon_that_was_killed_leaves_a_file_that_the_next_one_replaces(folder: Path) -> None:
    with socket_daemon(folder) as daemon:
        editor = daemon.editor(folder)
        daemon.process.process.kill()
        daemon.process.wait()
        assert editor.wait() == 1
        assert daemon.path.is_socket()
        nobody = said_by(folder, "connect", str(daemon.path))

        with raw_client(folder, command=(*DAEMON, "--socket", str(daemon.path))) as again:
            again.until_said("listening at")
            assert answers(daemon.editor(folder))

    assert nobody == (
        1,
        f"pygent-ls: No daemon is listening at {daemon.path}. Start one: pygent-ls --socket {daemon.path}\n",
    )


def test_where_a_daemon_listens_a_second_one_is_refused(folder: Path) -> None:
    with socket_daemon(folder) as daemon:
        code, said = said_by(folder, "--socket", str(daemon.path))

        assert (code, said.partition(".")[0]) == (1, f"pygent-ls: A daemon is already listening at {daemon.path}")
        assert answers(daemon.editor(folder))


def test_paths_at_which_nobody_can_listen_are_bad_usage(folder: Path) -> None:
    (folder / "file").write_text("mine")

    assert said_by(folder, "--socket", "file") == (
        2,
        f"pygent-ls: {folder}/file is a file, not a socket. Choose another path.\n",
    )
    assert said_by(folder, "--socket", "x" * 200)[0] == 2
    assert said_by(folder, "--socket", "missing/socket")[0] == 2
    assert said_by(folder, "connect", "file") == (2, f"pygent-ls: {folder}/file is a file, not a socket.\n")
    assert said_by(folder, "--socket", "file", "doctor")[0] == 2


def test_a_command_in_the_sandbox_cannot_reach_the_socket(folder: Path) -> None:
    """Else it could start a turn, and answer for the user."""
    reach = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); "
        "print('reached' if s.connect_ex(sys.argv[1]) == 0 else 'refused')"
    )
    with ExitStack() as stack:
        path = folder / "socket"
        script = with_script(
            folder,
            {"tool_calls": [{"name": "shell", "input": {"command": f'python3 -c "{reach}" {path}'}}]},
            {"text": "done"},
        )
        environment = {**script, "PYGENT_SANDBOX": "auto"}
        process = stack.enter_context(
            raw_client(folder, command=(*DAEMON, "--socket", str(path)), environment=environment)
        )
        process.until_said("listening at")
        editor = SocketDaemon(process, path, stack).editor(folder)
        editor.begin("turn", "pygent/turn/start", {"prompt": "go", "partialResultToken": "events"})
        asked = editor.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow once"}})
        editor.answer("turn")

        (result,) = [event for event in events(editor) if event["type"] == "tool_result"]
        assert "refused" in result["content"]
        assert "not sandboxed" not in json.dumps(asked)


def events(client: RawClient) -> list[dict[str, Any]]:
    """Every event of the turns that it began."""
    values = [frame["params"]["value"] for frame in client.frames if frame.get("method") == "$/progress"]
    return [event for value in values for event in value.get("events", ())]
