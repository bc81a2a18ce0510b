"""`pygent/session/…` and `pygent/complete`: parameters, results and notifications."""

from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta, field

from pygent_ls.agent.context.window import ContextMode
from pygent_ls.agent.kinds import CompletionKind, Mode
from pygent_ls.agent.ports.model import Effort
from pygent_ls.editors.lsp.protocol.content import MessageOut
from pygent_ls.editors.lsp.protocol.shapes import Count, Params, Token, UsageOut
from pygent_ls.sessions.export.exporter import ExportFormat


class SessionParams(Params, frozen=True, kw_only=True):
    """Parameters of requests about one session."""

    session_id: str


class SessionNewParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/new`. With `worktree`, the session works in the git worktree of that name beside
    the workspace, which is created from HEAD unless it exists; `cwd` must then be missing."""

    cwd: str | None = None
    worktree: Annotated[str, Meta(min_length=1)] | None = None
    agent: Annotated[str, Meta(min_length=1)] | None = None
    model: str | None = None
    mode: Mode | None = None
    name: str | None = None


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
    worktree: NotRequired[str]
    """Name of the worktree in which the session works; missing if it works in the user's files."""
    interrupted: bool
    """The last turn was cut off when the daemon ended, and the session has not been continued since."""


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


MAX_LIMIT = 10_000
"""Maximum number of sessions or turns in one answer."""


Limit = Annotated[int, Meta(ge=1, le=MAX_LIMIT)]


Name = Annotated[str, Meta(max_length=1000)]


class SessionListParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/list`. The most recently used session comes first. `query` is searched for in names
    and conversations. With `cwd`, only the sessions of that folder and of the worktrees of its repository are
    listed."""

    query: str | None = None
    cwd: str | None = None
    cursor: str | None = None
    limit: Limit = 100


class SessionSearchParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/search`, which finds turns that contain every word of `query`. The best match comes
    first."""

    query: Annotated[str, Meta(min_length=1)]
    limit: Limit = 50


class SessionLoadParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/load`. Without `messages`, a long session takes hardly more time to load than a
    short one."""

    session_id: str
    messages: bool = True


class SessionAttachParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/attach`, which sends the events after `sinceSeq` (0: all) and then new events on
    the token, until the request is cancelled or the session ends. With `as: "items"`, it sends `Items` in place of
    events. The session may be held by another daemon or by none. If `sinceSeq` is beyond the session's last event, the
    first event sent is the next new one; `Items` with the lower `seq` are sent at once. A slow client does not slow
    down the turn."""

    session_id: str
    since_seq: Count = 0
    as_: Literal["events", "items"] = field(default="events", name="as")
    partial_result_token: Token


class SessionRenameParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/rename`. With an empty `name`, the session is named after its first prompt; if it
    has none yet, after the next one."""

    session_id: str
    name: Name


class SessionForkParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/fork`, which copies the conversation up to the end of the turn `atTurnId`. Without
    it, everything is copied except for a running turn."""

    session_id: str
    at_turn_id: str | None = None


class SessionExportParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/export`. `/load` reads the format `json`."""

    session_id: str
    format: ExportFormat


class SessionConfigureParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/configure`. Missing fields are unchanged. A mode applies from the next permission
    check. A model or agent applies from the next model call, except in a turn that names its own. Everything else
    applies from the next turn. The limits of a running turn do not change."""

    session_id: str
    agent: str | None = None
    model: Annotated[str, Meta(min_length=1)] | None = None
    mode: Mode | None = None
    max_thinking_tokens: Count | None = None
    effort: Effort | None = None
    context_mode: ContextMode | None = None


class SessionCompactParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/session/compact`, while no turn runs. The conversation is summarised for later model
    requests; `instruction` says what to focus on. The session's own messages are kept."""

    session_id: str
    instruction: Annotated[str, Meta(max_length=10_000)] = ""


class CompleteParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/complete`. `offset` is the position of the cursor in `text`, in the same units as the
    columns of positions."""

    text: Annotated[str, Meta(max_length=100_000)]
    offset: Count
    session_id: str | None = None


class LoadedSessionOut(SessionOut):
    """The result of `pygent/session/load`. `messages` is empty if the request did not ask for it; `turnIds` always
    lists the turns of the messages, oldest first. `notices` informs the user about a stored session: damaged parts that
    were left out, and a turn that was cut off. If this daemon has the session in use, `notices` is empty: the session's
    next turn reports them."""

    messages: list[MessageOut]
    turnIds: list[str]
    notices: list[str]


class SessionsOut(TypedDict):
    """The result of `pygent/session/list`. `nextCursor` requests the next page."""

    sessions: list[SessionOut]
    nextCursor: NotRequired[str]


class MatchOut(TypedDict):
    """A turn that matches the search. A higher `score` is better."""

    sessionId: str
    name: str
    turnId: str
    snippet: str
    score: float


class MatchesOut(TypedDict):
    """The result of `pygent/session/search`."""

    matches: list[MatchOut]


class AttachedOut(TypedDict):
    """The result of `pygent/session/attach` if this daemon closed the session (`closed`) or the session no longer
    exists (`deleted`). `lastSeq` is the last event that was sent, or that the client already had."""

    sessionId: str
    lastSeq: int
    ended: Literal["closed", "deleted"]


class DetachedOut(TypedDict):
    """The `data` of the error -32800 with which `pygent/session/attach` ends when it is cancelled."""

    sessionId: str
    lastSeq: int


class CompactionOut(TypedDict):
    """The result of `pygent/session/compact`. The token counts are estimates of the size of a model request."""

    tokensBefore: int
    tokensAfter: int
    messagesSummarised: int


class ExportOut(TypedDict):
    """The result of `pygent/session/export`."""

    content: str


class DeletedOut(TypedDict):
    """The result of `pygent/session/delete`."""

    deleted: bool


class ClosedOut(TypedDict):
    """The result of `pygent/session/close`."""

    closed: bool


class CompletionItemOut(TypedDict):
    """A completion. `insertText` replaces the text from `start` to `offset`."""

    label: str
    insertText: str
    detail: NotRequired[str]
    kind: CompletionKind


class CompletionOut(TypedDict):
    """The result of `pygent/complete`, best first. `start` has the same units as `offset`."""

    items: list[CompletionItemOut]
    start: int
