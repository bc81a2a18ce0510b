"""What goes out about sessions, and about prompts that are being written, part of `outgoing`."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from pygent_ls.editors.lsp.outgoing import SessionOut
from pygent_ls.editors.lsp.outgoing_messages import MessageOut
from pygent_ls.sessions.completing import ItemKind


class LoadedSessionOut(SessionOut):
    """The result of `pygent/session/load`. `messages` are empty where they were not asked for; `turnIds` are the turns
    that they belong to, the oldest first, in either case. `notices` are what a person must know of a session that was
    kept: what of it is damaged and was left out, and that a turn was cut off. One that is in use here tells them in its
    next turn."""

    messages: list[MessageOut]
    turnIds: list[str]  # noqa: N815
    notices: list[str]


class SessionsOut(TypedDict):
    """The result of `pygent/session/list`; `nextCursor` asks for those that follow."""

    sessions: list[SessionOut]
    nextCursor: NotRequired[str]


class MatchOut(TypedDict):
    """A turn that holds what was looked for; a higher score is better."""

    sessionId: str
    name: str
    turnId: str
    snippet: str
    score: float


class MatchesOut(TypedDict):
    """The result of `pygent/session/search`."""

    matches: list[MatchOut]


class AttachedOut(TypedDict):
    """The result of `pygent/session/attach` where the session was closed by this daemon (`closed`), or is gone
    (`deleted`). `lastSeq` is the last event that was sent, or known."""

    sessionId: str
    lastSeq: int
    ended: Literal["closed", "deleted"]


class DetachedOut(TypedDict):
    """The `data` of the error -32800 with which `pygent/session/attach` ends when it is cancelled."""

    sessionId: str
    lastSeq: int


class CompactionOut(TypedDict):
    """The result of `pygent/session/compact`; the tokens are estimates of what a request holds."""

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
    """One way to go on; `insertText` takes the place of the text from `start` to `offset`."""

    label: str
    insertText: str
    detail: NotRequired[str]
    kind: ItemKind


class CompletionOut(TypedDict):
    """The result of `pygent/complete`, the best first; `start` counts as `offset` does."""

    items: list[CompletionItemOut]
    start: int
