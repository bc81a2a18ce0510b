"""A client made of the official SDK, with buffers of its own, at the other end of the real command.

Whatever the agent sends is read by the SDK's types, which drop what they do not know: a message that they do not give
back as it came is a fault.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from acp.client.connection import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent
from acp.exceptions import RequestError
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    CreateTerminalResponse,
    DeniedOutcome,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ReadTextFileResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionNotification,
    TerminalOutputResponse,
    ToolCallUpdate,
    WaitForTerminalExitResponse,
)
from acp.stdio import spawn_agent_process
from pydantic import BaseModel

from tests.clients.launching import daemon_program
from tests.e2e.command_line import WAIT_S, clean_environment

Model = TypeVar("Model", bound=BaseModel)

FILES: Mapping[str, Any] = {"fs": {"readTextFile": True, "writeTextFile": True}}


@dataclass(kw_only=True)
class AcpClient:
    """What the client holds, and how its user answers."""

    answer: str = "allow_once"
    """Kind of option that the user chooses; empty if they close the question."""
    before_answer: Callable[[], None] = lambda: None
    buffers: dict[str, str] = field(default_factory=dict[str, str])
    drops_writes: bool = False
    form_answer: str = ""
    forms: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    """Message and schema of each form that was shown."""
    n_requests: int = 0
    """Requests so far; the SDK numbers them from 0."""
    commands: list[list[str]] = field(default_factory=list[list[str]])
    """Commands that were run in terminals."""
    terminals: dict[str, asyncio.subprocess.Process] = field(default_factory=dict[str, asyncio.subprocess.Process])
    released: list[str] = field(default_factory=list[str])
    updates: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    faults: list[str] = field(default_factory=list[str])
    connection: ClientSideConnection = field(init=False)
    process: asyncio.subprocess.Process = field(init=False)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    # What the SDK calls

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Answer for the user."""
        del session_id, tool_call
        self.before_answer()
        chosen = next((each.option_id for each in options if each.kind == self.answer), None)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> AcceptElicitationResponse:
        """Fill in the form as the user would."""
        self.forms.append((message, mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True)))
        return AcceptElicitationResponse(action="accept", content={"answer": self.form_answer})

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """The update was noted as it came."""

    async def read_text_file(self, path: str, session_id: str, **_: Any) -> ReadTextFileResponse:
        """Give the buffer, or the file."""
        del session_id
        if path in self.buffers:
            return ReadTextFileResponse(content=self.buffers[path])
        try:
            return ReadTextFileResponse(content=await asyncio.to_thread(Path(path).read_text))
        except OSError:
            raise RequestError.resource_not_found(path) from None

    async def write_text_file(self, content: str, path: str, session_id: str, **_: Any) -> None:
        """Take the text into a buffer, which is not saved."""
        del session_id
        if not self.drops_writes:
            self.buffers[path] = content

    async def create_terminal(
        self, command: str, session_id: str, args: list[str] | None = None, cwd: str | None = None, **_: Any
    ) -> CreateTerminalResponse:
        """Run a command of the user's."""
        del session_id
        self.commands.append([command, *(args or [])])
        process = await asyncio.create_subprocess_exec(
            command, *(args or []), cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        terminal_id = f"terminal-{len(self.commands)}"
        self.terminals[terminal_id] = process
        return CreateTerminalResponse(terminal_id=terminal_id)

    async def wait_for_terminal_exit(self, terminal_id: str, session_id: str, **_: Any) -> WaitForTerminalExitResponse:
        """Wait for the end."""
        del session_id
        code = await self.terminals[terminal_id].wait()
        exit_code, ended_by = (code, None) if code >= 0 else (None, "SIGKILL")
        return WaitForTerminalExitResponse(exit_code=exit_code, signal=ended_by)

    async def terminal_output(self, terminal_id: str, session_id: str, **_: Any) -> TerminalOutputResponse:
        """Give the output of a command that has ended."""
        del session_id
        stdout = self.terminals[terminal_id].stdout
        assert stdout is not None
        return TerminalOutputResponse(output=(await stdout.read()).decode(), truncated=False)

    async def kill_terminal(self, terminal_id: str, session_id: str, **_: Any) -> None:
        """End a command."""
        del session_id
        if self.terminals[terminal_id].returncode is None:
            self.terminals[terminal_id].kill()

    async def release_terminal(self, terminal_id: str, session_id: str, **_: Any) -> None:
        """Forget a command."""
        del session_id
        self.released.append(terminal_id)

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""

    async def watch(self, event: StreamEvent) -> None:
        """Note a message, and whether the official types give it back."""
        message = event.message
        if event.direction is not StreamDirection.INCOMING or "method" not in message:
            return
        params = message["params"]
        if message["method"] == "session/update":
            self.updates.append(params["update"])
            self._check(SessionNotification, params)
        elif message["method"] == "session/request_permission":
            self.asked.append(params)
            self._check(RequestPermissionRequest, params)
        async with self._changed:
            self._changed.notify_all()

    def _check(self, kind: type[BaseModel], given: Mapping[str, Any]) -> None:
        read = kind.model_validate(given).model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        if read != _without_null(given):
            self.faults.append(f"{given} is read as {read}")

    # What tests call

    async def until(self, true: Callable[[], bool]) -> None:
        """Return when a condition on what came holds. Raises TimeoutError."""
        async with asyncio.timeout(WAIT_S), self._changed:
            await self._changed.wait_for(true)

    async def initialize(self, capabilities: Mapping[str, Any] = FILES) -> InitializeResponse:
        """Greet the agent."""
        return await self.request(
            "initialize", {"protocolVersion": 1, "clientCapabilities": capabilities}, InitializeResponse
        )

    async def new(self, folder: Path, servers: Sequence[Mapping[str, Any]] = ()) -> str:
        """Create a session; its id."""
        made = await self.request("session/new", {"cwd": str(folder), "mcpServers": list(servers)}, NewSessionResponse)
        return made.session_id

    async def load(self, folder: Path, session_id: str) -> LoadSessionResponse:
        """Load a session."""
        params: dict[str, Any] = {"cwd": str(folder), "sessionId": session_id, "mcpServers": []}
        return await self.request("session/load", params, LoadSessionResponse)

    async def prompt(self, session_id: str, *blocks: str | Mapping[str, Any]) -> str:
        """Run a turn; its stop reason."""
        prompt = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
        done = await self.request("session/prompt", {"sessionId": session_id, "prompt": prompt}, PromptResponse)
        return done.stop_reason

    async def request(self, method: str, params: Mapping[str, Any], kind: type[Model]) -> Model:
        """Send a request; the result must be what the official type gives back."""
        answer = await self.raw(method, params)
        self._check(kind, answer)
        return kind.model_validate(answer)

    async def raw(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; its result as it came. Raises `RequestError`."""
        self.n_requests += 1
        async with asyncio.timeout(WAIT_S):
            return cast("dict[str, Any]", await self.connection._conn.send_request(method, dict(params)))  # pyright: ignore[reportPrivateUsage]

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        await self.connection._conn.send_notification(method, dict(params))  # pyright: ignore[reportPrivateUsage]

    def kinds(self) -> list[str]:
        """Kinds of the updates, each once, in order."""
        return list(dict.fromkeys(each["sessionUpdate"] for each in self.updates))

    def said(self, kind: str = "agent_message_chunk") -> str:
        """The text of one kind of update."""
        return "".join(each["content"]["text"] for each in self.updates if each["sessionUpdate"] == kind)

    def calls(self) -> list[dict[str, Any]]:
        """The tool calls as they are now: updates applied in order."""
        calls: dict[str, dict[str, Any]] = {}
        for each in self.updates:
            if each["sessionUpdate"] in ("tool_call", "tool_call_update"):
                calls.setdefault(each["toolCallId"], {}).update(each)
        return list(calls.values())


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        kept = cast("dict[str, Any]", value)
        return {key: _without_null(each) for key, each in kept.items() if each is not None}
    return [_without_null(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


@asynccontextmanager
async def acp_client(folder: Path, home: Path, **environment: str) -> AsyncGenerator[AcpClient]:
    """The command and its client; a fault of the protocol fails the test."""
    client = AcpClient()
    env = clean_environment(home, **environment)
    with tempfile.TemporaryDirectory(prefix="pa-") as short, daemon_program(Path(short)) as programs:
        async with spawn_agent_process(
            client,  # pyright: ignore[reportArgumentType]
            str(programs / "pygent-ls"),
            "acp",
            env=env,
            cwd=folder,
            transport_kwargs={"stderr": None},
            observers=[client.watch],
            use_unstable_protocol=True,  # forms are stable since, in the TypeScript SDK
        ) as (connection, process):
            client.connection, client.process = connection, process
            yield client
    assert client.faults == []
