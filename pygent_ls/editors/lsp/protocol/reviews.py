"""`pygent/review/…`: review of the agent's changes, after the edits or before the turn continues."""

from typing import Literal, NotRequired, TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params, RangeOut


class HunkOut(TypedDict):
    """Adjacent lines that an edit changed. `range` is the range of `newText` in the text right after the edit."""

    hunkId: str
    range: RangeOut
    oldText: str
    newText: str


class ReviewedFileOut(TypedDict):
    """A changed file. A created or deleted file has one hunk, which covers all of it."""

    uri: str
    kind: Literal["edit", "create", "delete"]
    hunks: list[HunkOut]


class ReviewRequestOut(TypedDict):
    """An edit that was made, to be accepted or rejected hunk by hunk. `toolId` is the call that made it."""

    reviewId: str
    sessionId: str
    turnId: str
    toolId: str
    files: list[ReviewedFileOut]


class ReviewCancelledOut(TypedDict):
    """The review is no longer valid. Close it; the edit stays."""

    reviewId: str


class ReviewedHunk(Params, frozen=True, kw_only=True):
    """The user's decision about a hunk."""

    hunk_id: str
    accepted: bool


class ReviewResult(Params, frozen=True, kw_only=True):
    """The user's decisions. A hunk without a valid decision counts as not reviewed and stays, because the edit was
    already allowed. `feedback` is passed to the model."""

    hunks: list[ReviewedHunk]
    feedback: str | None = None


class PendingHunkOut(TypedDict):
    """Adjacent lines of a file that the agent of a session changed, and that wait for review. `range` is the range of
    `newText` in the current text. The id stays when the hunk moves, and changes when its lines do."""

    hunkId: str
    sessionId: str
    range: RangeOut
    oldText: str
    newText: str


class RejectedHunksOut(TypedDict):
    """How many rejected hunks of the file the model of a session does not know of yet."""

    sessionId: str
    hunks: int


class ReviewChangedOut(TypedDict):
    """What waits for review in a file, in place of what was sent of it before; nothing if `hunks` is empty.

    `version` is the version of the open document that the ranges are for; null if it is not open, or if the agent is
    changing it. `kind` tells whether the agent created or deleted the file."""

    uri: str
    kind: Literal["edit", "create", "delete"]
    version: int | None
    hunks: list[PendingHunkOut]
    rejected: list[RejectedHunksOut]


class DecisionParams(Params, frozen=True, kw_only=True):
    """Hunks of a file; without `hunkIds` all hunks of the file, without `uri` all hunks of all files."""

    uri: str | None = None
    hunk_ids: list[str] | None = None


class UndoRejectionParams(Params, frozen=True, kw_only=True):
    """Which rejection is undone: the last one in the file, or the last one of all."""

    uri: str | None = None


class OriginalParams(Params, frozen=True, kw_only=True):
    """A file under review."""

    uri: str


class OriginalOut(TypedDict):
    """The text of the file without the changes that wait for review; null if the agent created it."""

    text: str | None


class AddedChangeParams(Params, frozen=True, kw_only=True):
    """A change that the client made for the agent of a session, to be reviewed. `before` is the text before it; null if
    it created the file."""

    uri: str
    session_id: str
    before: str | None


class DecidedOut(TypedDict):
    """How many changes are left to review in all files, and the file of an undone rejection."""

    left: int
    uri: NotRequired[str]
