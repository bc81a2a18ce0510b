"""A turn that runs a command without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from msgspec import Struct, field

from pygent_ls.agent.context.attachments import NotePart
from pygent_ls.agent.events import AgentEvent, Cancelled, Finished, Text, TextDelta, TurnStarted
from pygent_ls.agent.kinds import Mode, StopReason
from pygent_ls.agent.messages import ImageBlock, Usage
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.errors import ModelError, SessionError, ToolError


class CommandAnswer(Struct, frozen=True, kw_only=True):
    """A command's pending answer."""

    make: Callable[[], Awaitable[str]]
    """Runs the command and returns the text for the user; raises `SessionError`, `ModelError` or `ToolError`."""
    can_be_cancelled: bool = False
    """Whether it may take a while. If it is cancelled, nothing has changed."""


SessionT_contra = TypeVar("SessionT_contra", contravariant=True)


class PromptCommands(Protocol[SessionT_contra]):
    """Slash commands of a session."""

    async def asked_in(
        self, prompt: str, session: SessionT_contra, *, has_attachments: bool = False
    ) -> CommandAnswer | ModelPrompt | None:
        """Return what the prompt stands for: an answer to be made, a prompt for the model, or None if the model reads
        the prompt as it is."""
        ...


class NoCommands:
    """A session without slash commands."""

    async def asked_in(self, prompt: str, session: object, *, has_attachments: bool = False) -> None:
        """Return None: every prompt is for the model."""


def owing_a_value() -> CommandAnswer:
    """Return an answer that says why a command gives no structured result."""
    why = "A slash command answers with text and cannot be combined with an output schema. Remove one of the two."
    return failing(SessionError(why, kind="no_structured_result"))


def failing(error: SessionError | ModelError | ToolError) -> CommandAnswer:
    """Return an answer that reports this error."""

    async def fail() -> str:
        raise error

    return CommandAnswer(make=fail)


def saying(text: str) -> CommandAnswer:
    """Return an answer with this text."""

    async def say() -> str:
        return text

    return CommandAnswer(make=say)


class CommandTurn(Struct, kw_only=True):
    """A turn that runs a command. Its events are like those of any turn, but it adds no messages to the
    conversation."""

    answer: CommandAnswer
    beginning: TurnStarted
    item_id: str
    sink: Callable[[AgentEvent], Awaitable[None]]
    mask: Callable[[str], Awaitable[str]]
    """Masks the secrets in the text for the user, which may come from files and settings."""
    closing: bool = False
    """True once it can no longer be cancelled: a command is short, and must not stop half way."""
    usage: Usage = field(default_factory=Usage)

    async def run(self) -> TurnResult:
        """Run to the end. Errors meant for the user become the answer."""
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


class ModelPrompt(Struct, frozen=True, kw_only=True):
    """Prompt that a command makes for the model. None in a field means the session's own value."""

    text: str
    images: tuple[ImageBlock, ...] = ()
    """Images that belong to the text."""
    notes: tuple[NotePart, ...] = ()
    """Text from files and programs that belongs to the text."""
    agent: str | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None
    """Only tools that the turn may use; None for all."""
    own_tools: tuple[Tool, ...] = ()
    """Further tools, which exist in this turn alone."""
    mode: Mode | None = None
    notices: tuple[str, ...] = ()
    """Notices shown to the user when the turn begins."""
    own_words: str | None = None
    """Part of the text that the user wrote, if the rest must not choose an agent."""
