"""The items of a conversation, as `pygent/session/attach` sends them to a client that asks for `as: "items"`."""

from typing import Any, Literal, NotRequired, TypedDict

from pygent_ls.agent.kinds import DecidedBy, StopReason, ToolKind
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.editors.lsp.protocol.content import (
    DiagnosticsAttachmentOut,
    FileAttachmentOut,
    ImageAttachmentOut,
    RejectedFileOut,
    TerminalAttachmentOut,
)
from pygent_ls.editors.lsp.protocol.events import PlanEntryOut
from pygent_ls.editors.lsp.protocol.shapes import ChangeOut, FileChangedOut, LocationOut, RiskOut, UsageOut
from pygent_ls.errors import ModelErrorType

PromptAttachmentOut = FileAttachmentOut | DiagnosticsAttachmentOut | ImageAttachmentOut | TerminalAttachmentOut


class ConversationItemOut(TypedDict):
    """Fields of every item. `key` is unique in the session and stays the same while the item changes. `at` says when
    the item began."""

    key: str
    turnId: str
    at: str


class PromptItemOut(ConversationItemOut):
    """A prompt of the user. With `steered`, it was sent while the turn ran."""

    type: Literal["prompt"]
    text: str
    steered: bool
    attachments: list[PromptAttachmentOut]


class ReviewItemOut(ConversationItemOut):
    """The changes of the agent that the user rejected, as described for the model. It precedes the prompt that it came
    with."""

    type: Literal["review"]
    text: str
    files: list[RejectedFileOut]


class TextItemOut(ConversationItemOut):
    """Text of the model, as Markdown. With `streaming`, more follows. With `withdrawn`, it belongs to a failed model
    call and no longer counts."""

    type: Literal["text"]
    itemId: str
    text: str
    streaming: bool
    withdrawn: bool


class ThinkingItemOut(ConversationItemOut):
    """Thinking of the model. `endedAt` is null while it streams, and if it is unknown."""

    type: Literal["thinking"]
    itemId: str
    text: str
    streaming: bool
    withdrawn: bool
    endedAt: str | None


class ToolOutcomeOut(TypedDict):
    """The result of a tool call. `content` is what the model reads. `durationMs` excludes the time that the user took
    to answer. `exitCode` is that of the command that the call ran, negative for a signal; null if it ran none."""

    content: str
    isError: bool
    cached: bool
    truncated: bool
    durationMs: int
    exitCode: int | None


class PermissionDecisionOut(TypedDict):
    """How a request for permission was decided."""

    outcome: PermissionOutcome
    by: DecidedBy


ToolStatus = Literal["writing", "asked", "running", "done", "failed", "denied", "cancelled"]


class ToolItemOut(ConversationItemOut):
    """A tool call. While the model writes it (`writing`), `toolId` is empty and `title` and `output` show the arguments
    that have arrived. It is `running` from the moment in which the model makes it, `asked` while the user is asked for
    permission, and `cancelled` if its turn ended first. `runsSince` excludes the time that the user took to answer.
    `output` is the end of the live output, at most 20,000 characters; it is empty once `result` contains it.
    `permissionId` is that of the last request for permission, or null. Items of a subagent have the call as their
    parent."""

    type: Literal["tool"]
    toolId: str
    toolName: str
    title: str
    kind: ToolKind
    risk: RiskOut
    readOnly: bool
    input: dict[str, Any]
    locations: list[LocationOut]
    status: ToolStatus
    runsSince: str
    output: str
    result: ToolOutcomeOut | None
    changes: list[ChangeOut]
    permissionId: str | None
    decision: PermissionDecisionOut | None
    deniedReason: str | None


class FailureItemOut(ConversationItemOut):
    """One or more failed attempts of a model call; the fields are those of the last attempt. `waiting`: the model is
    called again at `retryAt`; `retried`: it was called again, or `fallbackModel` was; `final`: the turn gave up."""

    type: Literal["failure"]
    errorType: ModelErrorType
    message: str
    attempt: int
    state: Literal["waiting", "retried", "final"]
    retryAt: str | None
    fallbackModel: str | None


class LimitItemOut(ConversationItemOut):
    """The turn has reached a limit."""

    type: Literal["limit"]
    limitType: Literal[
        "iteration_limit_reached",
        "token_limit_reached",
        "budget_limit_reached",
        "time_limit_reached",
        "loop_detected",
    ]
    limit: float
    value: float


class CompactedItemOut(ConversationItemOut):
    """The conversation was compacted."""

    type: Literal["compacted"]
    tokensBefore: int
    tokensAfter: int
    messagesSummarised: int


class HookItemOut(ConversationItemOut):
    """A hook command was run."""

    type: Literal["hook"]
    hookEvent: str
    command: str
    decision: str
    durationMs: int


class NoticeItemOut(ConversationItemOut):
    """Information for the user that is not part of the conversation."""

    type: Literal["notice"]
    level: Literal["info", "warning", "error"]
    text: str


class EndItemOut(ConversationItemOut):
    """The turn has ended. `rejected` has the number of changes that the user rejected in each of `filesChanged`, as far
    as the model was told."""

    type: Literal["end"]
    stopReason: StopReason
    usage: UsageOut
    filesChanged: list[FileChangedOut]
    rejected: list[int]
    durationMs: int


AnyItem = (
    PromptItemOut
    | ReviewItemOut
    | TextItemOut
    | ThinkingItemOut
    | ToolItemOut
    | FailureItemOut
    | LimitItemOut
    | CompactedItemOut
    | HookItemOut
    | NoticeItemOut
    | EndItemOut
)


class PutOut(TypedDict):
    """The item replaces the one with its `key`, in the same position. An item with a new key is added at the end of its
    level: below the call with the key `parent`, or at the top."""

    op: Literal["put"]
    item: AnyItem
    parent: NotRequired[str]


class AppendOut(TypedDict):
    """`text` is appended to a field of the item with this key. Of `output`, a client keeps the last 20,000
    characters."""

    op: Literal["append"]
    key: str
    field: Literal["text", "output"]
    text: str


TurnState = Literal["queued", "running", "finished"]


class TurnOut(TypedDict):
    """A turn. `seq` is the number of its first event, `endSeq` that of its last. `asked` is true if the turn is over
    and has called a model; a slash command has not. `plan` is the last plan of the turn itself, null without one."""

    turnId: str
    seq: int
    state: TurnState
    model: str
    mode: str
    agent: str
    startedAt: str
    finishedAt: str | None
    endSeq: int | None
    stopReason: StopReason | None
    usage: UsageOut | None
    asked: bool
    plan: list[PlanEntryOut] | None
    filesChanged: list[FileChangedOut]


class WaitingTurnOut(TypedDict):
    """A turn that waits for the running one. With `held`, the daemon ended before the turn began: it waits for
    `pygent/turn/resume` or `pygent/turn/dequeue`."""

    turnId: str
    prompt: str
    attachments: list[PromptAttachmentOut]
    held: bool


class ItemsOut(TypedDict):
    """The `value` of a `$/progress` of `pygent/session/attach` with `as: "items"`: the changes of a conversation, in
    order. `seq` is the number of the last event that they include (0: before the first), `at` when it happened. `turns`
    lists the new and changed turns, `queue` all waiting turns, the next one first, if they have changed."""

    seq: int
    at: str | None
    items: list[PutOut | AppendOut]
    turns: NotRequired[list[TurnOut]]
    runningTurnId: str | None
    queue: NotRequired[list[WaitingTurnOut]]
