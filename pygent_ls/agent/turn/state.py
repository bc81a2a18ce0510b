"""Input and result of a turn, and the state that its parts share while it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pygent_ls.agent.calls.turn_hooks import TurnHooks
from pygent_ls.agent.compaction.summary import CompactionRules
from pygent_ls.agent.context.window import ContextRules
from pygent_ls.agent.events import AgentEvent, EventSink, PromptAttachment, Stamped
from pygent_ls.agent.kinds import Mode, StopReason
from pygent_ls.agent.messages import Block, Message, Usage
from pygent_ls.agent.model.retry import RetryPolicy
from pygent_ls.agent.ports.hooks import HookSource
from pygent_ls.agent.ports.model import Effort, Model
from pygent_ls.agent.ports.subagents import SubagentTask, TurnShare
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.tools.structured_output import Structured
from pygent_ls.agent.turn.limits import TurnLimits
from pygent_ls.agent.turn.structured_answer import StructuredAnswer
from pygent_ls.errors import ModelError


def no_other_model(name: str) -> Model:
    """Raise `ModelError`: the default `make_model`, for a turn with one model."""
    raise ModelError(f"{name} is not available here.", type="invalid_request")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSpec:
    """Specification of one turn; the values stay as they were when it began."""

    turn_id: str
    prompt: str
    """Prompt as the user wrote it."""
    attachments: tuple[PromptAttachment, ...] = ()
    """Attachments of the prompt, as a client shows them."""
    content: str | tuple[Block, ...]
    """Prompt as the model reads it."""
    model: Model
    mode: str
    agent: str
    system: str
    limits: TurnLimits
    max_output_tokens: int
    temperature: float
    max_thinking_tokens: int = 0
    """Maximum thinking tokens; 0 asks for no thinking, unless `effort` does."""
    effort: Effort | None = None
    """Effort chosen for the turn, its session or its agent; None leaves it to the settings."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    fallback_models: tuple[str, ...] = ()
    """Models tried in order once a model has failed for good; the turn stays with the one that answers."""
    make_model: Callable[[str], Model] = no_other_model
    """Makes a fallback model. Raises `ModelError` for one that is not available."""
    context: ContextRules = field(default_factory=ContextRules)
    """Rules on which part of the history the model is sent."""
    compaction: CompactionRules = field(default_factory=CompactionRules)
    summarizer: Model | None = None
    """Model that summarises; None for the model that is called."""
    notices: tuple[str, ...] = ()
    """Notices for the user when the turn begins."""
    stream: bool = True
    """Whether an answer is emitted piece by piece; else once it is complete."""
    delegate: DelegateTo | None = None
    """Makes its subagents; None if it may have none."""
    output_schema: Mapping[str, Any] | None = None
    """Schema that its answer must match; None if it answers with text."""
    session_source: HookSource | None = None
    """Why the session starts with this turn; None if the session continues."""
    parent_tool_id: str | None = None
    """Id of the `task` call whose subagent this turn is. Such a turn emits neither its beginning nor its end, each of
    its events names the call, and a cancellation propagates to the parent turn."""
    source: str = ""
    """Name shown in permission prompts of a subagent: `subagent …`; else empty."""
    ceiling: Mode | None = None
    """Upper bound on a subagent's permission mode; None for the turn itself."""

    @property
    def item_prefix(self) -> str:
        """Prefix of its item ids, unique among the agents of the turn."""
        return self.turn_id if self.parent_tool_id is None else f"{self.turn_id}-{self.parent_tool_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
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

    spec: TurnSpec
    around: RunContext
    history: list[Message]
    sink: EventSink
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
    unpriced: str = ""
    """Name of the model that answered last at an unknown price, in the turn or its subagents; set on the root only."""
    text: str = ""
    """Text of the last answer."""

    model_s: float = 0.0
    """Seconds that the turn and its ended subagents waited for models."""
    text_before: str = ""
    """Beginning of an answer that is being continued after it reached the output limit."""
    steering: list[Steering] = field(default_factory=list["Steering"])
    """What the user said since the last model call began."""
    remarks: list[str] = field(default_factory=list[str])
    """Remarks for the model's next request that come from neither the user nor the model."""
    structured: StructuredAnswer = field(default_factory=StructuredAnswer)
    parent: TurnState | None = None
    """State of the turn whose subagent this is."""
    children: list[TurnState] = field(default_factory=list["TurnState"])
    """States of the running subagents."""

    @property
    def share(self) -> TurnShare:
        """Values shared by the turn and its subagents."""
        return self.root.own_share

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
            total = self._with(total, each.total)
        return total

    def begin_subagent(self, child: TurnState) -> None:
        """Add a subagent, whose usage counts here from now on."""
        self.children.append(child)

    def end_subagent(self, child: TurnState) -> None:
        """Remove an ended subagent, and add its usage."""
        self.children.remove(child)
        self.usage = self._with(self.usage, child.total)
        self.model_s += child.model_s

    def _with(self, usage: Usage, childs: Usage) -> Usage:
        own = self.usage
        return replace(usage.plus(childs), context_tokens=own.context_tokens, context_limit=own.context_limit)

    def __post_init__(self) -> None:
        self.model = self.spec.model
        """Model that is called now: the turn's own, or a fallback."""
        self.max_output_tokens = self.spec.max_output_tokens
        """Maximum output tokens of an answer; raised if one did not fit."""
        self.own_share = TurnShare()
        self.hooks = TurnHooks(around=self.around, turn_id=self.spec.turn_id, emit=self.emit, told=self.share.told)

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

    def say(self, text: str) -> None:
        """Set the model's answer so far."""
        self.text = self.text_before + text

    def keep(self, message: Message | None) -> None:
        """Append a message to the history, if there is one."""
        if message is not None:
            self.history.append(message)
            self.share.tool_ids.update(call.id for call in message.tool_calls)

    def taken_ids(self) -> set[str]:
        """Return the ids of all tool calls of the history, and of the subagents."""
        return {call.id for message in self.history for call in message.tool_calls} | self.share.tool_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegate:
    """Subagent that has not begun yet."""

    spec: TurnSpec
    around: RunContext


DelegateTo = Callable[[str, SubagentTask, TurnState], Awaitable[Delegate]]
"""Makes the subagent for the `task` call with that id, from its parent's state. Raises `ToolError`."""
