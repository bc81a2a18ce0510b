"""HTTP servers that end, forget the session, or no longer accept the user's token while they are connected."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest

from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.server import ServerSpec
from tests.extensions.mcp.test_npm_servers import INSTALLED, NODE
from tests.extensions.mcp.test_oauth import Browser, guarded, until
from tests.extensions.mcp.test_oauth import spec as guarded_spec
from tests.extensions.mcp.test_servers import WAIT_S, Place, opened
from tests.fakes import bounded


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    """Servers that are started anew at once."""
    async with opened(tmp_path, (0.0,) * 50) as made:
        yield made


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextmanager
def everything(port: int) -> Generator[None]:
    """The project's own server by HTTP, with sessions of the protocol before the newest."""
    script = INSTALLED / "server-everything" / "dist" / "index.js"
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(
        [str(NODE), str(script), "streamableHttp"], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            assert any("listening" in line for line in process.stderr)
            yield
        finally:
            process.kill()


async def test_a_server_that_has_forgotten_the_session_is_connected_to_again(place: Place) -> None:
    port = free_port()
    spec = ServerSpec(name="far", url=f"http://127.0.0.1:{port}/mcp", startup_timeout_s=WAIT_S, timeout_s=WAIT_S)
    with everything(port):
        await place.until_connected(spec)
        assert "plum" in await place.call("mcp__far__echo", message="plum")
    with everything(port):
        with pytest.raises(ToolError):
            await place.call("mcp__far__echo", message="pear")
        await place.until(lambda: place.servers.log("far").count("[connected]") == 2)
        assert "pear" in await place.call("mcp__far__echo", message="pear")


@asynccontextmanager
async def dropping(port: int, words: bytes) -> AsyncGenerator[int]:
    """A port that leads to that one; a connection over which these words are sent is closed instead."""
    exchanges: set[asyncio.Task[None]] = set()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while (data := await reader.read(65_536)) and words not in data:
                writer.write(data)
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        exchanges.add(asyncio.create_task(pass_on(far_reader, writer)))
        await pass_on(reader, far_writer)
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]
    await bounded(asyncio.gather(*exchanges))


async def test_a_connection_that_breaks_with_a_message_without_an_answer_is_made_again(place: Place) -> None:
    port = free_port()
    with everything(port):
        async with dropping(port, b"notifications/cancelled") as near:
            url = f"http://127.0.0.1:{near}/mcp"
            await place.until_connected(
                ServerSpec(name="far", url=url, startup_timeout_s=WAIT_S, timeout_s=WAIT_S),
            )
            call = asyncio.create_task(place.call("mcp__far__trigger-long-running-operation", duration=600, steps=600))
            await place.until(lambda: place.bench.reported)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

            with pytest.raises(ToolError, match="Connection closed"):
                await place.call("mcp__far__echo", message="pear")
            await place.until(lambda: place.servers.log("far").count("[connected]") == 2)
            assert "pear" in await place.call("mcp__far__echo", message="pear")
            await bounded(place.servers.close())


async def test_a_server_that_is_down_is_told_of_and_connected_to_when_it_is_back(place: Place) -> None:
    port = free_port()
    spec = ServerSpec(name="far", url=f"http://127.0.0.1:{port}/mcp", startup_timeout_s=WAIT_S, timeout_s=WAIT_S)
    with everything(port):
        await place.until_connected(spec)
    with pytest.raises(ToolError):
        await place.call("mcp__far__echo", message="pear")
    await place.until(lambda: place.servers.statuses[0].state != "connected")
    with everything(port):
        place.servers.restart("far")
        await place.until_connected(spec)
        assert "pear" in await place.call("mcp__far__echo", message="pear")


async def test_a_token_that_is_refused_in_between_needs_a_new_sign_in(place: Place) -> None:
    place.browser = Browser().open
    with guarded(place.folder) as url:
        place.servers.apply([guarded_spec(url)])
        await until(place, "needs_sign_in")
        await bounded(place.servers.sign_in("guarded"))
        await until(place, "connected")
        place.told.clear()
        (place.folder / "refuse").touch()
        with pytest.raises(ToolError):
            await place.call("mcp__guarded__secret")
        await until(place, "needs_sign_in")

    assert place.told == ["The MCP server guarded: The server needs you to sign in: /mcp login guarded"]
