"""Processes that are stopped for a while: the daemon, a command, an MCP server, the model's provider."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from time import monotonic

from tests.endurance.editor import let_pass
from tests.endurance.faults.lines import MCP, servers_connect
from tests.endurance.faults.model import END, HEAD, SHORT, byte_server, chunk, event
from tests.endurance.faults.stage import is_alive, stage
from tests.model_server import Call, Step


async def the_daemon(root: Path) -> None:
    """What was sent meanwhile is answered, and the answer that streamed is whole."""
    async with stage(root) as here:
        text = "words " * 4000
        turn = here.begin(Step(text=text, chunk=20, chunk_delay_s=0.001))
        await turn.until("text_delta")
        here.daemon.process.send_signal(signal.SIGSTOP)
        asked = [here.editor.begin("pygent/status", {}) for _ in range(50)]
        await let_pass(3)
        assert not any(each.done() for each in asked)
        here.daemon.process.send_signal(signal.SIGCONT)
        await asyncio.gather(*asked)
        await turn.end()
        assert turn.result["text"] == text
        await here.goes_on()


async def a_command(root: Path) -> None:
    """A command that is stopped runs out of its time, and ends with what it started."""
    async with stage(root) as here:
        began_s = monotonic()
        said = await here.tool("shell", command="echo $$; kill -STOP $$; echo goes on", timeout_s=2)
        assert "timed out" in said, said
        assert "goes on" not in said
        assert monotonic() - began_s < 30
        assert not is_alive(int(said.split()[0])), "the command still runs"
        turn = here.begin(Step(calls=(Call(name="shell", arguments={"command": "echo begun; kill -STOP $$"}),)))
        await turn.until("tool_progress")
        await turn.cancel()
        assert turn.result["stopReason"] == "cancelled"
        await here.goes_on()


async def an_mcp_server(root: Path) -> None:
    """A call of a server that is stopped can be cancelled; the server goes on afterwards or is started again."""
    path, pids = root / "toy.py", root / "pids"
    path.write_text(f"import os; open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n" + MCP)
    servers = {"toy": {"command": sys.executable, "args": [str(path)]}}
    settings = {"PYGENT_MCP_SERVERS": json.dumps(servers), "PYGENT_PERMISSIONS": '{"allow": ["mcp__toy__short"]}'}
    async with stage(root, settings=settings) as here:
        await servers_connect(here)
        assert "a short result" in await here.tool("mcp__toy__short")
        pid = int(pids.read_text().split()[-1])
        os.kill(pid, signal.SIGSTOP)
        turn = here.begin(Step(calls=(Call(name="mcp__toy__short"),)))
        await turn.until("tool_call")
        await here.answers_within(5)
        await turn.cancel()
        assert turn.result["stopReason"] == "cancelled"
        os.kill(pid, signal.SIGCONT)
        assert "a short result" in await here.tool("mcp__toy__short")
        await here.goes_on()


async def the_provider_for_a_while(root: Path) -> None:
    """A provider that says nothing for a time within the limit costs nothing."""
    go = threading.Event()

    def answer(connection: socket.socket) -> bool:
        connection.sendall(HEAD + chunk(event("One ")))
        go.wait(30)
        connection.sendall(chunk(event("two.")) + chunk(event("", "stop")) + chunk(b"data: [DONE]\n\n") + END)
        return True

    with byte_server() as server:
        async with stage(root, base_url=server.url, settings=SHORT | {"PYGENT_STREAM_IDLE_TIMEOUT_S": "20"}) as here:
            server.answers[:] = [answer]
            turn = here.begin()
            await turn.until("text_delta")
            await let_pass(3)
            await here.answers_within(5)
            go.set()
            await turn.end()
            assert turn.result["text"] == "One two.", turn.result
            assert not turn.of("llm_error")
            await here.goes_on()


async def the_provider_for_too_long(root: Path) -> None:
    """A provider that says nothing for longer is asked again, and what it said does not count."""
    with byte_server() as server:
        async with stage(root, base_url=server.url, settings=SHORT) as here:
            server.answers[:] = [
                lambda connection: (connection.sendall(HEAD + chunk(event("One "))), connection.recv(1))
            ]
            turn = here.begin()
            await turn.end()
            (error,) = turn.of("llm_error")
            assert (error["errorType"], len(error["withdrawn"])) == ("timeout", 1), error
            assert turn.result["text"] == "The fault is over.", turn.result
            await here.goes_on()


FAULTS = (a_command, the_provider_for_too_long)
LONG = (the_daemon, an_mcp_server, the_provider_for_a_while)
