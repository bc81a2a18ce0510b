"""What goes out where the user reviews an edit."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from pygent_ls.editors.lsp.outgoing import RangeOut


class HunkOut(TypedDict):
    """Lines that an edit changed together. `range` is where `newText` stands in the text right after the edit."""

    hunkId: str
    range: RangeOut
    oldText: str
    newText: str


class ReviewedFileOut(TypedDict):
    """A file that was changed. One that was created or deleted has one hunk, which is all of it."""

    uri: str
    kind: Literal["edit", "create", "delete"]
    hunks: list[HunkOut]


class ReviewRequestOut(TypedDict):
    """An edit that was made, to be accepted or rejected hunk by hunk; `toolId` is the call that made it."""

    reviewId: str
    sessionId: str
    turnId: str
    toolId: str
    files: list[ReviewedFileOut]


class ReviewCancelledOut(TypedDict):
    """The review no longer counts: close it. The edit stands."""

    reviewId: str
