"""What goes out: results, notifications and events, typed dictionaries, so that a delta costs no validation."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from pygent_ls.agent.events import PlanPriority, PlanStatus, StopReason
from pygent_ls.agent.workspace import ChangeKind
from pygent_ls.editors.lsp.outgoing_messages import ReviewBlockOut
from pygent_ls.errors import ModelErrorType

RiskOut = Literal["low", "medium", "high"]
"""How much harm a call may do."""


class PositionOut(TypedDict):
    """An LSP position."""

    line: int
    character: int


class RangeOut(TypedDict):
    """An LSP range."""

    start: PositionOut
    end: PositionOut


class LocationOut(TypedDict):
    """A place that a tool call is about."""

    uri: str
    range: NotRequired[RangeOut]


class UsageOut(TypedDict):
    """Tokens and dollars; null where not known."""

    inputTokens: int
    outputTokens: int
    cacheReadTokens: int
    cacheWriteTokens: int
    totalTokens: int
    costUsd: float | None
    contextTokens: int
    contextLimit: int | None


class FileChangedOut(TypedDict):
    """A file that the turn changed."""

    uri: str
    kind: ChangeKind
    added: int
    removed: int


class ChangeOut(FileChangedOut):
    """A file that one tool call changed, with the unified diff."""

    patch: str


class TurnErrorOut(TypedDict):
    """Why a turn ended with `stopReason: "error"`."""

    type: ModelErrorType
    message: str
    retryable: bool


class TurnResultOut(TypedDict):
    """The result of `pygent/turn/start`. `structured`, any JSON value, is there where the request had an `outputSchema`
    and `stopReason` is `end_turn`."""

    sessionId: str
    turnId: str
    stopReason: StopReason
    text: str
    usage: UsageOut
    iterations: int
    filesChanged: list[FileChangedOut]
    error: NotRequired[TurnErrorOut]
    structured: NotRequired[Any]


class ErrorDataOut(TypedDict):
    """The `data` of an error -32602 that is about a session; `kind` tells such errors from each other."""

    kind: str


class EventOut(TypedDict):
    """What every event has."""

    seq: int
    turnId: str
    iteration: int
    totalTokens: int
    timestamp: str
    parentToolId: NotRequired[str]


class FileAttachmentOut(TypedDict):
    """A file or a selection in one; without `range` the whole file."""

    type: Literal["file", "selection"]
    uri: str
    range: NotRequired[RangeOut]


class DiagnosticsAttachmentOut(TypedDict):
    """So many diagnostics of a file."""

    type: Literal["diagnostics"]
    uri: str
    count: int


class ImageAttachmentOut(TypedDict):
    """A picture; without `uri` it came as data, which the session's message holds."""

    type: Literal["image"]
    mimeType: str
    uri: NotRequired[str]


class TerminalAttachmentOut(TypedDict):
    """The output of a command that the user ran in a terminal."""

    type: Literal["terminal"]
    command: str


AttachmentOut = (
    FileAttachmentOut | DiagnosticsAttachmentOut | ImageAttachmentOut | TerminalAttachmentOut | ReviewBlockOut
)


class TurnBeginOut(EventOut):
    """The turn waits, or runs now. `attachments` are what the prompt carries besides its words. `held` of `turn_queued`
    says that the daemon that accepted the prompt ended before the turn began: it waits for `pygent/turn/resume`
    or `pygent/turn/dequeue`."""

    type: Literal["turn_queued", "turn_started"]
    prompt: str
    model: str
    mode: str
    agent: str
    attachments: NotRequired[list[AttachmentOut]]
    held: NotRequired[Literal[True]]


class ItemOut(EventOut):
    """Text or thinking: pieces as they come, then the whole, which replaces them."""

    type: Literal["text_delta", "thinking_delta", "text", "thinking"]
    itemId: str
    content: str


class ToolCallOut(EventOut):
    """The model asks for a tool; once more with the same `toolId` where a hook has changed its input."""

    type: Literal["tool_call"]
    toolId: str
    toolName: str
    input: dict[str, Any]
    title: str
    kind: Literal["read", "edit", "delete", "move", "search", "execute", "fetch", "think", "other"]
    risk: Literal["low", "medium", "high"]
    readOnly: bool
    locations: list[LocationOut]


class PermissionRequestedOut(EventOut):
    """The user is asked."""

    type: Literal["permission_requested"]
    permissionId: str
    toolId: str


class PermissionResolvedOut(EventOut):
    """The question is answered."""

    type: Literal["permission_resolved"]
    permissionId: str
    toolId: str
    outcome: Literal["allow_once", "allow_session", "allow_always", "reject_once", "reject_always", "cancelled"]
    by: Literal["user", "rule", "mode", "hook"]


class PermissionDeniedOut(EventOut):
    """The call will not run."""

    type: Literal["permission_denied"]
    toolId: str
    toolName: str
    reason: str


class ToolProgressOut(EventOut):
    """Live output of a tool."""

    type: Literal["tool_progress"]
    toolId: str
    content: str


class ToolResultOut(EventOut):
    """A tool call is over. `durationMs` leaves out the time that the user took to answer. `exitCode` is that of the
    command that the call ran, negative for a signal."""

    type: Literal["tool_result"]
    toolId: str
    toolName: str
    content: str
    isError: bool
    cached: bool
    truncated: bool
    durationMs: int
    exitCode: NotRequired[int]
    changes: NotRequired[list[ChangeOut]]


class ModelCallOut(TypedDict):
    """One model call."""

    model: str
    usage: UsageOut


class UsageEventOut(EventOut):
    """The turn's totals after a model call. `call` is that call alone, of the model that answered; it is missing where
    the call gave no answer of the conversation, as one that sums up."""

    type: Literal["usage"]
    usage: UsageOut
    call: NotRequired[ModelCallOut]


class LlmErrorOut(EventOut):
    """A model call failed."""

    type: Literal["llm_error"]
    errorType: ModelErrorType
    errorMessage: str
    retryable: bool
    attempt: int
    willRetry: bool
    retryInSeconds: NotRequired[float]
    fallbackModel: NotRequired[str]
    withdrawn: list[str]


class LimitReachedOut(EventOut):
    """A limit of the turn is reached."""

    type: Literal[
        "iteration_limit_reached",
        "token_limit_reached",
        "budget_limit_reached",
        "time_limit_reached",
        "loop_detected",
    ]
    limit: float
    value: float


class CompactedOut(EventOut):
    """The conversation was shortened."""

    type: Literal["compacted"]
    tokensBefore: int
    tokensAfter: int
    messagesSummarised: int


class PlanEntryOut(TypedDict):
    """One thing to do."""

    content: str
    status: PlanStatus
    priority: PlanPriority


class PlanOut(EventOut):
    """The whole plan as it is now."""

    type: Literal["plan"]
    entries: list[PlanEntryOut]


class HookOut(EventOut):
    """A command of the user's was run."""

    type: Literal["hook"]
    hookEvent: str
    command: str
    decision: str
    durationMs: int


class SteeredOut(EventOut):
    """The user said something while the turn ran; `content` is empty if it is attachments alone."""

    type: Literal["steered"]
    content: str
    attachments: NotRequired[list[AttachmentOut]]


class NoticeOut(EventOut):
    """Something to know that is nobody's message."""

    type: Literal["notice"]
    content: str
    level: Literal["info", "warning", "error"]


class CancelledOut(EventOut):
    """The turn was cancelled, or the daemon died in it."""

    type: Literal["cancelled", "interrupted"]


class FinishedOut(EventOut):
    """The turn is over; always the last event. `durationMs` leaves out the time that the user took to answer; it is
    missing if the turn did not run to its end."""

    type: Literal["finished"]
    stopReason: StopReason
    usage: UsageOut
    filesChanged: list[FileChangedOut]
    durationMs: NotRequired[int]


WireEvent = (
    TurnBeginOut
    | ItemOut
    | ToolCallOut
    | PermissionRequestedOut
    | PermissionResolvedOut
    | PermissionDeniedOut
    | ToolProgressOut
    | ToolResultOut
    | UsageEventOut
    | LlmErrorOut
    | LimitReachedOut
    | CompactedOut
    | PlanOut
    | HookOut
    | SteeredOut
    | NoticeOut
    | CancelledOut
    | FinishedOut
)


class EventsOut(TypedDict):
    """The `value` of a `$/progress` on the turn's `partialResultToken`."""

    events: list[WireEvent]


class SessionOut(TypedDict):
    """A session."""

    sessionId: str
    name: str
    cwd: str
    createdAt: str
    updatedAt: str
    agent: str
    model: str
    mode: str
    usage: UsageOut
    messageCount: int
    lastSeq: int
    interrupted: bool
    """Its last turn was cut off when the program ended, and nobody has gone on since."""


class CancelledTurnOut(TypedDict):
    """The result of `pygent/turn/cancel`."""

    cancelled: bool


class SessionChangedOut(TypedDict):
    """The notification `pygent/session/changed`. `background`: a background command has started or ended."""

    sessionId: str
    what: Literal[
        "created",
        "turn_started",
        "turn_finished",
        "restored",
        "renamed",
        "configured",
        "deleted",
        "interrupted",
        "background",
    ]
