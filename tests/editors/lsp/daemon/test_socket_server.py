"""Several editors on one daemon: each speaks for itself, and none can hold another."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from pygent_ls.editors.lsp.daemon.client_connection import MAX_UNHANDLED_FRAMES, MAX_UNREAD_BYTES
from pygent_ls.errors import SocketError
from tests.editors.lsp.editor import Setup
from tests.editors.lsp.socket_editor import SocketEditor, served
from tests.fakes import WAIT_S, FakeModel, Gate, bounded, say

STATUS: dict[str, object] = {"jsonrpc": "2.0", "id": "status", "method": "pygent/status", "params": {}}


async def works(editor: SocketEditor) -> bool:
    """Whether the daemon answers it."""
    return bool((await editor.request("pygent/status"))["version"])


async def test_each_editor_speaks_with_the_daemon_as_if_it_were_alone(tmp_path: Path) -> None:
    setup = Setup(script=FakeModel([say("To one."), say("To two.")]))
    async with served(tmp_path, setup) as daemon, daemon.editor("one") as one, daemon.editor("two") as two:
        first = await one.turn("hi")
        second = await two.turn("hi")

        assert (first["text"], second["text"]) == ("To one.", "To two.")
        assert one.types()[-1] == two.types()[-1] == "finished"
        assert one.folder != two.folder


async def test_an_editor_that_leaves_cancels_its_own_turn_alone(tmp_path: Path) -> None:
    mine, other = Gate(), Gate()
    model = FakeModel([[mine, *say("mine")], [other, *say("other")]])
    async with served(tmp_path, Setup(script=model)) as daemon, daemon.editor("two") as two:
        async with daemon.editor("one") as one:
            one.begin_turn("go")
            await mine.reached()
            turn = two.begin_turn("go")
            await other.reached()

            one.leave()
            await one.hung_up()

        assert model.open_streams == 1
        other.open()
        assert (await bounded(turn))["text"] == "other"


@pytest.mark.parametrize("goodbye", [True, False])
async def test_exit_ends_one_connection_and_what_was_asked_before_is_answered(tmp_path: Path, goodbye: bool) -> None:
    async with served(tmp_path) as daemon, daemon.editor("two") as two:
        async with daemon.editor("one") as one:
            if goodbye:
                assert await one.request("shutdown") is None
            one.tell("exit", {})
            await one.hung_up()

        assert await works(two)


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 100000\r\n\r\nhalf",
        b"Content-Length: 1000000000000\r\n\r\n{}",
        b"Content-Length: 2\r\n\r\n[]" * 1000,
        b"\0\xff" * 100_000,
        b"Content-Length",
    ],
    ids=["half a frame", "a frame without end", "batches", "garbage", "half a header"],
)
async def test_whatever_an_editor_sends_the_others_go_on(tmp_path: Path, data: bytes) -> None:
    async with served(tmp_path) as daemon, daemon.editor("two") as two, daemon.silent("one") as one:
        one.send_bytes(data)

        assert await works(two)
        one.leave()


async def test_one_that_floods_the_daemon_is_answered_and_so_are_the_others(tmp_path: Path) -> None:
    n_requests = 20 * MAX_UNHANDLED_FRAMES
    async with served(tmp_path) as daemon, daemon.editor("two") as two, daemon.editor("one") as one:
        for _ in range(n_requests):
            one.send(STATUS)

        assert await works(two)
        await one.until(lambda: sum(frame.get("id") == "status" for frame in one.frames) == n_requests)


async def test_one_that_reads_nothing_holds_nobody_and_is_let_go_of_in_the_end(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.editor("two") as two, daemon.editor("one") as one:
        one.stop_reading()
        action = {"title": "x" * 1_000_000}
        n_requests = MAX_UNREAD_BYTES // len(action["title"]) + 5
        for number in range(n_requests):
            one.send({"jsonrpc": "2.0", "id": number, "method": "codeAction/resolve", "params": action})
            if number == n_requests // 2:
                assert await works(two)
        await one.writer.drained()

        assert await works(two)
        one.read_on()
        await one.hung_up()
        assert len(one.frames) < n_requests


async def test_another_user_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path, uid=os.geteuid() + 1) as daemon, daemon.silent() as editor:
        await editor.hung_up()

        assert editor.frames == []


async def test_what_the_daemon_has_started_is_no_editor(tmp_path: Path) -> None:
    """A command that reaches the socket could answer for the user."""
    client = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(1))"
    async with served(tmp_path) as daemon:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", client, str(daemon.path), stdout=asyncio.subprocess.PIPE
        )
        said, _ = await bounded(process.communicate())

    assert said == b"b''\n"


async def test_more_editors_than_the_daemon_serves_are_told_so(tmp_path: Path) -> None:
    async with (
        served(tmp_path, max_clients=2) as daemon,
        daemon.editor("one") as one,
        daemon.editor("two") as two,
    ):
        async with daemon.silent("three") as three:
            await three.hung_up()

            assert three.frames[0]["error"]["message"] == "this daemon serves 2 clients already"
        one.leave()
        await one.hung_up()
        async with daemon.editor("four") as four:
            assert await works(four)
            assert await works(two)


async def test_the_end_of_the_process_that_an_editor_named_ends_its_connection_alone(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec("sleep", "300")
    async with (
        served(tmp_path) as daemon,
        daemon.editor("two") as two,
        daemon.editor("one", processId=process.pid) as one,
    ):
        process.kill()
        await process.wait()
        await one.hung_up()

        assert await works(two)


async def test_a_process_that_is_not_seen_here_ends_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon, daemon.editor("one", processId=2**22 + 1) as one:
        assert await works(one)


async def test_editors_that_came_and_went_leave_nothing_behind(tmp_path: Path) -> None:
    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    async def visits(number: int) -> None:
        async with served(tmp_path, Setup(script=FakeModel([say("Hello.")] * number))) as daemon:
            for _ in range(number):
                async with daemon.editor("one", processId=os.getpid()) as editor:
                    await editor.turn("hi")

    await visits(1)
    before = descriptors()

    await visits(10)

    assert descriptors() <= before  # fewer where what an earlier test had left is closed by now
    for thread in threading.enumerate():
        if thread.name.startswith("lsp-"):
            thread.join(WAIT_S)
            assert not thread.is_alive()


async def test_the_end_of_the_daemon_cancels_every_turn_and_answers_it(tmp_path: Path) -> None:
    gates = [Gate(), Gate()]
    model = FakeModel([[gate, *say("never")] for gate in gates])
    async with (
        served(tmp_path, Setup(script=model)) as daemon,
        daemon.editor("one") as one,
        daemon.editor("two") as two,
    ):
        turns = [editor.begin_turn("go") for editor in (one, two)]
        for gate in gates:
            await gate.reached()

        daemon.daemon.end()

        assert [(await bounded(turn))["stopReason"] for turn in turns] == ["cancelled", "cancelled"]
        await one.hung_up()
        await two.hung_up()


async def test_a_daemon_that_has_ended_is_not_reached(tmp_path: Path) -> None:
    async with served(tmp_path) as daemon:
        pass

    with pytest.raises(SocketError, match="No daemon is listening"):
        async with daemon.silent():
            pass
