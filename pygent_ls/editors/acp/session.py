"""One session of a client: the core that runs it, the client's files, and what the client is told about it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from pygent_ls.agent.kinds import Mode, StopReason
from pygent_ls.agent.ports.model import EFFORTS
from pygent_ls.agent.ports.processes import Processes
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.acp.capabilities import AcpFeatures
from pygent_ls.editors.acp.content import prompt_parts
from pygent_ls.editors.acp.questions import ClientUser
from pygent_ls.editors.acp.terminals import TerminalProcesses
from pygent_ls.editors.acp.updates import TurnUpdates, Update, command_update, conversation, remark
from pygent_ls.editors.acp.workspace import AcpWorkspace
from pygent_ls.editors.ports import Core, FrontEnd, ReadSettings, TrustQuestion
from pygent_ls.editors.scripts.writer import LineWriter
from pygent_ls.editors.shutdown import close
from pygent_ls.editors.whole_texts import WholeTexts
from pygent_ls.errors import RefusedEditError, SessionError, ToolError
from pygent_ls.sessions.configuration import Configured, configure
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.side_questions import question_in
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace

FILES_S = 30.0
"""Time limit for the client to read or write a file."""

AUTOMATIC = "auto"
"""Value of the effort that leaves it to the model."""

MODE_NAMES: Mapping[Mode, tuple[str, str]] = {
    "default": ("Ask", "Ask before edits and commands"),
    "accept_edits": ("Accept edits", "Make edits without asking; ask before commands"),
    "plan": ("Plan", "Only read, and make a plan"),
    "trust": ("Trust", "Ask only before risky commands"),
    "bypass": ("Bypass permissions", "Ask nothing"),
}
"""Names and descriptions of the modes."""

STOP_REASONS: Mapping[StopReason, str] = {
    "end_turn": "end_turn",
    "max_iterations": "max_turn_requests",
    "token_limit": "max_turn_requests",
    "budget_limit": "max_turn_requests",
    "time_limit": "max_turn_requests",
    "loop_detected": "max_turn_requests",
    "max_output_tokens": "max_tokens",
    "refusal": "refusal",
    "cancelled": "cancelled",
    "interrupted": "cancelled",
}
"""The protocol's stop reasons. A turn that ends with an error has none."""


class SessionClient(Protocol):
    """The client at the other end."""

    @property
    def features(self) -> AcpFeatures: ...

    @property
    def writer(self) -> LineWriter: ...

    def update(self, session_id: str, update: Update) -> None:
        """Send an update about a session. Returns at once."""
        ...

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Send a request and return its result; None if the client refuses it or is gone."""
        ...


class ClientPaths(Struct, frozen=True):
    """Paths as the client spells them: its folders may be links, and its buffers have the names below these."""

    folders: Sequence[Path]
    """Folders in the client's spelling."""

    def spelled(self, path: Path) -> str:
        """Return a path with links resolved in the client's spelling."""
        for folder in self.folders:
            resolved = folder.resolve()
            if resolved != folder and path.is_relative_to(resolved):
                return str(folder / path.relative_to(resolved))
        return str(path)


class SessionFiles(Struct, frozen=True, kw_only=True):
    """Files as the client has them; the implementation of `ClientFiles`."""

    client: SessionClient
    session_id: str
    paths: ClientPaths

    @property
    def can_write(self) -> bool:
        """Implement `ClientFiles`. Writing needs reading: nothing is written over what cannot be compared."""
        return self.client.features.writes_files and self.client.features.reads_files

    async def text(self, path: Path) -> str | None:
        """Implement `ClientFiles`."""
        if not self.client.features.reads_files:
            return None
        answer = await self._asked("fs/read_text_file", {"path": self.paths.spelled(path)})
        content = answer.get("content") if answer is not None else None
        return content if isinstance(content, str) else None

    async def write(self, path: Path, text: str) -> None:
        """Implement `ClientFiles`."""
        if await self._asked("fs/write_text_file", {"path": self.paths.spelled(path), "content": text}) is None:
            raise RefusedEditError(f"The editor refused to write {path}. Nothing was changed.")

    async def _asked(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        try:
            async with asyncio.timeout(FILES_S):
                return await self.client.ask(method, {"sessionId": self.session_id, **params})
        except TimeoutError:
            raise ToolError(f"The editor did not answer {method} within {FILES_S:g} s.") from None


@dataclass(kw_only=True)
class AcpSession:
    """A session that the client has open. Each has a core of its own: folder and MCP servers are the client's."""

    id: str
    client: SessionClient
    folders: Sequence[Path]
    core: Core = field(init=False)
    problems: Sequence[str] = ()
    """Problems in the settings, as text for the user."""
    _turns: list[TurnUpdates] = field(default_factory=list[TurnUpdates])
    """Updates of the turns that run or wait."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    def build(self, read_settings: ReadSettings, servers: Mapping[str, Any]) -> None:
        """Build the core, with the MCP servers of the client. Raises `PygentError`."""
        paths = ClientPaths(self.folders)
        blueprint = read_settings({"mcpServers": dict(servers)} if servers else {}, self.folders)
        self.problems = blueprint.problems
        files = SessionFiles(client=self.client, session_id=self.id, paths=paths)
        user = ClientUser(self._ask, paths.spelled, asks_forms=self.client.features.asks_forms)
        self.core = blueprint.build(
            FrontEnd(
                workspace=AcpWorkspace(self.folders, files)
                if self.client.features.reads_files
                else DiskWorkspace(self.folders),
                approver=user,
                questioner=user,
                pauser=user,
                ask_trust=_leave_untrusted,
                on_session_change=self._changed,
                tell=self._tell,
                around_processes=self._in_terminals,
            )
        )
        self.core.start_loading()

    @property
    def session(self) -> Session:
        """The session, in memory. Raises `SessionError` if it was deleted."""
        found = self.core.sessions.live(self.id)
        if found is None:
            raise SessionError(f"The session {self.id} is closed. Load it again.", kind="unknown_session")
        return found

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return await self.client.ask(method, {"sessionId": self.id, **params})

    def _in_terminals(self, processes: Processes) -> Processes:
        if not self.client.features.runs_commands:
            return processes
        return TerminalProcesses(processes=processes, ask=self._ask, show=self._show_terminal)

    def _show_terminal(self, terminal_id: str) -> None:
        any(each.show_terminal(terminal_id) for each in self._turns)

    def _changed(self, session_id: str, what: str) -> None:
        if session_id != self.id:
            return
        session = self.core.sessions.live(session_id)
        if session is None:
            return
        if what in ("renamed", "turn_started"):
            self._update({"sessionUpdate": "session_info_update", "title": session.name})
        elif what == "configured":
            self._update({"sessionUpdate": "current_mode_update", "currentModeId": session.mode})
            self.later(self._tell_options())

    def _update(self, update: Update) -> None:
        self.client.update(self.id, update)

    def _tell(self, text: str) -> None:
        self._update(remark(text))

    def later(self, work: Any) -> None:
        """Do this once the current request is answered."""
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def introduce(self) -> None:
        """Send what is wrong with the settings, and the slash commands."""
        for problem in self.problems:
            self._tell(f"Settings: {problem}")
        listed = await self.core.sessions.listed_commands()
        self._update(command_update([(each.name, each.description, each.takes) for each in listed]))

    async def _tell_options(self) -> None:
        self._update({"sessionUpdate": "config_option_update", "configOptions": await self.options()})

    def replay(self) -> None:
        """Send the whole conversation."""
        for update in conversation(self.session.messages, self.session.services.tools):
            self._update(update)

    # Configuration

    async def described(self) -> dict[str, Any]:
        """Return the permission modes, and what can be chosen for the session: what a client is told of it."""
        allowed = (await self.core.beginning()).modes
        listed = [{"id": mode, "name": MODE_NAMES[mode][0], "description": MODE_NAMES[mode][1]} for mode in allowed]
        modes = {"currentModeId": self.session.mode, "availableModes": listed}
        return {"modes": modes, "configOptions": await self._options(allowed)}

    async def options(self) -> list[dict[str, Any]]:
        """Return what can be chosen for the session, with the current values."""
        return await self._options((await self.core.beginning()).modes)

    async def _options(self, allowed: Sequence[Mode]) -> list[dict[str, Any]]:
        session = self.session
        models = [each.name for each in await self.core.models() if each.available]
        agents = [(each.name, each.name, each.description) for each in self.core.agents]
        modes = [(mode, *MODE_NAMES[mode]) for mode in allowed]
        efforts = [(AUTOMATIC, "Automatic", ""), *((each, each.capitalize(), "") for each in EFFORTS)]
        return [
            _select("mode", "Mode", "mode", session.mode, modes),
            _select("model", "Model", "model", session.model, [(name, name, "") for name in models]),
            _select("agent", "Agent", "", session.agent, agents),
            _select("effort", "Effort", "thought_level", session.choices.effort or AUTOMATIC, efforts),
        ]

    def configure(self, option: str, value: object) -> None:
        """Set an option. Raises `SessionError` and `ModelError` for a value that is not available."""
        if not isinstance(value, str):
            raise SessionError(f"The value of {option} is not a text.", kind="invalid_value")
        match option:
            case "mode":
                configure(self.session, Configured(mode=_mode(value)))
            case "model":
                configure(self.session, Configured(model=value))
            case "agent":
                configure(self.session, Configured(agent=value))
            case "effort":
                self._set_effort(value)
            case _:
                raise SessionError(
                    f"There is no option {option!r}: use mode, model, agent or effort.", kind="no_option"
                )

    def _set_effort(self, value: str) -> None:
        if value != AUTOMATIC and value not in EFFORTS:
            raise SessionError(f"effort: {value!r} is not one of {', '.join((AUTOMATIC, *EFFORTS))}.", kind="no_value")
        self.session.choices.set_effort(next((each for each in EFFORTS if each == value), None))
        self.session.changed("configured")

    # Turns

    async def prompt(self, blocks: Sequence[Mapping[str, Any]]) -> TurnResult:
        """Run a turn to its end. Raises `PygentError` if it cannot begin. A cancelled request cancels the turn."""
        request = TurnRequest(parts=prompt_parts(blocks))
        spelled = ClientPaths(self.folders).spelled
        updates = TurnUpdates(send=self._update, writer=self.client.writer, spelled=spelled)
        aside = question_in(request) is not None
        turn = self.session.start_turn(request, WholeTexts(updates) if aside else updates, self.core.sessions)
        assert turn.task is not None
        self._turns.append(updates)
        try:
            return await asyncio.shield(turn.task)
        except asyncio.CancelledError:
            turn.cancel()
            await asyncio.wait([turn.task])
            raise
        finally:
            self._turns.remove(updates)

    def cancel(self) -> None:
        """Cancel all turns, those that wait first, and all side questions."""
        for turn in (*reversed(self.session.turns), *self.session.side_questions.open):
            turn.cancel()

    async def close(self) -> None:
        """End its turns, programs and servers."""
        await close(self.core)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _mode(value: str) -> Mode:
    found: Mode | None = next((mode for mode in MODE_NAMES if mode == value), None)
    if found is None:
        raise SessionError(f"There is no mode {value!r}; available modes: {', '.join(MODE_NAMES)}.", kind="no_mode")
    return found


def _select(
    option: str, name: str, category: str, current: str, values: Sequence[tuple[str, str, str]]
) -> dict[str, Any]:
    """Return an option with its values; the current one is listed even if it is not among them."""
    if current not in [value for value, _, _ in values]:
        values = [(current, current, ""), *values]
    listed = [
        {"value": value, "name": shown} | ({"description": description} if description else {})
        for value, shown, description in values
    ]
    found: dict[str, Any] = {"id": option, "name": name, "type": "select", "currentValue": current, "options": listed}
    return {**found, "category": category} if category else found


async def _leave_untrusted(_question: TrustQuestion) -> None:
    """Give no answer, so the folder's settings are not trusted: a client may answer requests by itself."""
