"""A turn that is a command: no model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pygent_ls.agent.events import AgentEvent, Cancelled, Finished, StopReason, Text, TextDelta, TurnStarted
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.turn import TurnResult
from pygent_ls.errors import ModelError, SessionError, ToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command is going to answer."""

    make: Callable[[], Awaitable[str]]
    """Does what the command does, and returns what the user reads; raises `SessionError`, `ModelError` or `ToolError`.
    """
    can_be_cancelled: bool = False
    """It takes a while, and when it is cancelled nothing has happened."""


def owing_a_value() -> Answer:
    """One that says why a command gives no structured result."""
    why = "A slash command answers with text and cannot be combined with an output schema. Remove one of the two."
    return failing(SessionError(why, kind="no_structured_result"))


def failing(error: SessionError | ModelError) -> Answer:
    """One that says what is wrong."""

    async def fail() -> str:
        raise error

    return Answer(make=fail)


def saying(text: str) -> Answer:
    """One that is known already."""

    async def say() -> str:
        return text

    return Answer(make=say)


@dataclass(kw_only=True)
class CommandTurn:
    """A turn that is a command: its events are those of any turn, and its history stays out of the conversation."""

    answer: Answer
    beginning: TurnStarted
    item_id: str
    sink: Callable[[AgentEvent], Awaitable[None]]
    mask: Callable[[str], Awaitable[str]]
    """Takes the secrets out of what the user reads: files and settings may hold some."""
    closing: bool = False
    """It cannot be cancelled any more: what it does is short, and half of it is worse than the whole."""
    usage: Usage = field(default_factory=Usage)

    async def run(self) -> TurnResult:
        """Run to the end; what is raised for the user is what the user reads."""
        self.closing = not self.answer.can_be_cancelled
        stop: StopReason = "error"
        error: ModelError | None = None
        text = ""
        try:
            await self.sink(self.beginning)
            try:
                text = await self.answer.make()
                stop = "end_turn"
            except (SessionError, ModelError, ToolError) as problem:
                text = await self.mask(str(problem))
                error = ModelError(text.partition("\n")[0], type="invalid_request")
            except asyncio.CancelledError:
                if self.closing:
                    raise
                stop = "cancelled"
            self.closing = True
            text = await self.mask(text)
            if stop == "cancelled":
                await self.sink(Cancelled())
            else:
                await self._say(text)
        finally:
            await self.sink(Finished(stop_reason=stop, usage=self.usage, files_changed=()))
        return TurnResult(stop_reason=stop, text=text, usage=self.usage, iterations=0, files_changed=(), error=error)

    async def _say(self, text: str) -> None:
        await self.sink(TextDelta(item_id=self.item_id, content=text))
        await self.sink(Text(item_id=self.item_id, content=text))
