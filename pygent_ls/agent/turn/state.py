"""Result of a turn, and the state that its parts share while it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.events import AgentEvent, EventSink, PromptAttachment, Stamped
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import Block, Message, Usage
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.ports.subagents import SubagentTask
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.structured_output import Structured
from pygent_ls.agent.turn.provider_searches import ProviderSearches
from pygent_ls.agent.turn.structured_answer import StructuredAnswer
from pygent_ls.agent.turn_spec import TurnSpec
from pygent_ls.errors import ModelError


class TurnResult(Struct, frozen=True, kw_only=True):
    """Result of a turn; `text` is the last answer's."""

    stop_reason: StopReason
    text: str
    usage: Usage
    iterations: int
    files_changed: tuple[FileChange, ...]
    error: ModelError | None = None
    model_s: float = 0.0
    """Seconds that the turn waited for models, including those of its subagents."""
    structured: Structured | None = None
    """Answer, if the turn had a schema and ended with `end_turn`."""


class Steering(Struct, frozen=True, kw_only=True):
    """User message to a running turn."""

    shown: str
    """Message in the user's words."""
    content: str | tuple[Block, ...]
    """Message as the model reads it."""
    attachments: tuple[PromptAttachment, ...] = ()
    """Attachments of the message, as a client shows them."""


@dataclass(kw_only=True)
class TurnState:
    """State of a running turn, shared by the loop, its model calls and its tool calls."""

    history: list[Message]
    sink: EventSink
    structured: StructuredAnswer = field(default_factory=StructuredAnswer)
    parent: TurnState | None = None
    """State of the turn whose subagent this is."""
    children: list[TurnState] = field(default_factory=list["TurnState"])
    """States of the running subagents."""
    context: RunContext = field(init=False)
    """Set by the turn, and again by an agent switch or another model."""
    closing: bool = False
    """Whether the outcome is settled: a cancellation or steering comes too late."""

    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
    unpriced: str = ""
    """Name of the model that answered last at an unknown price, in the turn or its subagents; set on the root only."""
    model_s: float = 0.0
    """Seconds that the turn and its ended subagents waited for models."""
    max_output_tokens: int = 0
    """Maximum output tokens of an answer, raised if one did not fit; 0 for that of the settings."""

    text: str = ""
    """Text of the last answer."""
    text_before: str = ""
    """Beginning of an answer that is being continued after it reached the output limit."""
    steering: list[Steering] = field(default_factory=list["Steering"])
    """What the user said since the last model call began."""
    remarks: list[str] = field(default_factory=list[str])
    """Remarks for the model's next request that come from neither the user nor the model."""
    call_items: dict[str, str] = field(default_factory=dict[str, str])
    """Items under which calls were shown while they arrived, by the ids of the calls; until they are announced."""
    has_report: bool = False
    """Whether a remark is a report, for which the turn goes on."""
    searches: ProviderSearches = field(init=False)

    def __post_init__(self) -> None:
        self.searches = ProviderSearches(emit=self.emit)

    @property
    def spec(self) -> TurnSpec:
        """Current specification of the turn."""
        return self.context.spec

    @property
    def model(self) -> Model:
        """Model that is called now: the turn's own, or a fallback."""
        return self.context.spec.model

    @property
    def files_changed(self) -> tuple[FileChange, ...]:
        """Changes that the turn has made so far, including its subagents; one for each file."""
        return tuple(self.context.share.files_changed.values())

    def use(self, model: Model) -> None:
        """Use this model from the next call on."""
        self.context = replace(self.context, spec=replace(self.context.spec, model=model))

    @property
    def root(self) -> TurnState:
        """State of the turn itself."""
        return self if self.parent is None else self.parent.root

    @property
    def depth(self) -> int:
        """Nesting depth: 0 for the turn itself, 1 for its subagents."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def total(self) -> Usage:
        """Usage of the turn and its subagents so far; how full the window is refers to its own."""
        total = self.usage
        for each in self.children:
            total = total.beside(each.total)
        return total

    def end_subagent(self, child: TurnState) -> None:
        """Remove an ended subagent, and add its usage."""
        self.children.remove(child)
        self.spend(child.total)
        self.model_s += child.model_s

    def spend(self, usage: Usage) -> None:
        """Add usage of requests with another context than the turn's own."""
        self.usage = self.usage.beside(usage)

    @property
    def has_news(self) -> bool:
        """Whether something waits for which a turn that would end makes another model call."""
        return bool(self.steering) or self.has_report

    async def emit(self, event: AgentEvent) -> None:
        """Send an event to the sink, with the progress of the turn."""
        await self.sink(
            Stamped(
                event=event,
                iteration=self.root.iterations,
                total_tokens=self.root.total.total_tokens,
                parent_tool_id=self.spec.parent_tool_id,
            )
        )

    async def tell(self, event: AgentEvent) -> None:
        """Emit an event from outside the loop; ignored once the outcome is settled."""
        if not self.closing:
            await self.emit(event)

    def say(self, text: str) -> None:
        """Set the model's answer so far."""
        self.text = self.text_before + text

    def keep(self, message: Message | None) -> None:
        """Append a message to the history, if there is one."""
        if message is not None:
            self.history.append(message)
            self.context.share.tool_ids.update(call.id for call in message.tool_calls)

    def taken_ids(self) -> set[str]:
        """Return the ids of all tool calls of the history, and of the subagents."""
        return self._earlier_ids | self.context.share.tool_ids

    @cached_property
    def _earlier_ids(self) -> set[str]:
        """Ids of the calls that the history had when they were first asked for; `keep` notes those of later ones."""
        return {call.id for message in self.history for call in message.tool_calls}


class Delegate(Struct, frozen=True, kw_only=True):
    """Subagent that has not begun yet."""

    spec: TurnSpec
    services: SessionServices


DelegateTo = Callable[[str, SubagentTask, RunContext], Awaitable[Delegate]]
"""Makes the subagent for the `task` call with that id, from its parent's run context. Raises `ToolError`."""
