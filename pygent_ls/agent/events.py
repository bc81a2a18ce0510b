"""Events of a turn: a closed union of frozen structs, emitted in the order in which things happen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from pygent_ls.agent.kinds import DecidedBy, StopReason, ToolKind, ToolRisk
from pygent_ls.agent.messages import RejectedFile, Usage
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.agent.ports.hooks import HookRan
from pygent_ls.agent.ports.model import FinishReason
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.errors import ModelErrorType


class Location(Struct, frozen=True, kw_only=True):
    """Place that a tool call is about; lines count from 1, both ends included."""

    path: Path
    first_line: int | None = None
    last_line: int | None = None


AttachmentKind = Literal["file", "selection", "diagnostics", "image", "terminal", "review"]


class PromptAttachment(Struct, frozen=True, kw_only=True):
    """Attachment of a prompt, as a view shows it: its location, without its content."""

    kind: AttachmentKind
    location: Location | None = None
    """None for a picture without a file, the output of a terminal, and a review report."""
    n_problems: int = 0
    """Number of diagnostics."""
    mime_type: str = ""
    """Type of an image."""
    text: str = ""
    """Text of a review report, or command whose terminal output is attached."""
    rejected: tuple[RejectedFile, ...] = ()
    """Rejected files of a review report."""


class TurnQueued(Struct, frozen=True, kw_only=True):
    """The turn waits because the session is busy."""

    prompt: str
    model: str
    mode: str
    agent: str
    attachments: tuple[PromptAttachment, ...] = ()
    held: bool = False
    """Whether the turn waits for the user, because the program ended before it began."""
    type: Literal["turn_queued"] = "turn_queued"


class TurnStarted(Struct, frozen=True, kw_only=True):
    """The turn starts to run."""

    prompt: str
    model: str
    mode: str
    agent: str
    attachments: tuple[PromptAttachment, ...] = ()
    type: Literal["turn_started"] = "turn_started"

    @classmethod
    def after(cls, queued: TurnQueued) -> TurnStarted:
        """Return the start event of a turn that waited."""
        return cls(
            prompt=queued.prompt,
            model=queued.model,
            mode=queued.mode,
            agent=queued.agent,
            attachments=queued.attachments,
        )


class TextDelta(Struct, frozen=True, kw_only=True):
    """Piece of text, as it is streamed."""

    item_id: str
    content: str
    type: Literal["text_delta"] = "text_delta"


class ThinkingDelta(Struct, frozen=True, kw_only=True):
    """Piece of thinking, as it is streamed."""

    item_id: str
    content: str
    type: Literal["thinking_delta"] = "thinking_delta"


class Text(Struct, frozen=True, kw_only=True):
    """Complete block of text, which replaces its deltas."""

    item_id: str
    content: str
    type: Literal["text"] = "text"


class Thinking(Struct, frozen=True, kw_only=True):
    """Complete block of thinking, which replaces its deltas."""

    item_id: str
    content: str
    type: Literal["thinking"] = "thinking"


class ToolCallDelta(Struct, frozen=True, kw_only=True):
    """Piece of a text in the arguments of a tool call, while the model writes it. The `ToolCall` with this item, or a
    failure that withdraws it, ends it."""

    item_id: str
    tool_name: str
    argument: str
    """Name of the argument, such as `content`; path of keys and indices, joined by dots, if it is inside of one."""
    content: str
    type: Literal["tool_call_delta"] = "tool_call_delta"


class ToolCall(Struct, frozen=True, kw_only=True):
    """The model calls a tool. Emitted before permission is requested, and again, with the same id, if a hook changes
    the input."""

    tool_id: str
    tool_name: str
    input: Mapping[str, Any]
    title: str
    kind: ToolKind
    risk: ToolRisk
    read_only: bool
    locations: tuple[Location, ...]
    item_id: str = ""
    """Item of its deltas; empty if it was not shown while it arrived."""
    type: Literal["tool_call"] = "tool_call"


class PermissionRequested(Struct, frozen=True, kw_only=True):
    """The user is asked for permission."""

    permission_id: str
    tool_id: str
    type: Literal["permission_requested"] = "permission_requested"


class PermissionResolved(Struct, frozen=True, kw_only=True):
    """The permission request is answered."""

    permission_id: str
    tool_id: str
    outcome: PermissionOutcome
    by: DecidedBy
    type: Literal["permission_resolved"] = "permission_resolved"


class PermissionDenied(Struct, frozen=True, kw_only=True):
    """The call will not run."""

    tool_id: str
    tool_name: str
    reason: str
    type: Literal["permission_denied"] = "permission_denied"


class ToolProgress(Struct, frozen=True, kw_only=True):
    """Live output of a tool."""

    tool_id: str
    content: str
    type: Literal["tool_progress"] = "tool_progress"


class ToolResult(Struct, frozen=True, kw_only=True):
    """A tool call has ended; `content` is what the model reads."""

    tool_id: str
    tool_name: str
    content: str
    is_error: bool
    cached: bool
    truncated: bool
    duration_s: float
    """Seconds, without the time that the user took to answer."""
    changes: tuple[FileChange, ...] = ()
    exit_code: int | None = None
    """Exit code of the command that the call ran; negative for a signal."""
    type: Literal["tool_result"] = "tool_result"


class ModelAnswered(Struct, frozen=True, kw_only=True):
    """Model call that produced an answer."""

    model: str
    """Name of the model that answered, which may be a fallback."""
    finish: FinishReason
    usage: Usage
    """Usage of this call alone."""
    n_calls: int
    """Number of tool calls in the answer; their events follow, whether they run or not."""


class UsageReported(Struct, frozen=True, kw_only=True):
    """Totals of the turn, emitted after each model call."""

    usage: Usage
    answered: ModelAnswered | None = None
    """The call, if it gave an answer of the conversation rather than a summary of it."""
    type: Literal["usage"] = "usage"


class LlmError(Struct, frozen=True, kw_only=True):
    """A model call failed; `withdrawn` names the items whose text no longer counts."""

    error_type: ModelErrorType
    error_message: str
    retryable: bool
    attempt: int
    """Number of the attempt of the model that failed, from 1."""
    will_retry: bool
    """Whether the same model is asked again."""
    retry_in_s: float | None = None
    """Seconds until the same model is asked again."""
    fallback_model: str | None = None
    """Model that is asked instead."""
    withdrawn: tuple[str, ...] = ()
    type: Literal["llm_error"] = "llm_error"


class IterationLimitReached(Struct, frozen=True, kw_only=True):
    """The turn reached its maximum number of model calls."""

    limit: int
    value: int
    type: Literal["iteration_limit_reached"] = "iteration_limit_reached"


class TokenLimitReached(Struct, frozen=True, kw_only=True):
    """The turn reached its maximum number of tokens."""

    limit: int
    value: int
    type: Literal["token_limit_reached"] = "token_limit_reached"


class BudgetLimitReached(Struct, frozen=True, kw_only=True):
    """The turn reached its maximum cost, in dollars."""

    limit: float
    value: float
    type: Literal["budget_limit_reached"] = "budget_limit_reached"


class TimeLimitReached(Struct, frozen=True, kw_only=True):
    """The turn reached its maximum duration, in seconds."""

    limit: float
    value: float
    type: Literal["time_limit_reached"] = "time_limit_reached"


class LoopDetected(Struct, frozen=True, kw_only=True):
    """The model repeats itself; `value` is the number of equal rounds, `limit` the number that counts as a loop."""

    limit: int
    value: int
    type: Literal["loop_detected"] = "loop_detected"


class Compacted(Struct, frozen=True, kw_only=True):
    """The conversation was compacted; the tokens are estimates of what a request holds."""

    tokens_before: int
    tokens_after: int
    messages_summarised: int
    type: Literal["compacted"] = "compacted"


PlanStatus = Literal["pending", "in_progress", "completed"]
PlanPriority = Literal["low", "medium", "high"]


class PlanEntry(Struct, frozen=True, kw_only=True):
    """Step of a plan."""

    content: str
    status: PlanStatus
    priority: PlanPriority = "medium"


class PlanChanged(Struct, frozen=True, kw_only=True):
    """The plan changed; `entries` is the whole plan."""

    entries: tuple[PlanEntry, ...]
    type: Literal["plan"] = "plan"


class Steered(Struct, frozen=True, kw_only=True):
    """The user wrote something while the turn ran; the next model call includes it."""

    content: str
    """Empty if there are only attachments."""
    attachments: tuple[PromptAttachment, ...] = ()
    type: Literal["steered"] = "steered"


class Notice(Struct, frozen=True, kw_only=True):
    """Information for the user that is not part of the conversation."""

    content: str
    level: Literal["info", "warning", "error"] = "info"
    type: Literal["notice"] = "notice"


class Cancelled(Struct, frozen=True, kw_only=True):
    """The turn was cancelled."""

    type: Literal["cancelled"] = "cancelled"


class Interrupted(Struct, frozen=True, kw_only=True):
    """The daemon died during the turn; emitted when the session is loaded again."""

    type: Literal["interrupted"] = "interrupted"


class Finished(Struct, frozen=True, kw_only=True):
    """The turn has ended; always the last event, exactly one per turn."""

    stop_reason: StopReason
    usage: Usage
    files_changed: tuple[FileChange, ...]
    duration_s: float | None = None
    """Seconds, without the time that the user took to answer; None if the turn did not run to its end."""
    type: Literal["finished"] = "finished"


AgentEvent = (
    TurnQueued
    | TurnStarted
    | TextDelta
    | ThinkingDelta
    | Text
    | Thinking
    | ToolCallDelta
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


class Stamped(Struct, frozen=True, kw_only=True):
    """Event with the turn's state when it happened."""

    event: AgentEvent
    iteration: int
    """Number of the turn's model calls so far; 0 before the first."""
    total_tokens: int
    parent_tool_id: str | None = None
    """Id of the `task` call whose subagent emitted the event; None for the turn itself."""


EventSink = Callable[[Stamped], Awaitable[None]]
"""Receives events; awaited, so that a slow consumer slows the turn down instead of filling memory."""
