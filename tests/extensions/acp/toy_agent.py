"""An agent on the official SDK that does what its prompt says, and checks each answer against the SDK's types.

A prompt is a JSON list of steps, each a list of a name and arguments. Steps that get something say what they got.
`toy_agent.py [OPTION=VALUE …]`: `log=FILE`, `modes=ID,ID`, `load=1`, `resume=1`, `sign_in=1`, `models=NAME,NAME`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acp import run_agent
from acp.exceptions import RequestError
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    AuthMethodAgent,
    CreateTerminalRequest,
    CreateTerminalResponse,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    RequestPermissionRequest,
    RequestPermissionResponse,
    ResumeSessionResponse,
    SessionNotification,
    SetSessionModeResponse,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
)

OPTIONS: dict[str, str] = {each.partition("=")[0]: each.partition("=")[2] for each in sys.argv[1:]}

ALLOW_OR_NOT = [
    {"optionId": "no", "name": "No", "kind": "reject_once"},
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
]


def log(*words: Any) -> None:
    """Write a line to the log file."""
    if file := OPTIONS.get("log"):
        with Path(file).open("a") as stream:
            stream.write(" ".join(map(str, words)) + "\n")


class ToyAgent:
    """The agent."""

    def __init__(self) -> None:
        self.conn: Any = None
        self.cancelled = asyncio.Event()
        self.n_sessions = 0
        self.is_signed_in = False
        self.capabilities: Any = None
        self.cwd = ""

    def on_connect(self, conn: Any) -> None:
        """Keep the connection."""
        self.conn = conn

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        """Tell what it can."""
        log("initialize", os.getpid())
        self.capabilities = client_capabilities
        ways: list[Any] = [
            AuthMethodAgent(id="browser", name="In the browser"),
            AuthMethodAgent(id="other", name="Another way"),
        ]
        sessions: dict[str, Any] = {"resume": {}} if OPTIONS.get("resume") else {}
        return InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=AgentCapabilities.model_validate(
                {
                    "loadSession": bool(OPTIONS.get("load")),
                    "sessionCapabilities": sessions,
                    "promptCapabilities": {"image": bool(OPTIONS.get("images"))},
                }
            ),
            auth_methods=ways if OPTIONS.get("sign_in") else [],
        )

    async def authenticate(self, method_id: str, **_: Any) -> Any:
        """Sign in."""
        log("authenticate", method_id)
        self.is_signed_in = True
        return AuthenticateResponse()

    async def new_session(self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any) -> Any:
        """Begin a session."""
        if OPTIONS.get("sign_in") and not self.is_signed_in:
            raise RequestError.auth_required()
        self.n_sessions += 1
        self.cwd = cwd
        names = ",".join(each.name for each in mcp_servers or [])
        log("new", cwd, names)
        session_id = f"{os.getpid()}-{self.n_sessions}"
        return NewSessionResponse.model_validate({"sessionId": session_id, **self.choices()})

    def choices(self) -> dict[str, Any]:
        """Return what a session can be set to."""
        given: dict[str, Any] = {}
        modes = [each for each in OPTIONS.get("modes", "").split(",") if each]
        if modes:
            available = [{"id": each, "name": each} for each in modes]
            given["modes"] = {"currentModeId": modes[0], "availableModes": available}
        if models := OPTIONS.get("models"):
            options = [{"value": each, "name": each} for each in models.split(",")]
            given["configOptions"] = [
                {"type": "select", "id": "m", "name": "Model", "category": "model", "currentValue": options[0]["value"],
                 "options": options}
            ]  # fmt: skip
        return given

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> Any:
        """Replay an earlier session."""
        log("load", session_id)
        self.cwd = cwd
        await self.update(session_id, {"sessionUpdate": "agent_message_chunk", "content": _text("Said before.")})
        return LoadSessionResponse.model_validate(self.choices())

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> Any:
        """Go on with an earlier session."""
        log("resume", session_id)
        self.cwd = cwd
        return ResumeSessionResponse.model_validate(self.choices())

    async def set_session_mode(self, mode_id: str, **_: Any) -> Any:
        """Set the mode."""
        log("mode", mode_id)
        return SetSessionModeResponse()

    async def set_config_option(self, config_id: str, value: str, **_: Any) -> Any:
        """Set an option."""
        log("option", config_id, value)
        return {"configOptions": []}

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop, unless told to go on."""
        log("cancel", session_id)
        self.cancelled.set()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> Any:
        """Do the steps of the prompt."""
        self.cancelled.clear()
        said = [each.text if each.type == "text" else f"<{each.type}>" for each in prompt]
        log("prompt", json.dumps(said))
        stop, usage = "end_turn", None
        steps: list[list[Any]] = json.loads(said[-1]) if said[-1].startswith("[") else []
        for name, *arguments in steps:
            if name == "stop":
                stop = arguments[0]
            elif name == "usage":
                usage = arguments[0]
            elif name == "prompt":
                await self.say(session_id, json.dumps(said[:-1]))
            else:
                await getattr(self, f"do_{name}")(session_id, *arguments)
        if self.cancelled.is_set():
            stop = "cancelled"
        return PromptResponse.model_validate({"stopReason": stop, "usage": usage})

    async def update(self, session_id: str, update: dict[str, Any]) -> None:
        """Send an update, in the SDK's types."""
        SessionNotification.model_validate({"sessionId": session_id, "update": update})
        await self.conn._conn.send_notification("session/update", {"sessionId": session_id, "update": update})

    async def ask(self, method: str, asked: Any, answered: Any, **params: Any) -> Any:
        """Send a request; both are checked."""
        asked.model_validate(params)
        return answered.model_validate(await self.conn._conn.send_request(method, params))

    async def say(self, session_id: str, said: str) -> None:
        """Say something."""
        await self.update(session_id, {"sessionUpdate": "agent_message_chunk", "content": _text(said)})

    # The steps

    async def do_say(self, session_id: str, said: str) -> None:
        await self.say(session_id, said)

    async def do_think(self, session_id: str, said: str) -> None:
        await self.update(session_id, {"sessionUpdate": "agent_thought_chunk", "content": _text(said)})

    async def do_update(self, session_id: str, update: dict[str, Any]) -> None:
        await self.update(session_id, update)

    async def do_raw(self, session_id: str, update: dict[str, Any]) -> None:
        params = {"sessionId": session_id, "update": update}
        await self.conn._conn.send_notification("session/update", params)

    async def do_noise(self, _: str, line: str) -> None:
        os.set_blocking(1, True)
        os.write(1, f"{line}\n".encode())
        os.set_blocking(1, False)

    async def do_call(self, session_id: str, call_id: str, fields: dict[str, Any]) -> None:
        await self.update(session_id, {"sessionUpdate": "tool_call", "toolCallId": call_id, "title": call_id, **fields})

    async def do_progress(self, session_id: str, call_id: str, fields: dict[str, Any]) -> None:
        await self.update(session_id, {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields})

    async def do_permit(self, session_id: str, call_id: str, fields: dict[str, Any]) -> None:
        answer = await self.ask(
            "session/request_permission",
            RequestPermissionRequest,
            RequestPermissionResponse,
            sessionId=session_id,
            toolCall={"toolCallId": call_id, **fields},
            options=ALLOW_OR_NOT,
        )
        await self.say(session_id, f"[{getattr(answer.outcome, 'option_id', 'cancelled')}]")

    async def do_read(self, session_id: str, path: str, **lines: Any) -> None:
        try:
            answer = await self.ask(
                "fs/read_text_file",
                ReadTextFileRequest,
                ReadTextFileResponse,
                sessionId=session_id,
                path=self.at(path),
                **lines,
            )
            await self.say(session_id, f"[{answer.content}]")
        except RequestError as error:
            await self.say(session_id, f"[{error.code}: {error}]")

    async def do_read_lines(self, session_id: str, path: str, line: int, limit: int) -> None:
        await self.do_read(session_id, path, line=line, limit=limit)

    async def do_write(self, session_id: str, path: str, content: str) -> None:
        params = {"sessionId": session_id, "path": self.at(path), "content": content}
        WriteTextFileRequest.model_validate(params)
        try:
            await self.conn._conn.send_request("fs/write_text_file", params)
            await self.say(session_id, "[written]")
        except RequestError as error:
            await self.say(session_id, f"[{error.code}: {error}]")

    async def do_disk(self, _: str, path: str, content: str) -> None:
        await asyncio.to_thread(Path(self.at(path)).write_text, content)

    async def do_remove(self, _: str, path: str) -> None:
        await asyncio.to_thread(Path(self.at(path)).unlink)

    async def do_terminal(self, session_id: str, command: str, *arguments: str, **more: Any) -> None:
        made = await self.ask(
            "terminal/create",
            CreateTerminalRequest,
            CreateTerminalResponse,
            sessionId=session_id,
            command=command,
            args=list(arguments),
            **more,
        )
        at = {"sessionId": session_id, "terminalId": made.terminal_id}
        ended = await self.ask("terminal/wait_for_exit", WaitForTerminalExitRequest, WaitForTerminalExitResponse, **at)
        shown = await self.ask("terminal/output", TerminalOutputRequest, TerminalOutputResponse, **at)
        ReleaseTerminalRequest.model_validate(at)
        await self.conn._conn.send_request("terminal/release", at)
        await self.say(session_id, f"[{ended.exit_code}: {shown.output}]")

    async def do_terminal_with(self, session_id: str, command: str, more: dict[str, Any]) -> None:
        await self.do_terminal(session_id, command, **more)

    async def do_hang(self, session_id: str, *how: str) -> None:
        await self.say(session_id, "Hanging. ")
        if "deaf" in how:
            os.read(os.pipe()[0], 1)  # it hears nothing, not even that it is cancelled
        await self.cancelled.wait()

    async def do_flood(self, session_id: str, n: int, chars: int) -> None:
        for _ in range(n):
            await self.say(session_id, "x" * chars)

    async def do_exit(self, _: str, code: int) -> None:
        sys.stderr.write("It is all over.\n")
        sys.stderr.flush()
        os._exit(code)

    async def do_together(self, session_id: str, *steps: list[Any]) -> None:
        await asyncio.gather(*(getattr(self, f"do_{name}")(session_id, *arguments) for name, *arguments in steps))

    async def do_line(self, _: str, line: str) -> None:
        await self.do_noise("", line)

    async def do_start(self, session_id: str, *words: str) -> None:
        started = await asyncio.create_subprocess_exec(*words, start_new_session=True)
        await self.say(session_id, str(started.pid))

    async def do_vendor(self, session_id: str) -> None:
        try:
            await self.conn._conn.send_request("vendor/anything", {"sessionId": session_id})
        except RequestError as error:
            await self.say(session_id, f"[{error.code}]")

    def at(self, path: str) -> str:
        """Return the absolute path."""
        return str(Path(self.cwd) / path)


def _text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


if __name__ == "__main__":
    asyncio.run(run_agent(ToyAgent(), use_unstable_protocol=True))  # pyright: ignore[reportArgumentType]
