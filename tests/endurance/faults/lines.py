"""Single lines of 10 MB at every place where lines are read."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.endurance.editor import let_pass
from tests.endurance.faults.stage import AFTERWARDS, Stage, stage
from tests.model_server import Step

N_CHARS = 10_000_000

N_EDITABLE = 9_900_000
"""A line that is still edited."""

MCP = """
import json, sys
NAMES = ("long", "short", "noise")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    given = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "toy", "version": "1"}},
        "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]},
    }.get(asked["method"])
    if given is None:
        name = asked.get("params", {}).get("name")
        if name == "noise":
            sys.stdout.write("z" * 10_000_000 + "\\n")
        text = "w" * 10_000_000 if name == "long" else "a short result"
        given = {"content": [{"type": "text", "text": text}]}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": given}) + "\\n")
    sys.stdout.flush()
"""


def _script(root: Path, name: str, text: str) -> list[str]:
    path = root / name
    path.write_text(text)
    return [sys.executable, str(path)]


async def servers_connect(here: Stage) -> None:
    """Wait until every MCP server is connected."""
    async with asyncio.timeout(30):
        while any(each["state"] != "connected" for each in (await here.editor.ask("pygent/mcp/status"))["servers"]):
            await let_pass(0.05)


async def _short_and_bounded(here: Stage, before_bytes: int, grows_mb: float) -> None:
    await here.goes_on()
    grown = here.daemon.resident_bytes() - before_bytes
    assert grown < grows_mb * 1e6, f"grown by {grown / 1e6:.0f} MB"
    sent = max(len(json.dumps(each.body)) for each in here.requests)
    assert sent < 1_000_000, f"a request of {sent} bytes"


async def in_the_output_of_a_command(root: Path) -> None:
    """The model gets a part, and the other request is answered meanwhile."""
    async with stage(root) as here:
        await here.goes_on()
        before_bytes = here.daemon.resident_bytes()
        said = await here.tool("shell", command=f"head -c {N_CHARS} /dev/zero | tr '\\0' x; echo; echo the end")
        assert "the end" in said
        await _short_and_bounded(here, before_bytes, 100)


async def in_a_file(root: Path) -> None:
    """The file is read in parts, searched, and edited up to the limit of its size."""
    async with stage(root, applies_edits=True) as here:
        await here.goes_on()
        before_bytes = here.daemon.resident_bytes()
        path = here.folder / "a.txt"
        path.write_text("x" * N_CHARS + "needle" + "y" * 100 + "\n")
        assert "start_column" in await here.tool("read_file", path="a.txt")
        said = await here.tool("read_file", path="a.txt", start_line=1, start_column=N_CHARS)
        assert "needle" in said, said
        said = await here.tool("grep_search", pattern="needle")
        assert f"byte {N_CHARS + 1}" in said, said
        said = await here.tool("edit_file", path="a.txt", old="needle", new="pin")
        assert said.startswith("ERROR"), said
        assert "shell" in said, said
        path.write_text("x" * N_EDITABLE + "needle\n")
        said = await here.tool("edit_file", path="a.txt", old="needle", new="pin")
        assert not said.startswith("ERROR"), said
        assert path.read_text() == "x" * N_EDITABLE + "pin\n"
        await here.turn(prompt="/undo")
        assert path.read_text() == "x" * N_EDITABLE + "needle\n"
        await _short_and_bounded(here, before_bytes, 250)


async def in_an_open_document(root: Path) -> None:
    """An editor sends it, changes it, and the agent edits it."""
    async with stage(root, applies_edits=True) as here:
        path = here.folder / "a.txt"
        path.write_text("x" * N_CHARS + "needle\n")
        uri = here.editor.documents.open(path)
        here.editor.documents.type_over(uri, "first\n" + here.editor.documents.text(uri))
        await here.answers_within(10)
        said = await here.tool("edit_file", path="a.txt", old="needle", new="pin")
        assert not said.startswith("ERROR"), said[:500]
        assert here.editor.documents.text(uri) == "first\n" + "x" * N_CHARS + "pin\n"
        await here.goes_on()


async def in_the_output_of_an_mcp_server(root: Path) -> None:
    """A long result is shortened, and a line that is not a message has no other effect."""
    command = _script(root, "toy.py", MCP)
    servers = {"toy": {"command": command[0], "args": command[1:]}}
    settings = {
        "PYGENT_MCP_SERVERS": json.dumps(servers),
        "PYGENT_PERMISSIONS": '{"allow": ["mcp__toy__long", "mcp__toy__short", "mcp__toy__noise"]}',
    }
    async with stage(root, settings=settings) as here:
        await servers_connect(here)
        assert "a short result" in await here.tool("mcp__toy__short")
        before_bytes = here.daemon.resident_bytes()
        said = await here.tool("mcp__toy__long")
        assert len(said) < 200_000
        assert said.startswith("ERROR") or "www" in said, said[:300]
        await here.tool("mcp__toy__noise")
        async with asyncio.timeout(60):  # it may be ended a moment after its answer
            while "a short result" not in (said := await here.tool("mcp__toy__short")):
                assert said.startswith("ERROR"), said
                await servers_connect(here)
        await _short_and_bounded(here, before_bytes, 150)


async def in_the_output_of_a_hook(root: Path) -> None:
    """The output is not taken for a decision, and the turn goes on."""
    (root / "project").mkdir()
    command = _script(root, "hook.py", "print('h' * 10_000_000)")
    hooks = [{"event": "user_prompt_submit", "command": " ".join(command)}]
    async with stage(root, settings={"PYGENT_HOOKS": json.dumps(hooks)}) as here:
        turn = await here.turn(Step(text=AFTERWARDS))
        assert turn.result["text"] == AFTERWARDS, turn.result
        before_bytes = here.daemon.resident_bytes()
        await here.turn(Step(text=AFTERWARDS))
        await _short_and_bounded(here, before_bytes, 60)


async def in_the_output_of_a_command_line_model(root: Path) -> None:
    """The output is an answer that is cut, or an error."""
    command = _script(root, "model.py", "import sys; sys.stdin.read(); print('m' * 10_000_000)")
    models: Mapping[str, object] = {"toy": {"command": command, "format": "plain", "stream": True}}
    async with stage(root, settings={"PYGENT_CLI_MODELS": json.dumps(models)}) as here:
        await here.goes_on()
        before_bytes = here.daemon.resident_bytes()
        turn = await here.turn(model="cli:toy", wait_s=90)
        assert turn.result["stopReason"] in ("end_turn", "error", "max_output_tokens"), turn.result["stopReason"]
        await here.goes_on()
        assert here.daemon.resident_bytes() - before_bytes < 250e6


async def in_a_prompt(root: Path) -> None:
    """A prompt of 10 MB is sent, or refused with a reason."""
    async with stage(root) as here:
        turn = await here.turn(Step(text="It is long."), prompt="p" * N_CHARS, wait_s=90)
        assert turn.result["stopReason"] in ("end_turn", "error"), turn.result
        await here.answers_within(5)
        here.session = (await here.editor.ask("pygent/session/new"))["sessionId"]
        await here.goes_on()


FAULTS = (in_the_output_of_a_command,)
LONG = (
    in_a_file,
    in_an_open_document,
    in_the_output_of_an_mcp_server,
    in_the_output_of_a_hook,
    in_the_output_of_a_command_line_model,
    in_a_prompt,
)
