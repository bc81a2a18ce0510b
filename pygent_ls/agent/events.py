"""What a turn tells the world: a closed union of frozen events, in the order they happen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pygent_ls.agent.approver import PermissionOutcome
from pygent_ls.agent.messages import RejectedFile, Usage
from pygent_ls.agent.model import FinishReason
from pygent_ls.agent.tool import ToolKind, ToolRisk
from pygent_ls.agent.workspace import FileChange
from pygent_ls.errors import ModelErrorType

StopReason = Literal[
    "end_turn",
    "max_iterations",
    "token_limit",
    "budget_limit",
    "time_limit",
    "max_output_tokens",
    "refusal",
    "loop_detected",
    "cancelled",
    "interrupted",
    "error",
]

DecidedBy = Literal["user", "rule", "mode", "hook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place that a tool call is about; lines count from 1, both ends belong to it."""

    path: Path
    first_line: int | None = None
    last_line: int | None = None


AttachmentKind = Literal["file", "selection", "diagnostics", "image", "terminal", "review"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAttachment:
    """What a prompt carries besides its words, as a view shows it: where it is, and not what it holds."""

    kind: AttachmentKind
    location: Location | None = None
    """None for a picture without a file, the output of a terminal, and a review report."""
    n_problems: int = 0
    """Number of diagnostics."""
    mime_type: str = ""
    """Of an image."""
    text: str = ""
    """Text of a review report, or command whose terminal output is attached."""
    rejected: tuple[RejectedFile, ...] = ()
    """Of a review report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQueued:
    """The session is busy; the turn waits."""

    prompt: str
    model: str
    mode: str
    agent: str
    attachments: tuple[PromptAttachment, ...] = ()
    held: bool = False
    """Whether it waits for the user: the program ended before the turn began."""
    type: Literal["turn_queued"] = "turn_queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The turn runs now."""

    prompt: str
    model: str
    mode: str
    agent: str
    attachments: tuple[PromptAttachment, ...] = ()
    type: Literal["turn_started"] = "turn_started"

    @classmethod
    def after(cls, queued: TurnQueued) -> TurnStarted:
        """The beginning of a turn that waited."""
        return cls(
            prompt=queued.prompt,
            model=queued.model,
            mode=queued.mode,
            agent=queued.agent,
            attachments=queued.attachments,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of text as it comes."""

    item_id: str
    content: str
    type: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """A piece of thinking as it comes."""

    item_id: str
    content: str
    type: Literal["thinking_delta"] = "thinking_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The whole block; it replaces its deltas."""

    item_id: str
    content: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """The whole block; it replaces its deltas."""

    item_id: str
    content: str
    type: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The model asks for a tool; sent before permission is, and again, with its id, where a hook changed the input."""

    tool_id: str
    tool_name: str
    input: Mapping[str, Any]
    title: str
    kind: ToolKind
    risk: ToolRisk
    read_only: bool
    locations: tuple[Location, ...]
    type: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequested:
    """The user is asked now."""

    permission_id: str
    tool_id: str
    type: Literal["permission_requested"] = "permission_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionResolved:
    """The question is answered."""

    permission_id: str
    tool_id: str
    outcome: PermissionOutcome
    by: DecidedBy
    type: Literal["permission_resolved"] = "permission_resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionDenied:
    """The call will not run."""

    tool_id: str
    tool_name: str
    reason: str
    type: Literal["permission_denied"] = "permission_denied"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress:
    """Live output of a tool."""

    tool_id: str
    content: str
    type: Literal["tool_progress"] = "tool_progress"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """A tool call is over; `content` is what the model will read."""

    tool_id: str
    tool_name: str
    content: str
    is_error: bool
    cached: bool
    truncated: bool
    duration_s: float
    """Without the time that the user took to answer."""
    changes: tuple[FileChange, ...] = ()
    exit_code: int | None = None
    """Of the command that the call ran; negative for a signal."""
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A model call that came to an answer."""

    model: str
    """The name of the one that answered, which may be a fallback."""
    finish: FinishReason
    usage: Usage
    """Of this call alone."""
    n_calls: int
    """Tools that it asks for; these are told next, whether they run or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReported:
    """After each model call: the turn's totals."""

    usage: Usage
    answered: Answered | None = None
    """The call, where it gave an answer of the conversation, and not a summary of it."""
    type: Literal["usage"] = "usage"


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmError:
    """A model call failed; `withdrawn` names the items whose text no longer counts."""

    error_type: ModelErrorType
    error_message: str
    retryable: bool
    attempt: int
    """From 1, of the model that failed."""
    will_retry: bool
    """The same model is asked again."""
    retry_in_s: float | None = None
    """After so many seconds."""
    fallback_model: str | None = None
    """The model that is asked instead."""
    withdrawn: tuple[str, ...] = ()
    type: Literal["llm_error"] = "llm_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationLimitReached:
    """The turn has made as many model calls as it may."""

    limit: int
    value: int
    type: Literal["iteration_limit_reached"] = "iteration_limit_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLimitReached:
    """The turn has used as many tokens as it may."""

    limit: int
    value: int
    type: Literal["token_limit_reached"] = "token_limit_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimitReached:
    """The turn has cost as much as it may, in dollars."""

    limit: float
    value: float
    type: Literal["budget_limit_reached"] = "budget_limit_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimitReached:
    """The turn has taken as long as it may, in seconds."""

    limit: float
    value: float
    type: Literal["time_limit_reached"] = "time_limit_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDetected:
    """The model goes round in circles; `value` counts the equal calls, `limit` is how many are borne."""

    limit: int
    value: int
    type: Literal["loop_detected"] = "loop_detected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The conversation was shortened; the tokens are estimates of what a request holds."""

    tokens_before: int
    tokens_after: int
    messages_summarised: int
    type: Literal["compacted"] = "compacted"


PlanStatus = Literal["pending", "in_progress", "completed"]
PlanPriority = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEntry:
    """One thing to do."""

    content: str
    status: PlanStatus
    priority: PlanPriority = "medium"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChanged:
    """The whole plan as it is now."""

    entries: tuple[PlanEntry, ...]
    type: Literal["plan"] = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRan:
    """A command of the user's was run; `decision` is empty where it decided nothing."""

    hook_event: str
    command: str
    decision: str
    duration_s: float
    type: Literal["hook"] = "hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """The user said something while the turn ran; it stands before the next model call."""

    content: str
    """Empty if it is attachments alone."""
    attachments: tuple[PromptAttachment, ...] = ()
    type: Literal["steered"] = "steered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Information for the user that is not part of the conversation."""

    content: str
    level: Literal["info", "warning", "error"] = "info"
    type: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The turn was cancelled."""

    type: Literal["cancelled"] = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """The daemon died in the turn; told when the session is loaded again."""

    type: Literal["interrupted"] = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The turn is over; always the last event, exactly one a turn."""

    stop_reason: StopReason
    usage: Usage
    files_changed: tuple[FileChange, ...]
    duration_s: float | None = None
    """Without the time that the user took to answer; None if the turn did not run to its end."""
    type: Literal["finished"] = "finished"


AgentEvent = (
    TurnQueued
    | TurnStarted
    | TextDelta
    | ThinkingDelta
    | Text
    | Thinking
    | ToolCall
    | PermissionRequested
    | PermissionResolved
    | PermissionDenied
    | ToolProgress
    | ToolResult
    | UsageReported
    | LlmError
    | IterationLimitReached
    | TokenLimitReached
    | BudgetLimitReached
    | TimeLimitReached
    | LoopDetected
    | Compacted
    | PlanChanged
    | HookRan
    | Steered
    | Notice
    | Cancelled
    | Interrupted
    | Finished
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamped:
    """An event with the turn's state when it happened."""

    event: AgentEvent
    iteration: int
    """The turn's model calls so far, from 1; 0 before the first."""
    total_tokens: int
    parent_tool_id: str | None = None
    """The `task` call whose subagent this happened in."""


EventSink = Callable[[Stamped], Awaitable[None]]
"""Where events go; awaited, so a slow consumer slows the turn instead of filling the memory."""
