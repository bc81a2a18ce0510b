"""Parts of a turn and of a session, and a turn that waits or runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.agent.variants import Variants, variants
from pygent_ls.sessions.event_stream import Subscriber
from pygent_ls.sessions.turns.command_turn import CommandTurn
from pygent_ls.sessions.turns.ports import NoCommands, PromptCommands
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.settings import (
    AnswerWithoutModel,
    MakeModelAt,
    MakeSystemPrompt,
    SessionLimits,
    TakeSettings,
)

if TYPE_CHECKING:  # imports pydantic, which is slow
    from pygent_ls.sessions.journal.records import State
    from pygent_ls.sessions.journal.replay import Recalled


class SessionOwner(Protocol):
    """Front end in which a session is used: its editor, settings and folders."""

    def parts_of(self, session_id: str, folder: Path, state: State) -> SessionParts:
        """Return the parts that the session would have if it were created in this front end."""
        ...

    @property
    def told(self) -> Callable[[str, str], None]:
        """Called with a session's id and what happened to it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionParts:
    """Values and services that a session is built from."""

    id: str
    name: str
    working_directory: Path
    agent: str
    model: str
    surroundings: RunContext
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
    commands: PromptCommands = field(default_factory=NoCommands)
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
    home: SessionOwner | None = None
    """Front end that the session belongs to; None if there is only one."""
    recalled: Recalled | None = None
    """What the journal held of a resumed session; None for a new one."""


class RunningTurn:
    """A turn that waits or runs. Its session owns the task and awaits it when it closes."""

    def __init__(
        self, turn_id: str, request: TurnRequest, subscriber: Subscriber, home: SessionOwner | None = None
    ) -> None:
        self.turn_id = turn_id
        self.home = home
        """Front end whose editor and settings the turn uses."""
        self.request = request
        self.said = request.prompt
        """Text that the user typed, before a command replaces it."""
        self.subscriber = subscriber
        self.cancel_requested = False
        self.prompt = ""
        """The user's text with secrets masked; empty until the turn runs or waits."""
        self.own_mode: Mode | None = None
        """Mode of this turn; None if it uses the session's."""
        self.turn: Turn | CommandTurn | None = None
        self.task: asyncio.Task[TurnResult] | None = None
        self.steering = asyncio.Lock()
        """Acquired by each steering message before it awaits anything else, so that messages join the turn in order."""
        self._interruptible = False

    def cancel(self) -> bool:
        """Stop the turn, which still returns its result. Return False if it is over or about to end."""
        if self.task is None or self.task.done() or (self.turn and self.turn.closing):
            return False
        if not self.cancel_requested:
            self.cancel_requested = True
            if self._interruptible:
                self.task.cancel()
        return True

    def begin(self) -> None:
        """Mark the task as running: from here on, a cancel reaches it as `CancelledError`. Raises it if one came
        before."""
        self._interruptible = True
        if self.cancel_requested:
            raise asyncio.CancelledError
