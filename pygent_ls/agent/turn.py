"""What a turn is given, what it comes to, and what its parts share while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pygent_ls.agent.compaction import CompactionRules
from pygent_ls.agent.context import ContextRules
from pygent_ls.agent.delegating import TurnShare
from pygent_ls.agent.events import AgentEvent, EventSink, PromptAttachment, Stamped, StopReason
from pygent_ls.agent.hooking import TurnHooks
from pygent_ls.agent.hooks import HookSource
from pygent_ls.agent.limits import TurnLimits
from pygent_ls.agent.messages import Block, Message, Usage
from pygent_ls.agent.model import Effort, Model
from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.retrying import RetryPolicy
from pygent_ls.agent.structured import Structured
from pygent_ls.agent.structured_answer import StructuredAnswer
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.workspace import FileChange
from pygent_ls.errors import ModelError

if TYPE_CHECKING:
    from pygent_ls.agent.subagents import DelegateTo


def no_other_model(name: str) -> Model:
    """What makes models where there is but one."""
    raise ModelError(f"{name} is not available here.", type="invalid_request")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSpec:
    """What one turn is to do; the values stay as they were when it began."""

    turn_id: str
    prompt: str
    """The prompt as the user wrote it."""
    attachments: tuple[PromptAttachment, ...] = ()
    """What the prompt carries besides, as a view shows it."""
    content: str | tuple[Block, ...]
    """The prompt as the model reads it."""
    model: Model
    mode: str
    agent: str
    system: str
    limits: TurnLimits
    max_output_tokens: int
    temperature: float
    max_thinking_tokens: int = 0
    """0 asks for no thinking, unless `effort` does."""
    effort: Effort | None = None
    """Chosen for the turn, its session or its agent; None leaves it to the settings."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    fallback_models: tuple[str, ...] = ()
    """Asked in their order once a model has failed for good; the turn stays with the one that answers."""
    make_model: Callable[[str], Model] = no_other_model
    """Makes those. Raises `ModelError` for one that cannot be had."""
    context: ContextRules = field(default_factory=ContextRules)
    """What of the history the model is sent."""
    compaction: CompactionRules = field(default_factory=CompactionRules)
    summarizer: Model | None = None
    """The model that sums up; None: the one that is asked."""
    notices: tuple[str, ...] = ()
    """What the user is told when the turn begins."""
    stream: bool = True
    """Whether an answer is told piece by piece; else it is told when it is whole."""
    delegate: DelegateTo | None = None
    """Makes its subagents; None where it may have none."""
    output_schema: Mapping[str, Any] | None = None
    """What its answer must be valid against; None: it answers with words."""
    session_source: HookSource | None = None
    """Why the session starts with it; None where it goes on."""
    parent_tool_id: str | None = None
    """The `task` call whose subagent this turn is. Such a turn tells neither its beginning nor its end, each of its
    events names the call, and a cancel goes through it to the turn that it is a part of."""
    source: str = ""
    """Who asks for permission, where it is a subagent: `subagent …`."""
    ceiling: Mode | None = None
    """The mode that is not to be loosened, where it is a subagent's."""

    @property
    def item_prefix(self) -> str:
        """What the ids of its items begin with, and those of no other agent in the turn."""
        return self.turn_id if self.parent_tool_id is None else f"{self.turn_id}-{self.parent_tool_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How the turn ended; `text` is the last answer's."""

    stop_reason: StopReason
    text: str
    usage: Usage
    iterations: int
    files_changed: tuple[FileChange, ...]
    error: ModelError | None = None
    model_s: float = 0.0
    """Seconds that the turn waited for models, those of its subagents added up."""
    structured: Structured | None = None
    """The answer, where the turn had a schema and came to its end (`end_turn`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """What the user says to a turn that runs."""

    shown: str
    """In their words."""
    content: str | tuple[Block, ...]
    """As the model reads it."""
    attachments: tuple[PromptAttachment, ...] = ()
    """As of `TurnSpec`."""


@dataclass(kw_only=True)
class TurnState:
    """How far a turn has come; the loop, its model calls and its tool calls share it."""

    spec: TurnSpec
    around: Surroundings
    history: list[Message]
    sink: EventSink
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
    unpriced: str = ""
    """The model that answered last at a price that is not known, in the turn or its subagents; of the root."""
    text: str = ""
    """The last answer's."""

    model_s: float = 0.0
    """Seconds that it and the subagents that have ended waited for models."""
    text_before: str = ""
    """The beginning of an answer that is being gone on with, after it reached the output limit."""
    steering: list[Steering] = field(default_factory=list["Steering"])
    """What the user said since the last model call began."""
    remarks: list[str] = field(default_factory=list[str])
    """What the model is to learn with its next request, and nobody said."""
    structured: StructuredAnswer = field(default_factory=StructuredAnswer)
    parent: TurnState | None = None
    """Of whose turn this is a subagent's."""
    children: list[TurnState] = field(default_factory=list["TurnState"])
    """Of the subagents that work now."""

    @property
    def share(self) -> TurnShare:
        """What it has in common with its subagents."""
        return self.root.own_share

    @property
    def root(self) -> TurnState:
        """The turn itself."""
        return self if self.parent is None else self.parent.root

    @property
    def depth(self) -> int:
        """0 for the turn itself, 1 for its subagents."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def total(self) -> Usage:
        """What it and its subagents took so far; how full the window is, is its own."""
        total = self.usage
        for each in self.children:
            total = self._with(total, each.total)
        return total

    def begin_subagent(self, child: TurnState) -> None:
        """What it takes counts here from now on."""
        self.children.append(child)

    def end_subagent(self, child: TurnState) -> None:
        """What it took was taken here."""
        self.children.remove(child)
        self.usage = self._with(self.usage, child.total)
        self.model_s += child.model_s

    def _with(self, usage: Usage, childs: Usage) -> Usage:
        own = self.usage
        return replace(usage.plus(childs), context_tokens=own.context_tokens, context_limit=own.context_limit)

    def __post_init__(self) -> None:
        self.model = self.spec.model
        """Which is asked now: the turn's own, or a fallback."""
        self.max_output_tokens = self.spec.max_output_tokens
        """That an answer may have; raised where one did not fit."""
        self.own_share = TurnShare()
        self.hooks = TurnHooks(around=self.around, turn_id=self.spec.turn_id, emit=self.emit, told=self.share.told)

    async def emit(self, event: AgentEvent) -> None:
        """Tell the world, with where the turn stands."""
        await self.sink(
            Stamped(
                event=event,
                iteration=self.root.iterations,
                total_tokens=self.root.total.total_tokens,
                parent_tool_id=self.spec.parent_tool_id,
            )
        )

    def say(self, text: str) -> None:
        """The model's answer is this, or has come so far."""
        self.text = self.text_before + text

    def keep(self, message: Message | None) -> None:
        """Let the history grow by a message, where there is one."""
        if message is not None:
            self.history.append(message)
            self.share.tool_ids.update(call.id for call in message.tool_calls)

    def taken_ids(self) -> set[str]:
        """The ids of all tool calls of the history, and of the subagents."""
        return {call.id for message in self.history for call in message.tool_calls} | self.share.tool_ids
