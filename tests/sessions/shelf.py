"""The sessions of a daemon on fakes, over a real folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.editor_state import EditorState, NoEditor
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.errors import ModelError
from pygent_ls.extensions.commands import OwnCommands
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
from pygent_ls.sessions.commands.ports import CommandFacts
from pygent_ls.sessions.lifecycle.defaults import NewSession, SessionDefaults
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.store import Sessions
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.tools.catalog import offered_tools
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.extensions.mcp.view import ListedServers
from tests.fakes import FakeModel, Step, bounded, make_rig, with_parts
from tests.sessions.conversation import LIMITS, say_mode
from tests.sessions.subscribers import Reader
from tests.workspace.repositories import find_git, snapshots_beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A model that can be named."""

    name: str
    available: bool
    reason: str = ""


@dataclass
class Shelf:
    """Sessions whose models play the script, one after another; `other/model` says nothing. Own commands stand in
    `user/` beside the folder and in its `.pygent/commands`."""

    folder: Path
    script: Sequence[Sequence[Step]] = ()
    tools: Sequence[Tool] | None = None
    mode: Mode = "trust"
    rules: Sequence[Rule] = ()
    redactor: Redactor | None = None
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    mcp: ListedServers = field(default_factory=ListedServers)
    editor: EditorState = field(default_factory=NoEditor)
    told: list[str] = field(default_factory=list[str])
    """What the user was told beside all turns."""
    changes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def __post_init__(self) -> None:
        self.model = FakeModel(self.script)
        self.workspace = DiskWorkspace([self.folder])
        self.users = OwnCommands(folder=self.folder.parent / "user", source="user")
        self.workspaces = OwnCommands(folder=self.folder / ".pygent" / "commands", source="workspace")
        self.sessions = Sessions(
            lambda: SessionDefaults(
                working_directory=self.folder, agent="default", model="fake/model", mode=self.mode, limits=LIMITS
            ),
            make_services=self._services,
            make_model=self._model,
            make_system_prompt=say_mode,
            on_change=lambda session_id, what: self.changes.append((session_id, what)),
        )
        self.sessions.keep_checkpoints(
            lambda _: Checkpoints(self.workspace, snapshots_beside(self.folder, find=find_git))
        )
        self.sessions.tell_user_with(self.told.append)
        self.sessions.tell_commands(
            CommandFacts(
                models=self._models,
                aliases=self._aliases,
                own=lambda: (self.users, self.workspaces),
                mcp=lambda: self.mcp,
            )
        )
        self.session = self.sessions.new(NewSession())

    async def say(self, prompt: str, *, session: Session | None = None) -> TurnResult:
        """One whole turn."""
        running = (session or self.session).start_turn(TurnRequest(parts=(prompt,)), Reader())
        assert running.task is not None
        return await bounded(running.task)

    async def text(self, prompt: str) -> str:
        """What a turn answers."""
        return (await self.say(prompt)).text

    def write_command(self, name: str, text: str, *, of_workspace: bool = False) -> None:
        """An own command, `git/commit` for one in a folder."""
        path = (self.workspaces if of_workspace else self.users).folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def asked(self) -> str:
        """What the user's last message was to the model."""
        return self.model.requests[-1].messages[-1].text

    async def _models(self) -> Sequence[Listed]:
        return [
            Listed(name="fake/model", available=True),
            Listed(name="far/model", available=False, reason="needs FAR_KEY"),
        ]

    async def _aliases(self) -> Mapping[str, str]:
        return self.aliases

    def _model(self, name: str) -> Model:
        if name == "fake/model":
            return self.model
        if name == "other/model":
            return FakeModel([], name=name)
        raise ModelError(f"there is no model {name}", type="invalid_request")

    def _services(self, session_id: str, mode: Mode) -> SessionServices:
        tools = offered_tools(has_folder=True, shell_timeout_s=10.0) if self.tools is None else self.tools
        rig = make_rig(*tools, mode=mode, rules=self.rules)
        return with_parts(
            rig.services,
            session_id=session_id,
            workspace=self.workspace,
            processes=LocalProcesses(),
            secrets=SessionSecrets(self.redactor, self.workspace),
            editor=self.editor,
            working_directory=self.folder,
        )


UNPRICED = Usage(input_tokens=100, output_tokens=20)
PRICED = Usage(input_tokens=1000, output_tokens=234, cache_read_tokens=800, cost_usd=0.01234)
