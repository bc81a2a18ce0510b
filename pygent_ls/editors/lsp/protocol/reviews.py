"""Reviews of edits that the user is asked for."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from pygent_ls.editors.lsp.protocol.results import RangeOut


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
