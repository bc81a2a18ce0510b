"""What a turn and a session are made of, and a turn that waits or runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.agent.attachments import EditorPart, PromptPart
from pygent_ls.agent.loop import Turn
from pygent_ls.agent.model import Model
from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.turn import TurnResult
from pygent_ls.sessions.slash_commands import CommandTurn, SlashCommand, UnknownCommandError, command_in
from pygent_ls.sessions.stream import Subscriber
from pygent_ls.sessions.turn_settings import Limits, MakeSystemPrompt, TakeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """What a front end asks for; None means the session's own."""

    parts: tuple[PromptPart, ...]
    model: str | None = None
    mode: Mode | None = None
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_budget_usd: float | None = None

    @property
    def prompt(self) -> str:
        """The user's words, without attachments."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def command(self) -> SlashCommand | UnknownCommandError | None:
        """The command that the prompt is; None where a model is to read it."""
        said = [part for part in self.parts if not isinstance(part, EditorPart)]
        return command_in(self.prompt) if all(isinstance(part, str) for part in said) else None


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
    make_system_prompt: MakeSystemPrompt
    on_change: Callable[[str, str], None]
    """Told (session id, what) when a turn starts or ends."""
    take_settings: TakeSettings | None = None
    """Called when a turn begins; None where the parts stay as they are."""
    has_own_model: bool = True
    """Whether `model` was chosen for this session, else it is the settings'."""


class RunningTurn:
    """A turn that waits or runs. Its session owns the task and awaits it when it closes."""

    def __init__(self, turn_id: str, request: TurnRequest, subscriber: Subscriber) -> None:
        self.turn_id = turn_id
        self.request = request
        self.subscriber = subscriber
        self.cancel_requested = False
        self.prompt = ""
        """As it may be shown to anyone; empty until the turn runs, or waits."""
        self.turn: Turn | CommandTurn | None = None
        self.task: asyncio.Task[TurnResult] | None = None
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
