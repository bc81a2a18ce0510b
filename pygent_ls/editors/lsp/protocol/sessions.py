"""Results of the requests about sessions, and of completion."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from pygent_ls.editors.lsp.protocol.messages import MessageOut
from pygent_ls.editors.lsp.protocol.results import SessionOut
from pygent_ls.sessions.completion import ItemKind


class LoadedSessionOut(SessionOut):
    """The result of `pygent/session/load`. `messages` is empty if the request did not ask for it; `turnIds` always
    lists the turns of the messages, oldest first. `notices` informs the user about a stored session: damaged parts that
    were left out, and a turn that was cut off. If this daemon has the session in use, `notices` is empty: the session's
    next turn reports them."""

    messages: list[MessageOut]
    turnIds: list[str]  # noqa: N815
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
    kind: ItemKind


class CompletionOut(TypedDict):
    """The result of `pygent/complete`, best first. `start` has the same units as `offset`."""

    items: list[CompletionItemOut]
    start: int
