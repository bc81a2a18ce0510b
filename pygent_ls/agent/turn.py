"""What a turn is given, what it comes to, and what its parts share while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from pygent_ls.agent.events import AgentEvent, EventSink, Stamped, StopReason
from pygent_ls.agent.limits import TurnLimits
from pygent_ls.agent.messages import Block, Message, Usage
from pygent_ls.agent.model import Model
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.workspace import FileChange
from pygent_ls.errors import ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSpec:
    """What one turn is to do; the values stay as they were when it began."""

    turn_id: str
    prompt: str
    """The prompt as the user wrote it."""
    content: str | tuple[Block, ...]
    """The prompt as the model reads it."""
    model: Model
    mode: str
    agent: str
    system: str
    limits: TurnLimits
    max_output_tokens: int
    temperature: float
    notices: tuple[str, ...] = ()
    """What the user is told when the turn begins."""
    parent_tool_id: str | None = None
    """The `task` call whose subagent this turn is. Such a turn tells neither its beginning nor its end, each of its
    events names the call, and a cancel goes through it to the turn that it is a part of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How the turn ended; `text` is the last answer's."""

    stop_reason: StopReason
    text: str
    usage: Usage
    iterations: int
    files_changed: tuple[FileChange, ...]
    error: ModelError | None = None


@dataclass(kw_only=True)
class TurnState:
    """How far a turn has come; the loop, its model calls and its tool calls share it."""

    spec: TurnSpec
    around: Surroundings
    history: list[Message]
    sink: EventSink
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
    text: str = ""
    """The last answer's."""

    async def emit(self, event: AgentEvent) -> None:
        """Tell the world, with where the turn stands."""
        await self.sink(
            Stamped(
                event=event,
                iteration=self.iterations,
                total_tokens=self.usage.total_tokens,
                parent_tool_id=self.spec.parent_tool_id,
            )
        )

    def keep(self, message: Message | None) -> None:
        """Let the history grow by a message, where there is one."""
        if message is not None:
            self.history.append(message)

    def taken_ids(self) -> set[str]:
        """The ids of all tool calls of the history."""
        return {call.id for message in self.history for call in message.tool_calls}
