"""A running agent, and its sessions."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls import __version__
from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.external_agent import AgentHost, AgentSession, ExternalPrompt
from pygent_ls.agent.json_fields import number, obj, objects, text, texts
from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.agent.ports.questioner import AnswerChoice
from pygent_ls.errors import ModelError, ToolError
from pygent_ls.extensions.acp.connection import AgentTransport
from pygent_ls.extensions.acp.programs import AgentCommand, AgentProgram, agent_error
from pygent_ls.extensions.acp.session import INVALID_PARAMS, METHOD_NOT_FOUND, RemoteSession, RequestRefusedError
from pygent_ls.extensions.mcp.server import ServerSpec
from pygent_ls.extensions.pipes import RunProgram

if TYPE_CHECKING:
    from acp.connection import Connection

T = TypeVar("T")

PROTOCOL_VERSION = 1

START_S = 60.0
"""Maximum time until the agent has answered `initialize`. Some load for ten seconds on a slow machine."""

SESSION_S = 60.0
"""Maximum time to create or load a session."""

SIGN_IN_S = 600.0
"""Maximum time of a sign-in, in which the user is busy in a browser."""

CANCEL_S = 3.0
"""Time for an agent to stop once its prompt is cancelled; then its process is ended."""

EXIT_S = 1.0
"""Time for the process to end by itself once its input is closed; SIGTERM follows."""

AUTH_REQUIRED = -32000

MARK = "PYGENT_AGENT_PROCESS"
"""Variable in the environment of an agent, by which what it has started is known."""

_ASKING = ("ask", "default", "read-only", "manual", "normal")
"""Names of modes in which an agent asks before it acts, the best first."""


class AgentServices(Struct, frozen=True, kw_only=True):
    """What agents need of the program that hosts them."""

    run: RunProgram
    find: Callable[[str], str | None]
    """Finds a program on the search path."""
    folder: Callable[[], Path]
    """Returns the folder that the process runs in."""
    servers: Callable[[], Sequence[ServerSpec]]
    """Returns the MCP servers that agents are given."""
    end_marked: Callable[[str, str], None]
    """Kills the processes whose environment has a variable with a value. Blocking."""
    is_restricted: bool
    """Whether the editor does not trust the workspace."""


class SignInNeededError(ModelError):
    """The agent needs its user to sign in."""


class AgentProcess:
    """A running agent, and its sessions."""

    def __init__(
        self,
        program: AgentProgram,
        model: str,
        services: AgentServices,
        spec: ProcessSpec,
        n_prompts: Mapping[str, int],
    ) -> None:
        """Start the program, and use one of its models, or its own default. `n_prompts` are those that sessions of
        earlier processes were sent."""
        from acp.connection import Connection

        self._program = program
        self._model = model
        self._services = services
        self._n_prompts = n_prompts
        self._mark = uuid4().hex
        marked = replace(spec, env={**spec.env, MARK: self._mark})
        self._transport = AgentTransport(services.run, marked, self)
        self._transport.process.start()
        self._connection: Connection = Connection(self._handle, self._transport)
        self._capabilities: Mapping[str, Any] = {}
        self._sign_in_ways: Sequence[Mapping[str, Any]] = ()
        self._by_id: dict[str, RemoteSession] = {}
        self._ours: dict[str, RemoteSession] = {}
        """Sessions by the ids of ours."""
        self.is_stuck = False
        """Whether the agent did not stop when its prompt was cancelled."""

    @property
    def runs(self) -> bool:
        return not self._transport.process.ended.is_set() and not self.is_stuck

    @property
    def commands(self) -> Sequence[AgentCommand]:
        """Commands that its sessions offer."""
        return [each for session in self._by_id.values() for each in session.commands]

    async def has_room(self) -> None:
        """Implement `Backlog`."""
        for session in list(self._by_id.values()):
            await session.has_room()

    async def start(self) -> None:
        """Initialize the protocol. Raises `ModelError`."""
        offered = {"readTextFile": self._program.reads, "writeTextFile": self._program.writes}
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {
                "fs": offered,
                "terminal": True,
                "auth": {"terminal": True},
                "_meta": {"terminal-auth": True},
            },
            "clientInfo": {"name": "pygent-ls", "title": "pygent-ls", "version": __version__},
        }
        answer = await self._timely(self.request("initialize", params), START_S, "initialize")
        if number(answer.get("protocolVersion")) != PROTOCOL_VERSION:
            raise agent_error(
                self._program,
                f"{self._program.label} speaks version {answer.get('protocolVersion')} of the Agent Client Protocol; "
                f"version {PROTOCOL_VERSION} is needed. Update it.",
                "invalid_request",
            )
        self._capabilities = obj(answer.get("agentCapabilities"))
        self._sign_in_ways = objects(answer.get("authMethods"))

    async def stop(self) -> None:
        """End the process, and what it has started and left."""
        await self._connection.close()
        await self._transport.process.stop(EXIT_S)
        await asyncio.to_thread(self._services.end_marked, MARK, self._mark)

    async def request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request, and return its result. Raises `ModelError`."""
        from acp.exceptions import RequestError

        try:
            return obj(await self._connection.send_request(method, dict(params)))
        except RequestError as error:
            if error.code == AUTH_REQUIRED:
                said = f"{self._program.label} needs you to sign in: {_words_of(error)}"
                raise SignInNeededError(said, type="auth") from None
            raise agent_error(self._program, f"{self._program.label}: {_words_of(error)}", "server") from None
        except ConnectionError:
            self.is_stuck = True  # also if its process goes on
            why = self._transport.process.why_ended or "It has ended."
            raise agent_error(self._program, f"{self._program.label} stopped working. {why}", "server") from None

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        try:
            await self._connection.send_notification(method, dict(params))
        except ConnectionError:
            return

    async def _timely(self, work: Coroutine[Any, Any, T], limit_s: float, what: str) -> T:
        limit = asyncio.timeout(limit_s)
        try:
            async with limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
            raise agent_error(
                self._program, f"{self._program.label} did not answer {what} within {limit_s:g} s.", "timeout"
            ) from None

    # What the agent sends

    async def _handle(self, method: str, params: object, is_notification: bool) -> object:  # noqa: FBT001 - the SDK's
        from acp.exceptions import RequestError

        given = obj(params)
        session_id = text(given.get("sessionId"))
        if is_notification:
            if method == "session/update" and session_id:
                self._session(session_id).take(obj(given.get("update")))
            return None
        if not method.startswith(("session/", "fs/", "terminal/")):
            raise RequestError(METHOD_NOT_FOUND, f"{method} is not known")
        session = self._by_id.get(session_id)
        if session is None:
            raise RequestError(INVALID_PARAMS, f"There is no session {session_id!r}.")
        try:
            return await session.answer(method, given)
        except RequestRefusedError as error:
            raise RequestError(error.code, str(error)) from None

    def _session(self, session_id: str) -> RemoteSession:
        if session_id not in self._by_id:
            self._by_id[session_id] = RemoteSession(session_id, self._program)
        return self._by_id[session_id]

    # Sessions

    async def session_for(self, prompt: ExternalPrompt, host: AgentHost) -> tuple[RemoteSession, str]:
        """Return the session for a prompt, and the conversation that it has not heard. Raises `ModelError`."""
        known, live = prompt.session, self._ours.get(prompt.session_id)
        if known and live and (live.id, live.n_prompts) == (known.id, known.n_prompts):
            await self._choose_mode(live, prompt.mode, host)
            return live, prompt.unheard
        if live is not None:
            await self._leave(live)
        elif known and (session := await self._recalled(known, prompt, host)) is not None:
            self._ours[prompt.session_id] = session
            return session, prompt.unheard
        session = self._ours[prompt.session_id] = await self._new(prompt, host)
        return session, prompt.conversation

    @property
    def takes_images(self) -> bool:
        """Whether prompts may contain images."""
        return obj(self._capabilities.get("promptCapabilities")).get("image") is True

    async def _new(self, prompt: ExternalPrompt, host: AgentHost) -> RemoteSession:
        params = {"cwd": str(prompt.folder), "mcpServers": self._servers()}
        try:
            answer = await self._timely(self.request("session/new", params), SESSION_S, "session/new")
        except SignInNeededError as needed:
            await self._sign_in(host, needed)
            answer = await self._timely(self.request("session/new", params), SESSION_S, "session/new")
        session_id = text(answer.get("sessionId"))
        if not session_id or any(each.id == session_id for each in self._ours.values()):
            said = f"{self._program.label} gave a new session the id {session_id!r}, which is empty or taken."
            raise agent_error(self._program, said, "server")
        session = self._session(session_id)
        await self._take_choices(session, answer, prompt, host)
        return session

    async def _take_choices(
        self, session: RemoteSession, answer: Mapping[str, Any], prompt: ExternalPrompt, host: AgentHost
    ) -> None:
        """Choose the model and the mode of a session that begins or continues."""
        session.take_modes(answer.get("modes"))
        session.take_options(answer.get("configOptions"))
        await self._choose_model(session, answer)
        await self._choose_mode(session, prompt.mode, host)

    async def _recalled(self, known: AgentSession, prompt: ExternalPrompt, host: AgentHost) -> RemoteSession | None:
        """Return a session of an earlier process; None if the agent cannot continue it."""
        if self._n_prompts.get(known.id, known.n_prompts) != known.n_prompts:
            return None  # it knows what was rewound since
        can_resume = "resume" in obj(self._capabilities.get("sessionCapabilities"))
        if not can_resume and not self._capabilities.get("loadSession"):
            return None
        method = "session/resume" if can_resume else "session/load"
        params = {"sessionId": known.id, "cwd": str(prompt.folder), "mcpServers": self._servers()}
        session = self._session(known.id)
        try:
            answer = await self._timely(self.request(method, params), SESSION_S, method)
        except ModelError:
            self._by_id.pop(known.id, None)
            return None
        session.recall(known.n_prompts)
        await self._take_choices(session, answer, prompt, host)
        return session

    async def _leave(self, session: RemoteSession) -> None:
        self._by_id.pop(session.id, None)
        if "close" in obj(self._capabilities.get("sessionCapabilities")):
            try:
                await self._timely(self.request("session/close", {"sessionId": session.id}), CANCEL_S, "session/close")
            except ModelError:
                return

    async def _choose_model(self, session: RemoteSession, answer: Mapping[str, Any]) -> None:
        wanted = self._model
        if not wanted:
            return
        option = _option(session, "model")
        if option is not None:
            names = _values(option)
            if wanted in names:
                await self._set_option(session, text(option.get("id")), wanted)
                return
        else:
            names = [text(each.get("modelId")) for each in objects(obj(answer.get("models")).get("availableModels"))]
            if wanted in names:
                params = {"sessionId": session.id, "modelId": wanted}
                await self._timely(self.request("session/set_model", params), SESSION_S, "session/set_model")
                return
        known = ", ".join(map(one_line, names)) or "it offers no choice"
        raise agent_error(self._program, f"{self._program.label} has no model {wanted!r}: {known}.", "invalid_request")

    async def _choose_mode(self, session: RemoteSession, mode: str, host: AgentHost) -> None:
        """Set the mode in which the agent asks, so that our rules and modes decide; or its plan mode in ours."""
        option = None if session.modes else _option(session, "mode")
        names = session.modes or (_values(option) if option else ())
        current = text(option.get("currentValue")) if option else session.mode
        wanted = next((each for each in self._wanted_modes(mode) if each in names), "")
        if wanted and wanted != current:
            if option is not None:
                await self._set_option(session, text(option.get("id")), wanted)
            else:
                params = {"sessionId": session.id, "modeId": wanted}
                await self._timely(self.request("session/set_mode", params), SESSION_S, "session/set_mode")
                session.mode = wanted
        if names and not wanted and not session.is_warned and not self._program.asks:
            session.is_warned = True
            known = ", ".join(map(one_line, names))
            await host.notice(
                f"It is not known in which of its modes {self._program.label} asks before it acts: {known}. Set one as "
                f"`acp_agents.{self._program.name}.mode`."
            )

    def _wanted_modes(self, mode: str) -> Sequence[str]:
        asking = (self._program.mode,) if self._program.mode else _ASKING
        return ("plan", *asking) if mode == "plan" else asking

    async def _set_option(self, session: RemoteSession, option_id: str, value: str) -> None:
        params = {"sessionId": session.id, "configId": option_id, "value": value}
        method = "session/set_config_option"
        answer = await self._timely(self.request(method, params), SESSION_S, method)
        session.take_options(answer.get("configOptions"))

    def _servers(self) -> list[Mapping[str, Any]]:
        """Return the MCP servers of the settings, without those that the agent cannot reach or that lack a variable."""
        takes_http = obj(self._capabilities.get("mcpCapabilities")).get("http")
        found: list[Mapping[str, Any]] = []
        for each in self._services.servers():
            try:
                spec = each.expanded(os.environ)
            except ToolError:
                continue
            if spec.url and takes_http:
                headers = [{"name": name, "value": value} for name, value in spec.headers.items()]
                found.append({"type": "http", "name": spec.name, "url": spec.url, "headers": headers})
            elif spec.command and (program := self._services.find(spec.command)):
                env = [{"name": name, "value": value} for name, value in spec.env.items()]
                found.append({"name": spec.name, "command": program, "args": list(spec.args), "env": env})
        return found

    async def _sign_in(self, host: AgentHost, needed: SignInNeededError) -> None:
        """Let the user choose a way to sign in. Raises `ModelError`."""
        label = self._program.label
        ways = {one_line(text(each.get("name")) or text(each.get("id"))): each for each in self._sign_in_ways}
        hints = "; ".join(f"{title}: {hint}" for title, each in ways.items() if (hint := self._terminal_command(each)))
        if not ways:
            raise needed
        choices = [
            AnswerChoice(title=title, description=one_line(text(each.get("description"))))
            for title, each in ways.items()
        ]
        chosen = await host.choose(f"{label} needs you to sign in. How?", choices)
        if chosen is None or chosen not in ways:
            raise agent_error(
                self._program,
                f"{label} needs you to sign in{f' ({hints})' if hints else ''}. Sign in with its own program, or send "
                "the prompt again and choose a way.",
                "auth",
            )
        if command := self._terminal_command(ways[chosen]):
            raise agent_error(self._program, f"Run this in a terminal, then send the prompt again: {command}", "auth")
        params = {"methodId": text(ways[chosen].get("id"))}
        await self._timely(self.request("authenticate", params), SIGN_IN_S, "authenticate")

    def _terminal_command(self, way: Mapping[str, Any]) -> str:
        """Return the command of a sign-in that takes place in a terminal; empty for another one."""
        terminal = obj(obj(way.get("_meta")).get("terminal-auth"))
        if terminal:
            return shlex.join((text(terminal.get("command")), *texts(terminal.get("args"))))
        if way.get("type") == "terminal":
            return shlex.join((self._program.command[0], *texts(way.get("args"))))
        return ""


def _option(session: RemoteSession, category: str) -> Mapping[str, Any] | None:
    return next((each for each in session.options.values() if each.get("category") == category), None)


def _values(option: Mapping[str, Any]) -> list[str]:
    """Return the values of an option, of its groups, too."""
    options = objects(option.get("options"))
    return [
        value
        for each in options
        for value in (text(each.get("value")), *(text(inner.get("value")) for inner in objects(each.get("options"))))
        if value
    ]


def _words_of(error: Exception) -> str:
    data = obj(getattr(error, "data", None))
    details = text(data.get("details")) or text(data.get("message"))
    return one_line(f"{error} {details}".strip(), 500)
