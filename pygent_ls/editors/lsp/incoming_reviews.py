"""What clients answer where the user reviewed an edit."""

from __future__ import annotations

from pygent_ls.editors.lsp.incoming import Items, Params


class ReviewedHunk(Params):
    """What the user decided about a hunk."""

    hunk_id: str
    accepted: bool


class ReviewResult(Params):
    """The user's decisions. A hunk that is missing, or whose decision is odd, counts as not reviewed and stands, since
    the edit was allowed before. `feedback` reaches the model."""

    hunks: Items[ReviewedHunk]
    feedback: str | None = None
