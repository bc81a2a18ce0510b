"""A session on fakes, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.hooks import Hooks, NoHooks
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.agent.turn_spec import ModelSettings, TurnLimits
from pygent_ls.errors import ModelError
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
from pygent_ls.sessions.commands.registry import SlashCommands
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import SessionParts
from pygent_ls.sessions.turns.settings import MakeSystemPrompt, SessionLimits
from pygent_ls.sessions.turns.turn import RunningTurn
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.fakes import FakeApprover, FakeModel, Rig, Step, bounded, make_rig, with_parts
from tests.sessions.subscribers import Reader
from tests.workspace.repositories import find_git, snapshots_beside

LIMITS = SessionLimits(
    turn=TurnLimits(max_iterations=50),
    model=ModelSettings(max_output_tokens=1000, temperature=1.0),
    stream_flush_s=0.001,
)


async def say_mode(wanted: PromptFor) -> str:
    """A system prompt in so many words."""
    return f"You are in mode {wanted.mode}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A session, what surrounds it, and what it told of itself."""

    session: Session
    rig: Rig
    models: Mapping[str, FakeModel]
    changes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def model(self) -> FakeModel:
        """The session's own model."""
        return self.models[self.session.model]

    def start(self, prompt: str = "go", *, mode: Mode | None = None, model: str | None = None) -> tuple[Turn, Reader]:
        """Start a turn, and the reader of its events."""
        reader = Reader()
        running = self.session.start_turn(TurnRequest(parts=(prompt,), mode=mode, model=model), reader)
        return Turn(running), reader

    async def turn(self, prompt: str = "go", *, mode: Mode | None = None) -> TurnResult:
        """One whole turn."""
        turn, _ = self.start(prompt, mode=mode)
        return await turn.result()


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that was started."""

    running: RunningTurn

    @property
    def id(self) -> str:
        """Its id."""
        return self.running.turn_id

    async def result(self) -> TurnResult:
        """Wait for its result."""
        assert self.running.task is not None
        return await bounded(self.running.task)


def conversation(
    script: Sequence[Sequence[Step]] | FakeModel,
    *tools: Tool,
    files: Mapping[str, str] | None = None,
    approver: FakeApprover | None = None,
    mode: Mode = "default",
    make_system_prompt: MakeSystemPrompt | None = None,
    folder: Path | None = None,
    has_git: bool = True,
    redactor: Redactor | None = None,
    hooks: Hooks | None = None,
    other: Sequence[Sequence[Step]] = (),
    change: Callable[[SessionParts], SessionParts] = lambda parts: parts,
) -> Conversation:
    """A session whose model plays the script; `other/model` is one that says "other".

    With `folder`, its files are real, and kept by checkpoints; `files` do not count then.
    """
    rig = make_rig(*tools, files=files, approver=approver, mode=mode)
    services = with_parts(rig.services, secrets=SessionSecrets(redactor, rig.workspace), hooks=hooks or NoHooks())
    checkpoints = None
    if folder is not None:
        workspace = DiskWorkspace([folder])
        checkpoints = Checkpoints(workspace, snapshots_beside(folder, find=find_git if has_git else lambda: None))
        services = with_parts(services, workspace=workspace, checkpointer=checkpoints, working_directory=folder)
    own = script if isinstance(script, FakeModel) else FakeModel(script)
    models = {own.name: own, "other/model": FakeModel(other, name="other/model")}
    changes: list[tuple[str, str]] = []

    def make_model(name: str) -> Model:
        if name not in models:
            raise ModelError(f"there is no model {name}", type="invalid_request")
        return models[name]

    parts = SessionParts(
        id="session-1",
        name="Test",
        working_directory=services.environment.working_directory,
        agent="default",
        model=own.name,
        services=services,
        checkpoints=checkpoints,
        limits=LIMITS,
        make_model=make_model,
        commands=SlashCommands(),
        make_system_prompt=make_system_prompt or say_mode,
        on_change=lambda session_id, what: changes.append((session_id, what)),
    )
    session = Session(change(parts))
    return Conversation(session=session, rig=rig, models=models, changes=changes)
