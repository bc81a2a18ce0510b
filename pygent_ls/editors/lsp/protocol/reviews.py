"""`pygent/review/…`: review of an edit before the turn continues, with its answer."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Items, Params, RangeOut


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


class ReviewedHunk(Params):
    """The user's decision about a hunk."""

    hunk_id: str
    accepted: bool


class ReviewResult(Params):
    """The user's decisions. A hunk without a valid decision counts as not reviewed and stays, because the edit was
    already allowed. `feedback` is passed to the model."""

    hunks: Items[ReviewedHunk]
    feedback: str | None = None
