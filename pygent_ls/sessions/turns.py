"""What a turn and a session are made of, and a turn that waits or runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pygent_ls.agent.attachments import PromptPart, is_background
from pygent_ls.agent.loop import Turn
from pygent_ls.agent.model import Effort, Model
from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.turn import TurnResult
from pygent_ls.agent.variants import Variants, variants
from pygent_ls.sessions.commands.answering import CommandTurn
from pygent_ls.sessions.commands.command import ModelPrompt
from pygent_ls.sessions.commands.registry import Commands
from pygent_ls.sessions.stream import Subscriber
from pygent_ls.sessions.turn_settings import AnswerWithoutModel, Limits, MakeModelAt, MakeSystemPrompt, TakeSettings

if TYPE_CHECKING:  # with it comes pydantic
    from pygent_ls.sessions.journal.recalling import Recalled
    from pygent_ls.sessions.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """What a front end asks for; None means the session's own."""

    parts: tuple[PromptPart, ...]
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_budget_usd: float | None = None
    effort: Effort | None = None
    output_schema: Mapping[str, Any] | None = None
    """What the answer must be valid against; None: the turn answers with words."""
    tools: tuple[str, ...] | None = None
    """The only tools that the turn is offered, by name; None: all that it would be."""
    notices: tuple[str, ...] = ()
    """For the user, when the turn begins."""
    turn_id: str | None = None
    """The turn's id, unique in the session; None: the session makes one."""
    own_words: str | None = None
    """What of the prompt may choose the agent with `@agent-NAME`; None: all of it."""

    @property
    def prompt(self) -> str:
        """The user's words, without attachments."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def has_attachments(self) -> bool:
        """Whether the user sends more than words; where they are is background."""
        return any(not isinstance(part, str) and not is_background(part) for part in self.parts)

    def saying(self, asked: ModelPrompt) -> TurnRequest:
        """The request with what a command stands for in place of the user's words; a model that they chose for this
        turn goes before the one that the command names."""
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
    """Where a session is used: one front end's editor, settings and folders."""

    def parts_of(self, session: Session) -> SessionParts:
        """What the session would be made of if it were made there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionParts:
    """What a session is made of."""

    id: str
    name: str
    working_directory: Path
    agent: str
    model: str
    surroundings: Surroundings
    limits: Limits
    make_model: Callable[[str], Model]
    """Raises `ModelError` for a name that no provider takes."""
    make_model_at: MakeModelAt | None = None
    """The same for a model that is reached elsewhere than the settings say."""
    make_system_prompt: MakeSystemPrompt
    on_change: Callable[[str, str], None]
    """Told (session id, what) when a turn starts or ends."""
    tell: Callable[[str], None] = lambda _: None
    """Tells the user what happens while no turn runs."""
    take_settings: TakeSettings | None = None
    """Called when a turn begins; None where the parts stay as they are."""
    commands: Commands = field(default_factory=Commands)
    variants: Variants = field(default_factory=variants)
    """All agents, as the settings were read last."""
    look_up_variants: Callable[[], Variants] | None = None
    """All agents, as the settings say now."""
    has_own_agent: bool = False
    """Whether `agent` was chosen for this session, else it is the settings'."""
    has_own_model: bool = True
    """Whether `model` was chosen for this session, else it is the settings'."""
    answer_without_model: AnswerWithoutModel | None = None
    """Asked before a turn for which no model is chosen."""
    home: Home | None = None
    """Where it is; None where there is one front end alone."""
    recalled: Recalled | None = None
    """What the journal had of the session when it was taken up again; None where it begins."""


class RunningTurn:
    """A turn that waits or runs. Its session owns the task and awaits it when it closes."""

    def __init__(self, turn_id: str, request: TurnRequest, subscriber: Subscriber, home: Home | None = None) -> None:
        self.turn_id = turn_id
        self.home = home
        """Whose turn it is: it runs with that front end's editor and settings."""
        self.request = request
        self.said = request.prompt
        """The user's words, whatever they stand for."""
        self.subscriber = subscriber
        self.cancel_requested = False
        self.prompt = ""
        """As it may be shown to anyone; empty until the turn runs, or waits."""
        self.own_mode: Mode | None = None
        """The mode that it runs in, where it is not the session's."""
        self.turn: Turn | CommandTurn | None = None
        self.task: asyncio.Task[TurnResult] | None = None
        self.steering = asyncio.Lock()
        """Taken by each word to the running turn before it awaits anything else: they join it in their order."""
        self._interruptible = False

    def cancel(self) -> bool:
        """Stop the turn; it still returns its result. False when it is over, or too late."""
        if self.task is None or self.task.done() or (self.turn and self.turn.closing):
            return False
        if not self.cancel_requested:
            self.cancel_requested = True
            if self._interruptible:
                self.task.cancel()
        return True

    def begin(self) -> None:
        """The task runs now: from here on a cancel reaches it as an exception. Raises one that came before."""
        self._interruptible = True
        if self.cancel_requested:
            raise asyncio.CancelledError
