"""Windows that come back at odd moments: over sockets and in one process, so that a moment can be chosen."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.ports.hooks import NOTHING, HookInput
from pygent_ls.editors.lsp.daemon.client_connection import SocketClient
from pygent_ls.editors.lsp.daemon.reconnection import Window, window_of
from pygent_ls.editors.lsp.rpc.client_requests import Patience
from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.transport.stdio import FrameWriter
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, FakeBlueprint, Setup, connected, initialize
from tests.editors.lsp.socket_editor import Served, SocketEditor, served
from tests.fakes import WAIT_S, Call, FakeModel, Gate, bounded, say

NAMED: Mapping[str, Any] = {
    **CAPABILITIES,
    "experimental": {"pygent": {"windowId": "w", "permissionRequest": True}},
}
PERMISSION = "pygent/permission/request"
HOOK = "pygent/client/hook"
SCRIPT = [say("", Call(name="shell", arguments={"command": "true"}, id="call-1")), say("Done.")]


def first_frame(folder: Path, **params: object) -> dict[str, Any]:
    folders = [{"uri": folder.as_uri(), "name": folder.name}]
    given = {"processId": None, "workspaceFolders": folders, "capabilities": NAMED, **params}
    return {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": given}


def named(folder: Path, **params: object) -> Window:
    window = window_of(json.dumps(first_frame(folder, **params)))
    assert window is not None
    return window


async def come(editor: Editor, writer: FrameWriter) -> None:
    """The client of a server is there again."""
    editor.server.take_client(writer)
    editor.server.endpoint.write = writer.write
    await initialize(editor, NAMED, {})


async def after(seconds: float) -> None:
    """Return when all timers have rung that were set for so long before this one."""
    rung = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, rung.set)
    await bounded(rung.wait())


async def test_a_window_that_is_lost_again_before_it_was_ready_is_asked_when_it_comes_the_next_time(
    folder: Path,
) -> None:
    """Time limit for getting ready, which passes while no client is connected: requests would never be answered."""
    async with connected(folder, Setup(script=SCRIPT), capabilities=NAMED) as editor:
        editor.handlers[PERMISSION] = lambda _: NO_ANSWER
        editor.server.endpoint.patience = Patience(ready_s=0.01)
        editor.begin_turn()
        await editor.asks(PERMISSION)
        session = editor.core.sessions.all()[0]
        editor.server.lose_client()
        await come(editor, editor.writer)
        editor.server.lose_client()
        await after(0.01)

        editor.server.endpoint.patience = Patience()
        await come(editor, editor.writer)
        editor.begin("pygent/session/attach", {"sessionId": session.id, "partialResultToken": "view"})
        again = await editor.asks(PERMISSION, 2)
        editor.answer(again, {"optionId": "reject_once"})
        await editor.until(lambda: "finished" in editor.types("view"))

        assert len(editor.requests(PERMISSION)) == 2


async def test_no_microphone_stays_open_for_a_window_that_is_lost(folder: Path) -> None:
    async with connected(folder, Setup()) as editor:
        session = (await editor.request("pygent/session/new"))["sessionId"]
        started = await editor.request("pygent/voice/start", {"sessionId": session})
        editor.server.lose_client()

        assert started["state"] == "listening"
        assert editor.core.voice.status.state == "off"


async def test_a_window_that_never_attaches_is_asked_all_the_same(folder: Path) -> None:
    async with connected(folder, Setup(script=SCRIPT), capabilities=NAMED) as editor:
        editor.handlers[PERMISSION] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        first = await editor.asks(PERMISSION)
        editor.server.lose_client()
        editor.server.endpoint.patience = Patience(ready_s=0.01)
        await come(editor, editor.writer)
        again = await editor.asks(PERMISSION, 2)
        editor.answer(again, {"optionId": "reject_once"})
        await editor.until(lambda: editor.core.sessions.all()[0].running is None)

        assert again.params == first.params
        assert not turn.done()


async def test_a_hook_that_a_returned_window_does_not_register_again_decides_nothing(folder: Path) -> None:
    async with connected(folder, capabilities=NAMED) as editor:
        editor.handlers[HOOK] = lambda _: NO_ANSWER
        hook = {"id": "before", "event": "pre_tool_use", "timeoutS": 0.5}
        await editor.request("pygent/hooks/register", {"hooks": [hook]})
        given = HookInput(
            event="pre_tool_use", session_id="s", turn_id="t", cwd=folder, tool_name="shell", tool_input={}
        )
        running = asyncio.create_task(editor.server.connection.extensions.hooks.run(given))
        await editor.asks(HOOK)
        editor.server.lose_client()
        await after(0.5)
        assert not running.done()
        editor.server.endpoint.patience = Patience(ready_s=0.01)
        await come(editor, editor.writer)

        assert await bounded(running) == NOTHING
        assert len(editor.requests(HOOK)) == 1
        assert await editor.request("pygent/hooks/unregister", {"ids": ["before"]}) == {"removed": []}


class Nowhere:
    """Windows without a client."""

    def give(self, window: Window) -> PygentServer | None:
        """None is away."""

    def keep(self, window: Window, server: PygentServer) -> bool:
        """None is kept."""
        return False


@asynccontextmanager
async def one_client(folder: Path) -> AsyncGenerator[tuple[SocketClient, socket.socket]]:
    """A client at a socket pair, that has initialized."""
    blueprint = FakeBlueprint(setup=Setup(), state_folder=folder.parent / "state")
    ours, theirs = socket.socketpair()
    client = SocketClient(theirs, blueprint.read, Nowhere())
    serving = asyncio.create_task(client.serve())
    with ours:
        ours.settimeout(WAIT_S)
        await asyncio.to_thread(exchange, ours, first_frame(folder))
        try:
            yield client, ours
        finally:
            client.leave()
            ours.shutdown(socket.SHUT_RDWR)
            await bounded(serving)


def exchange(ours: socket.socket, message: Mapping[str, Any]) -> None:
    """Send a request, and return when something is answered."""
    body = json.dumps(message).encode()
    ours.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    assert ours.recv(1_000_000).startswith(b"Content-Length")


async def test_a_connection_gives_its_window_away_also_in_the_moment_after_it_was_lost(tmp_path: Path) -> None:
    """A window that reconnects before its old connection has closed would find nothing, and its turns would have no
    reader."""
    async with one_client(tmp_path) as (client, _):
        window = named(tmp_path)
        assert client.can_hand_over(window)
        client.lose()
        assert client.is_leaving
        assert client.can_hand_over(window)
        _, server = client.hand_over()

        assert not client.can_hand_over(window)
        await server.close()


@pytest.mark.parametrize("way", ["shutdown", "exit"])
async def test_a_connection_that_has_said_goodbye_gives_nothing_away(tmp_path: Path, way: str) -> None:
    """What it has is closed, or about to be."""
    async with one_client(tmp_path) as (client, ours):
        match way:
            case "shutdown":
                request = {"jsonrpc": "2.0", "id": "last", "method": "shutdown"}
                await asyncio.to_thread(exchange, ours, request)
                client.lose()
            case _:
                client.leave()

        assert not client.can_hand_over(named(tmp_path))


@asynccontextmanager
async def with_a_turn(daemon: Served, gate: Gate) -> AsyncGenerator[SocketEditor]:
    daemon.daemon.linger_s = 60.0
    async with daemon.editor("one", capabilities=NAMED) as one:
        one.begin_turn()
        await gate.reached()
        yield one


async def test_a_second_initialize_that_names_a_window_takes_nothing_over(tmp_path: Path) -> None:
    first, second = Gate(), Gate()
    model = FakeModel([[first, *say("one")], [second, *say("two")]])
    async with served(tmp_path, Setup(script=model)) as daemon, daemon.editor("two") as two:
        async with with_a_turn(daemon, first) as one:
            turn = two.begin_turn()
            await second.reached()
            one.leave()
            await one.hung_up()
        two.send(first_frame(tmp_path / "one"))
        await two.until(lambda: any(frame.get("id") == "first" for frame in two.frames))
        second.open()

        assert (await bounded(turn))["text"] == "two"
        refused = next(frame for frame in two.frames if frame.get("id") == "first")
        assert "twice" in refused["error"]["message"]
        async with daemon.editor("one", capabilities=NAMED) as back:
            (session,) = back.initialize_result["capabilities"]["experimental"]["pygent"]["resumed"]
            assert session
            first.open()


async def test_a_daemon_that_ends_gives_nothing_away_and_cancels_what_runs(tmp_path: Path) -> None:
    gate = Gate()
    model = FakeModel([[gate, *say("one")]])
    async with served(tmp_path, Setup(script=model)) as daemon, with_a_turn(daemon, gate) as one:
        daemon.daemon.end()

        assert daemon.daemon.give(named(one.folder)) is None
        await one.hung_up()
    assert model.open_streams == 0


def test_a_window_is_the_same_one_only_in_the_same_place(tmp_path: Path) -> None:
    one = named(tmp_path / "one")

    assert one == named(tmp_path / "one", processId=5)
    assert one != named(tmp_path / "two")
    assert one != named(tmp_path / "one", clientInfo={"name": "Another"})


@pytest.mark.parametrize("folders", [[5], [{}], [[]], 5, {"a": 1}], ids=str)
def test_folders_that_are_none_are_no_windows(tmp_path: Path, folders: object) -> None:
    assert window_of(json.dumps(first_frame(tmp_path, workspaceFolders=folders))) is None
