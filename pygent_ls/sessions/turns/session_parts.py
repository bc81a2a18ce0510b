"""What a session is built from, and which of it is in effect."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.variants import Variants, variants
from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
from pygent_ls.sessions.journal.records import State
from pygent_ls.sessions.journal.replay import Recalled
from pygent_ls.sessions.turns.command_turn import NoCommands, PromptCommands
from pygent_ls.sessions.turns.settings import (
    AnswerWithoutModel,
    MakeModelAt,
    MakeSystemPrompt,
    SessionLimits,
    TakeSettings,
    TurnSettings,
)


class SessionOwner(Protocol):
    """Front end in which a session is used: its editor, settings and folders."""

    def for_folder(self, folder: Path) -> SessionOwner:
        """Return the owner in this front end of a session in that folder: another one for each worktree."""
        ...

    def parts_of(self, session_id: str, folder: Path, state: State) -> SessionParts:
        """Return the parts that the session would have if it were created in this front end."""
        ...

    @property
    def on_change(self) -> Callable[[str, str], None]:
        """Called with a session's id and what happened to it."""
        ...


InUse = Callable[[], AbstractContextManager[None]]
"""Keeps the folder of a session from being deleted inside the context. Raises
`WorktreeUnavailableError`."""


class SessionParts(Struct, frozen=True, kw_only=True):
    """Values and services that a session is built from."""

    id: str
    name: str
    working_directory: Path
    agent: str
    model: str
    services: SessionServices
    limits: SessionLimits
    make_model: Callable[[str], Model]
    """Makes a model by name. Raises `ModelError` for a name that no provider takes."""
    make_model_at: MakeModelAt | None = None
    """Makes a model whose API base URL differs from the settings'."""
    make_system_prompt: MakeSystemPrompt
    on_change: Callable[[str, str], None]
    """Called with (session id, kind of change) when the session changes, such as at the start and the end of a turn."""
    tell: Callable[[str], None] = lambda _: None
    """Shows the user a message while no turn runs."""
    take_settings: TakeSettings | None = None
    """Reads the settings when a turn begins; None if the parts never change."""
    commands: PromptCommands[Any] = field(default_factory=NoCommands)
    variants: Variants = field(default_factory=variants)
    """All agents, as the settings were last read."""
    look_up_variants: Callable[[], Variants] | None = None
    """Returns all agents, as the settings are now."""
    has_own_agent: bool = False
    """Whether `agent` was chosen for this session; otherwise it comes from the settings."""
    has_own_model: bool = True
    """Whether `model` was chosen for this session; otherwise it comes from the settings."""
    answer_without_model: AnswerWithoutModel | None = None
    """Called before a turn for which no model is chosen."""
    checkpoints: Checkpoints | None = None
    """Checkpoints of the session, which `services` write; None if it has none."""
    owner: SessionOwner | None = None
    """Front end that the session belongs to; None if there is only one."""
    in_use: InUse = nullcontext
    """Entered by each turn of a model, and whatever else changes files."""
    recalled: Recalled | None = None
    """What the journal held of a resumed session; None for a new one."""


class ActiveParts:
    """Parts of a session that are in effect: those that it was built from, until the settings change or it is
    transferred to another front end."""

    def __init__(self, parts: SessionParts) -> None:
        self.parts = parts

    @property
    def services(self) -> SessionServices:
        """Services of the session's turns."""
        return self.parts.services

    @property
    def limits(self) -> SessionLimits:
        """Limits of the session's turns."""
        return self.parts.limits

    def in_use(self) -> AbstractContextManager[None]:
        """Implement `ActiveServices`."""
        return self.parts.in_use()

    def take(self, settings: TurnSettings) -> None:
        """Apply the current settings."""
        self.parts = replace(
            self.parts,
            limits=settings.limits,
            make_model=settings.make_model,
            make_model_at=settings.make_model_at,
            make_system_prompt=settings.make_system_prompt,
            services=settings.renewed(self.parts.services),
        )
        self.services.memory.permissions.take(settings.policy, settings.mode)

    def transfer(self, there: SessionParts) -> None:
        """Transfer the session to another front end, in which a new session would have the parts `there`. Its memory
        stays, and acts in that front end from now on."""
        was, memory, environment = self.parts, self.services.memory, there.services.environment
        memory.permissions.move(there.services.memory.permissions)
        if was.checkpoints and there.checkpoints:
            was.checkpoints.move(there.checkpoints)
        memory = replace(memory, secrets=memory.secrets.seen_from(environment.workspace))
        self.parts = replace(there, services=replace(there.services, memory=memory), checkpoints=was.checkpoints)
