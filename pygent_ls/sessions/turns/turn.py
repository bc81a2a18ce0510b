"""A turn that waits or runs."""

from __future__ import annotations

import asyncio

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.sessions.event_stream import Subscriber
from pygent_ls.sessions.turns.command_turn import CommandTurn
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import SessionOwner


class RunningTurn:
    """A turn that waits or runs. Its session owns the task and awaits it when it closes."""

    def __init__(
        self, turn_id: str, request: TurnRequest, subscriber: Subscriber, owner: SessionOwner | None = None
    ) -> None:
        self.turn_id = turn_id
        self.owner = owner
        """Front end whose editor and settings the turn uses."""
        self.request = request
        self.said = request.prompt
        """Text that the user typed, before a command replaces it."""
        self.subscriber = subscriber
        self.cancel_requested = False
        self.is_over = False
        """Whether its last event was emitted. Only subagents in the background emit more."""
        self.prompt = ""
        """The user's text with secrets masked; empty until the turn runs or waits."""
        self.own_mode: Mode | None = None
        """Mode of this turn; None if it uses the session's."""
        self.turn: Turn | CommandTurn | None = None
        self.task: asyncio.Task[TurnResult] | None = None
        self.steering = asyncio.Lock()
        """Acquired by each steering message before it awaits anything else, so that messages join the turn in order."""
        self._interruptible = False

    @property
    def is_ending(self) -> bool:
        """Whether the model's turn is settled, and only its end is still reported: its messages are complete."""
        return isinstance(self.turn, Turn) and self.turn.closing

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
