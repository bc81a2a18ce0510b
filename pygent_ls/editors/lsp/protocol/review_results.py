"""Answers of clients to reviews of edits."""

from __future__ import annotations

from pygent_ls.editors.lsp.protocol.params import Items, Params


class ReviewedHunk(Params):
    """The user's decision about a hunk."""

    hunk_id: str
    accepted: bool


class ReviewResult(Params):
    """The user's decisions. A hunk without a valid decision counts as not reviewed and stays, because the edit was
    already allowed. `feedback` is passed to the model."""

    hunks: Items[ReviewedHunk]
    feedback: str | None = None
