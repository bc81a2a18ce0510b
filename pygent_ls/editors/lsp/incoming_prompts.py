"""What clients answer where the user was asked. Anything else counts as no answer, and as a reject."""

from __future__ import annotations

from pygent_ls.editors.lsp.incoming import Items, Params


class QuestionResult(Params):
    """The title of a choice, words of the user, or both."""

    choice: str | None = None
    text: str | None = None


class PermissionResult(Params):
    """One of the options. What `feedback` says reaches the model. `rules` are stored in place of the option's own:
    each must be a rule about this call, and together they must cover it; else the call is rejected."""

    option_id: str
    feedback: str | None = None
    rules: Items[str] | None = None


class SaveResult(Params):
    """The documents that are saved now; the user is asked about the others."""

    saved: Items[str]
