"""HTTP servers that end, forget the session, or no longer accept the user's token while they are connected."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
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
