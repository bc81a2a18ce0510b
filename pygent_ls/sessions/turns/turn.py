"""Parts of a turn and of a session, and a turn that waits or runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pygent_ls.agent.context.attachments import PromptPart, is_background
from pygent_ls.agent.permissions.permissions import Mode
from pygent_ls.agent.ports.model import Effort, Model
from pygent_ls.agent.run_context import Surroundings
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.agent.variants import Variants, variants
from pygent_ls.sessions.commands.command import ModelPrompt
from pygent_ls.sessions.commands.registry import Commands
from pygent_ls.sessions.event_stream import Subscriber
from pygent_ls.sessions.turns.command_turn import CommandTurn
from pygent_ls.sessions.turns.settings import AnswerWithoutModel, Limits, MakeModelAt, MakeSystemPrompt, TakeSettings

if TYPE_CHECKING:  # imports pydantic, which is slow
    from pygent_ls.sessions.journal.replay import Recalled
    from pygent_ls.sessions.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """Turn that a front end requests. None in a field means the session's own value."""

    parts: tuple[PromptPart, ...]
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_budget_usd: float | None = None
    effort: Effort | None = None
    output_schema: Mapping[str, Any] | None = None
    """JSON schema that the answer must be valid against; None if the turn answers with text."""
    tools: tuple[str, ...] | None = None
    """Names of the only tools that the turn may use; None for all."""
    notices: tuple[str, ...] = ()
    """Notices shown to the user when the turn begins."""
    turn_id: str | None = None
    """Id of the turn, unique in the session; None lets the session make one."""
    own_words: str | None = None
    """Part of the prompt in which `@agent-NAME` may choose the agent; None for the whole prompt."""

    @property
    def prompt(self) -> str:
        """Text that the user typed, without attachments."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def has_attachments(self) -> bool:
        """Whether the user sends more than text. Context that the editor adds does not count."""
        return any(not isinstance(part, str) and not is_background(part) for part in self.parts)

    def saying(self, asked: ModelPrompt) -> TurnRequest:
        """Return the request with the prompt that a command expands to in place of the user's text. A model chosen for
        this turn takes precedence over the command's."""
        attached = [part for part in self.parts if not isinstance(part, str)]
        return replace(
            self,
            parts=(asked.text, *attached),
            agent=self.agent or asked.agent,
            model=self.model or asked.model,
            tools=asked.tools,
            notices=asked.notices,
            own_words=asked.own_words if self.own_words is None else self.own_words,
        )


class Home(Protocol):
    """Front end in which a session is used: its editor, settings and folders."""

    def parts_of(self, session: Session) -> SessionParts:
        """Return the parts that the session would have if it were created in this front end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionParts:
    """Values and services that a session is built from."""

    id: str
    name: str
    working_directory: Path
    agent: str
    model: str
    surroundings: Surroundings
    limits: Limits
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
    commands: Commands = field(default_factory=Commands)
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
    home: Home | None = None
    """Front end that the session belongs to; None if there is only one."""
    recalled: Recalled | None = None
    """What the journal held of a resumed session; None for a new one."""


class RunningTurn:
    """A turn that waits or runs. Its session owns the task and awaits it when it closes."""

    def __init__(self, turn_id: str, request: TurnRequest, subscriber: Subscriber, home: Home | None = None) -> None:
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
