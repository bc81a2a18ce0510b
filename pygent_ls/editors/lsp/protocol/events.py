"""Events of a turn."""

from typing import Any, Literal, NotRequired, TypedDict

from pygent_ls.agent.events import PlanPriority, PlanStatus
from pygent_ls.agent.kinds import StopReason
from pygent_ls.editors.lsp.protocol.content import AttachmentOut
from pygent_ls.editors.lsp.protocol.shapes import ChangeOut, FileChangedOut, LocationOut, RiskOut, UsageOut
from pygent_ls.errors import ModelErrorType


class EventOut(TypedDict):
    """Fields of every event."""

    seq: int
    turnId: str
    iteration: int
    totalTokens: int
    timestamp: str
    parentToolId: NotRequired[str]


class TurnBeginOut(EventOut):
    """The turn is queued, or has started. `attachments` lists what the prompt contains besides its text. If a
    `turn_queued` event has `held`, the daemon that accepted the prompt ended before the turn began: the prompt waits
    for `pygent/turn/resume` or `pygent/turn/dequeue`."""

    type: Literal["turn_queued", "turn_started"]
    prompt: str
    model: str
    mode: str
    agent: str
    attachments: NotRequired[list[AttachmentOut]]
    held: NotRequired[Literal[True]]


class ItemOut(EventOut):
    """Text or thinking of the model: deltas while it arrives, then the whole block, which replaces its deltas."""

    type: Literal["text_delta", "thinking_delta", "text", "thinking"]
    itemId: str
    content: str


class ToolCallDeltaOut(EventOut):
    """A piece of a text in the arguments of a tool call that the model is still writing. `argument` is the name of the
    argument, such as `content`, or a path of keys and indices joined by dots, such as `edits.0.new`. The `tool_call`
    with the same `itemId` replaces its deltas; an `llm_error` that withdraws `itemId`, or the end of the turn, ends
    them. Calls that are short, or arrive in one piece, have none."""

    type: Literal["tool_call_delta"]
    itemId: str
    toolName: str
    argument: str
    content: str


class ToolCallOut(EventOut):
    """The model calls a tool. The event is sent again with the same `toolId` if a hook has changed the input.
    `itemId` is the item of its deltas, if it had any."""

    type: Literal["tool_call"]
    toolId: str
    toolName: str
    input: dict[str, Any]
    title: str
    kind: Literal["read", "edit", "delete", "move", "search", "execute", "fetch", "think", "other"]
    risk: RiskOut
    readOnly: bool
    locations: list[LocationOut]
    itemId: NotRequired[str]


class PermissionRequestedOut(EventOut):
    """The user is asked for permission."""

    type: Literal["permission_requested"]
    permissionId: str
    toolId: str


class PermissionResolvedOut(EventOut):
    """The request for permission was decided."""

    type: Literal["permission_resolved"]
    permissionId: str
    toolId: str
    outcome: Literal["allow_once", "allow_session", "allow_always", "reject_once", "reject_always", "cancelled"]
    by: Literal["user", "rule", "mode", "hook"]


class PermissionDeniedOut(EventOut):
    """The tool call was denied and does not run."""

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
    """A tool call has ended. `durationMs` excludes the time that the user took to answer. `exitCode` is that of the
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
    """The turn's totals after a model call. `call` is the usage of that call alone, with the model that answered. It is
    missing if the call gave no answer in the conversation, such as a call that summarises it."""

    type: Literal["usage"]
    usage: UsageOut
    call: NotRequired[ModelCallOut]


class LlmErrorOut(EventOut):
    """A model call failed. `withdrawn` lists the items whose text no longer counts."""

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
    """The turn has reached a limit."""

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
    """The conversation was compacted."""

    type: Literal["compacted"]
    tokensBefore: int
    tokensAfter: int
    messagesSummarised: int


class PlanEntryOut(TypedDict):
    """An entry of a plan."""

    content: str
    status: PlanStatus
    priority: PlanPriority


class PlanOut(EventOut):
    """The complete current plan."""

    type: Literal["plan"]
    entries: list[PlanEntryOut]


class HookOut(EventOut):
    """A hook command was run."""

    type: Literal["hook"]
    hookEvent: str
    command: str
    decision: str
    durationMs: int


class SteeredOut(EventOut):
    """The user sent a message while the turn ran. `content` is empty if the message has only attachments."""

    type: Literal["steered"]
    content: str
    attachments: NotRequired[list[AttachmentOut]]


class NoticeOut(EventOut):
    """Information for the user that is not part of the conversation."""

    type: Literal["notice"]
    content: str
    level: Literal["info", "warning", "error"]


class CancelledOut(EventOut):
    """The turn was cancelled, or the daemon ended while it ran."""

    type: Literal["cancelled", "interrupted"]


class FinishedOut(EventOut):
    """The turn has ended; always the last event. `durationMs` excludes the time that the user took to answer. It is
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
    | ToolCallDeltaOut
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
