"""Sign-in to an MCP server by HTTP, whose authorization server is the SDK's."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.server import ServerSpec
from tests.extensions.mcp.test_servers import WAIT_S, Place, opened
from tests.fakes import bounded

SERVER = Path(__file__).with_name("oauth_server.py")


@contextmanager
def guarded(folder: Path) -> Generator[str]:
    """The address of a server that needs a sign-in."""
    with subprocess.Popen([sys.executable, str(SERVER), str(folder)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        finally:
            process.kill()


@dataclass
class Browser:
    """What the user sees in their browser."""

    opened: list[str] = field(default_factory=list[str])
    pages: list[str] = field(default_factory=list[str])
    before: Callable[[str], Awaitable[None]] | None = None
    """What happens before the user agrees."""

    async def open(self, address: str) -> None:
        """Follow an address to its end."""
        self.opened.append(address)
        async with httpx.AsyncClient(follow_redirects=True) as http:
            first = await http.get(address, follow_redirects=False)  # the authorization server agrees at once
            target = first.headers["location"]
            if self.before is not None:
                await self.before(target)
            self.pages.append((await http.get(target)).text.strip())


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    """Servers that are started anew at once."""
    async with opened(tmp_path, (0.0,) * 5) as made:
        yield made


def spec(url: str) -> ServerSpec:
    """The server in the settings."""
    return ServerSpec(name="guarded", url=url, startup_timeout_s=WAIT_S, timeout_s=WAIT_S)


async def until(place: Place, state: str) -> None:
    """Wait until the server is in this state."""
    await place.until(lambda: [each.state for each in place.servers.statuses] == [state])


def grants(place: Place) -> list[str]:
    """What the authorization server was asked for."""
    file = place.folder / "grants"
    return file.read_text().split() if file.exists() else []


async def test_a_server_waits_for_a_sign_in_and_is_then_used_with_tokens_that_are_refreshed(place: Place) -> None:
    browser = Browser()
    place.browser = browser.open
    with guarded(place.folder) as url:
        place.servers.apply([spec(url)])
        await until(place, "needs_sign_in")
        assert grants(place) == []
        assert place.told == ["The MCP server guarded: The server needs you to sign in: /mcp login guarded"]

        await bounded(place.servers.sign_in("guarded"))
        await until(place, "connected")
        assert await place.call("mcp__guarded__secret") == "plums are blue"

        [address] = browser.opened
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert (asked["code_challenge_method"], asked["resource"]) == ("S256", url)
        assert asked["redirect_uri"].startswith("http://127.0.0.1:")
        assert browser.pages == ["You are signed in. You can close this page."]
        assert grants(place) == ["registration", "authorization_code", "refresh_token"]
        with pytest.raises(httpx.ConnectError):  # nothing listens any longer
            async with httpx.AsyncClient() as http:
                await http.get(asked["redirect_uri"])

        place.servers.restart("guarded")
        await until(place, "connected")
        assert grants(place)[3:] == []


async def test_tokens_that_are_refused_need_a_sign_in_again_and_can_be_forgotten(place: Place) -> None:
    place.browser = Browser().open
    with guarded(place.folder) as url:
        place.servers.apply([spec(url)])
        await until(place, "needs_sign_in")
        await bounded(place.servers.sign_in("guarded"))
        await until(place, "connected")

        (place.folder / "refuse").touch()
        place.servers.restart("guarded")
        await until(place, "needs_sign_in")
        (place.folder / "refuse").unlink()
        place.servers.restart("guarded")
        await until(place, "connected")
        assert await place.servers.sign_out("guarded")
        await until(place, "needs_sign_in")

    assert place.keys.kept == {}
    assert not await place.servers.sign_out("guarded")


async def test_an_answer_that_belongs_to_no_sign_in_is_refused_and_ends_nothing(place: Place) -> None:
    forged: list[int] = []

    async def forge(target: str) -> None:
        parts = urlsplit(target)
        given = {name: values[0] for name, values in parse_qs(parts.query).items()}
        async with httpx.AsyncClient() as http:
            for query in ({**given, "state": "another"}, {"code": given["code"]}, {"error": "access_denied"}):
                forged.append((await http.get(parts._replace(query=urlencode(query)).geturl())).status_code)
            forged.append((await http.get(parts._replace(path="/other").geturl())).status_code)
            forged.append((await http.post(target)).status_code)

    place.browser = Browser(before=forge).open
    with guarded(place.folder) as url:
        place.servers.apply([spec(url)])
        await until(place, "needs_sign_in")
        await bounded(place.servers.sign_in("guarded"))
        await until(place, "connected")

    assert forged == [400] * 5


async def test_a_refusal_of_the_user_ends_the_sign_in(place: Place) -> None:
    browser = Browser()
    place.browser = browser.open
    with guarded(place.folder) as url:
        place.servers.apply([spec(url)])
        await until(place, "needs_sign_in")
        (place.folder / "refuse").touch()
        with pytest.raises(ToolError, match="The sign-in was refused: access_denied"):
            await bounded(place.servers.sign_in("guarded"))

    assert browser.pages == ["The sign-in failed. You can close this page."]
    assert place.keys.kept == {}


async def test_one_sign_in_at_a_time_which_can_be_cancelled(place: Place) -> None:
    is_open = asyncio.Event()

    async def wait(address: str) -> None:
        is_open.set()

    place.browser = wait
    with guarded(place.folder) as url:
        place.servers.apply([spec(url)])
        await until(place, "needs_sign_in")
        first = asyncio.create_task(place.servers.sign_in("guarded"))
        await bounded(is_open.wait())
        with pytest.raises(ToolError, match="A sign-in to guarded is under way"):
            await place.servers.sign_in("guarded")
        first.cancel()
        await asyncio.wait([first])
        place.browser = Browser().open
        await bounded(place.servers.sign_in("guarded"))

    assert first.cancelled()


@pytest.mark.parametrize(
    ("name", "problem"),
    [("nobody", "There is no MCP server 'nobody'"), ("program", "program is a program, so there is no sign-in")],
)
async def test_a_server_without_a_sign_in_says_so(name: str, problem: str, place: Place) -> None:
    place.servers.apply(
        [ServerSpec(name="program", command="true", is_enabled=False, startup_timeout_s=1, timeout_s=1)]
    )
    with pytest.raises(ToolError, match=problem):
        await place.servers.sign_in(name)
