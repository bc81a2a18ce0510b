"""`pygent-ls mcp serve`, called by the client of the SDK: questions, tasks, permission, sessions."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from tests.clients.launching import daemon_program
from tests.e2e.command_line import WAIT_S, clean_environment, run
from tests.fakes import bounded
from tests.model_server import Call, ModelServer, Step

PYGENT = Path(sys.executable).with_name("pygent-ls")

RUN = Call(name="shell", arguments={"command": "echo plum > fruit.txt"})

PLANT = Call(name="create_file", arguments={"path": "fruit.txt", "content": "plum\n"})

Era = Literal["auto", "legacy"]

ERAS: Sequence[Era] = ("auto", "legacy")
"""How the client connects: by the newest protocol, in which a form interrupts a call, or by an older one."""


@dataclass
class User:
    """Who answers the forms of the other agent's client."""

    answers: list[ElicitResult] = field(default_factory=list[ElicitResult])
    asked: list[ElicitRequestParams] = field(default_factory=list[ElicitRequestParams])

    async def answer(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context
        self.asked.append(params)
        return self.answers.pop(0)


@dataclass
class SlowUser(User):
    """Who answers once they are ready."""

    reads: asyncio.Event = field(default_factory=asyncio.Event)
    is_ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.reads.set()
        await self.is_ready.wait()
        return await super().answer(context, params)


@asynccontextmanager
async def agent(
    folder: Path, model: ModelServer, *options: str, user: User | None = None, mode: Era = "auto"
) -> AsyncGenerator[Client]:
    """The client of another agent."""
    environment = clean_environment(folder.parent / "home", **model.env(), PYGENT_MODEL="openai/mock")
    args = ["mcp", "serve", "--cwd", str(folder), *options]
    with tempfile.TemporaryDirectory(prefix="pm-") as short, daemon_program(Path(short)) as programs:
        server = StdioServerParameters(command=str(programs / "pygent-ls"), args=args, env=environment)
        answer = user.answer if user else None
        async with Client(server, elicitation_callback=answer, mode=mode, cache=None) as client:
            yield client


def accepted(answer: str) -> ElicitResult:
    """The form with this answer."""
    return ElicitResult(action="accept", content={"answer": answer})


def text_of(result: CallToolResult) -> str:
    """The text of a result."""
    return "".join(each.text for each in result.content if isinstance(each, TextContent))


def told(result: CallToolResult) -> dict[str, Any]:
    """The structured result."""
    assert result.structured_content is not None
    return result.structured_content


@pytest.mark.parametrize("mode", ERAS)
async def test_a_task_runs_what_the_user_allows_through_the_other_agents_client(folder: Path, mode: Era) -> None:
    user = User([accepted("Allow once"), accepted("Reject")])
    seen: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(message or "")

    with ModelServer([Step(calls=(PLANT,)), Step(text="Done.")] * 2) as model:
        async with agent(folder, model, user=user, mode=mode) as client:
            first = await bounded(client.call_tool("run", {"prompt": "grow a plum"}, progress_callback=note))
            assert (folder / "fruit.txt").read_text() == "plum\n"
            (folder / "fruit.txt").unlink()
            session = {"sessionId": told(first)["sessionId"]}
            second = await bounded(client.call_tool("run", {"prompt": "and again", **session}))

    assert (text_of(first), first.is_error) == ("Done.", False)
    assert told(second)["sessionId"] == told(first)["sessionId"]
    assert [each["path"] for each in told(first)["filesChanged"]] == [str(folder / "fruit.txt")]
    assert not (folder / "fruit.txt").exists()
    [asked, _] = user.asked
    assert asked.message.startswith("pygent-ls asks for permission: create_file (medium risk)\n")
    assert "+plum" in asked.message
    assert asked.mode == "form"
    assert asked.requested_schema["properties"]["answer"]["enum"] == ["Allow once", "Allow for this session", "Reject"]
    assert seen == ["Create fruit.txt"]


async def test_without_a_way_to_ask_nothing_is_run(folder: Path) -> None:
    with ModelServer([Step(calls=(RUN,)), Step(text="I may not.")]) as model:
        async with agent(folder, model) as client:
            result = await bounded(client.call_tool("run", {"prompt": "grow a plum"}))

    assert text_of(result).startswith("I may not.\n\n[Denied: ")
    assert "`permissions.allow`" in text_of(result)
    [denied] = told(result)["denied"]
    assert "echo plum" in denied["call"]
    assert not (folder / "fruit.txt").exists()
    assert "cannot ask its user" in model.requests[1].texts("tool")[-1]


async def test_a_question_is_answered_with_tools_that_only_read(folder: Path) -> None:
    (folder / "notes.txt").write_text("The plum is ripe.\n")
    reading = Call(name="read_file", arguments={"path": "notes.txt"})
    with ModelServer([Step(calls=(reading,)), Step(calls=(RUN,)), Step(text="It is ripe.")]) as model:
        async with agent(folder, model, "--permission-mode", "trust") as client:
            tools = (await client.list_tools()).tools
            result = await bounded(client.call_tool("ask", {"prompt": "is the plum ripe?"}))

    assert [each.name for each in tools] == ["ask", "run"]
    assert text_of(result) == "It is ripe."
    offered = {each["function"]["name"] for each in model.requests[0].body["tools"]}
    assert "read_file" in offered
    assert not offered & {"shell", "edit_file", "create_file", "task"}
    assert not (folder / "fruit.txt").exists()


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("run", {"prompt": " "}, "`prompt`: String should have at least 1 character"),
        ("ask", {"prompt": "x", "mode": "plan"}, "`mode`: Extra inputs are not permitted"),
        ("run", {"prompt": "x", "mode": "bypass"}, "The mode bypass is looser than the user's, default"),
        ("run", {"prompt": "x", "maxTurns": 0}, "`maxTurns`: Input should be greater than or equal to 1"),
        ("run", {"prompt": "x", "model": "openai/mock@http://127.0.0.1:1"}, "is not one that the user can select"),
        ("run", {"prompt": "x", "sessionId": "0123"}, "has no session '0123'"),
        ("fly", {"prompt": "x"}, "There is no tool 'fly'"),
    ],
)
async def test_a_wrong_call_says_what_is_wrong(
    tool: str, arguments: dict[str, Any], problem: str, folder: Path
) -> None:
    with ModelServer([]) as model:
        async with agent(folder, model) as client:
            result = await bounded(client.call_tool(tool, arguments))

    assert result.is_error
    assert problem in text_of(result)


async def test_sessions_of_the_folder_are_resources_and_others_are_not(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with ModelServer([Step(text="Secret."), Step(text="Plums are blue.")]) as model:
        async with agent(elsewhere.resolve(), model) as client:
            other = told(await bounded(client.call_tool("ask", {"prompt": "tell a secret"})))["sessionId"]
        async with agent(folder, model) as client:
            await bounded(client.call_tool("ask", {"prompt": "what colour are plums?"}))
            [listed] = (await client.list_resources()).resources
            [content] = (await client.read_resource(listed.uri)).contents
            with pytest.raises(MCPError, match="has no session"):
                await client.read_resource(f"pygent://session/{other}")
            continued = await bounded(client.call_tool("run", {"prompt": "and the secret?", "sessionId": other}))

    assert continued.is_error
    assert "has no session" in text_of(continued)
    assert listed.name == "what colour are plums?"
    assert "Plums are blue." in getattr(content, "text", "")


@pytest.mark.parametrize("mode", ERAS)
async def test_a_cancelled_call_stops_its_turn(folder: Path, mode: Era) -> None:
    waiting = Call(name="shell", arguments={"command": "echo now > begun; sleep 1000"})
    os.mkfifo(folder / "begun")
    begun = os.open(folder / "begun", os.O_RDONLY | os.O_NONBLOCK)
    with ModelServer([Step(calls=(waiting,)), Step(text="It slept."), Step(text="Hello.")]) as model:
        async with agent(folder, model, user=User([accepted("Allow once")]), mode=mode) as client:
            calling = asyncio.create_task(client.call_tool("run", {"prompt": "sleep"}))
            assert await asyncio.to_thread(select.select, [begun], [], [], WAIT_S) != ([], [], [])
            calling.cancel()
            await asyncio.wait([calling])
            result = await bounded(client.call_tool("ask", {"prompt": "hello?"}))

    os.close(begun)
    assert calling.cancelled()
    assert text_of(result) == "It slept."


async def test_the_server_ends_with_its_input_and_leaves_no_process(folder: Path) -> None:
    sleeping = Call(name="shell", arguments={"command": "echo $$ > pid; exec sleep 1000"})
    os.mkfifo(folder / "pid")
    told_pid = os.open(folder / "pid", os.O_RDONLY | os.O_NONBLOCK)
    with ModelServer([Step(calls=(sleeping,)), Step(text="Done.")]) as model:
        async with agent(folder, model, user=User([accepted("Allow once")])) as client:
            calling = asyncio.create_task(client.call_tool("run", {"prompt": "sleep"}))
            assert await asyncio.to_thread(select.select, [told_pid], [], [], WAIT_S) != ([], [], [])
            sleeper = os.pidfd_open(int(os.read(told_pid, 20)))
        await asyncio.wait([calling])

    assert await asyncio.to_thread(select.select, [sleeper], [], [], WAIT_S) != ([], [], [])
    os.close(sleeper)
    os.close(told_pid)


@pytest.mark.parametrize("tool", ["ask", "run"])
async def test_commands_and_mentions_in_a_prompt_are_text_for_the_model(tool: str, folder: Path) -> None:
    (folder / "notes.txt").write_text("The plum is ripe.\n")
    with ModelServer([Step(text="I read it.")] * 4) as model:
        async with agent(folder, model) as client:
            for prompt in ("/export markdown leak.md --force", "/mode bypass", "@agent-code /init", "@notes.txt"):
                result = await bounded(client.call_tool(tool, {"prompt": prompt}))
                assert text_of(result) == "I read it."

    assert [each.texts("user")[-1].splitlines()[-1] for each in model.requests] == [
        "/export markdown leak.md --force",
        "/mode bypass",
        "@agent-code /init",
        "@notes.txt",
    ]
    assert "The plum is ripe." not in str([each.body for each in model.requests])
    assert not (folder / "leak.md").exists()


async def test_a_limit_and_a_mode_of_a_call_are_stricter_than_the_users(folder: Path) -> None:
    with ModelServer([Step(calls=(PLANT,)), Step(text="I may not."), Step(calls=(PLANT,))]) as model:
        async with agent(folder, model, "--permission-mode", "trust") as client:
            planned = await bounded(client.call_tool("run", {"prompt": "grow", "mode": "plan", "model": "openai/mock"}))
            assert not (folder / "fruit.txt").exists()
            limited = await bounded(client.call_tool("run", {"prompt": "grow", "maxTurns": 1}))

    assert [each["call"] for each in told(planned)["denied"]] == ["Create fruit.txt"]
    assert told(limited)["stopReason"] == "max_iterations"
    assert limited.is_error
    assert len(model.requests) == 3


async def test_calls_at_the_same_time_run_in_sessions_of_their_own(folder: Path) -> None:
    user = SlowUser([accepted("Allow once")])
    with ModelServer([Step(calls=(PLANT,)), Step(text="Second."), Step(text="First.")]) as model:
        async with agent(folder, model, user=user) as client:
            calling = asyncio.create_task(client.call_tool("run", {"prompt": "grow"}))
            await bounded(user.reads.wait())
            second = await bounded(client.call_tool("ask", {"prompt": "hello?"}))
            user.is_ready.set()
            first = await bounded(calling)

    assert (text_of(first), text_of(second)) == ("First.", "Second.")
    assert told(first)["sessionId"] != told(second)["sessionId"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_killed_server_leaves_no_process(number: signal.Signals, folder: Path) -> None:
    sleeping = Call(name="shell", arguments={"command": "echo $$ > first; exec sleep 1000", "background": True})
    telling = Call(name="shell", arguments={"command": "until [ -s first ]; do :; done; cat first > pid"})
    os.mkfifo(folder / "pid")
    told_pid = os.open(folder / "pid", os.O_RDONLY | os.O_NONBLOCK)
    version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "run", "arguments": {"prompt": "sleep"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": version},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    with ModelServer([Step(calls=(sleeping,)), Step(calls=(telling,)), Step(text="Done.")]) as model:
        environment = clean_environment(
            folder.parent / "home", **model.env(), PYGENT_MODEL="openai/mock", PYGENT_PERMISSIONS='{"allow": ["shell"]}'
        )
        server = await asyncio.create_subprocess_exec(
            PYGENT,
            "mcp",
            "serve",
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert server.stdin is not None
        server.stdin.write("".join(f"{json.dumps(each)}\n" for each in messages).encode())
        assert await asyncio.to_thread(select.select, [told_pid], [], [], WAIT_S) != ([], [], [])
        sleeper = os.pidfd_open(int(os.read(told_pid, 20)))
        server.send_signal(number)
        await bounded(server.wait())

    assert await asyncio.to_thread(select.select, [sleeper], [], [], WAIT_S) != ([], [], [])
    os.close(sleeper)
    os.close(told_pid)


def test_a_mode_that_the_user_has_not_allowed_is_refused_at_the_start(folder: Path) -> None:
    done = run(
        *("mcp", "serve", "--permission-mode", "bypassPermissions"),
        environment=clean_environment(folder.parent / "home"),
        cwd=folder,
    )

    assert done.returncode == 2
    assert "needs `allow_bypass = true`" in done.stderr
