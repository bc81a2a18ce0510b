"""Answers of clients to prompts. Invalid answers count as no answer, and as a reject."""

from __future__ import annotations

from pygent_ls.editors.lsp.protocol.params import Items, Params


class QuestionResult(Params):
    """The title of a choice, text of the user, or both."""

    choice: str | None = None
    text: str | None = None


class PermissionResult(Params):
    """The option that the user chose. `feedback` is passed to the model. `rules` are stored instead of the option's own
    rules: each must be a rule about this call, and together they must cover it; otherwise the call is rejected."""

    option_id: str
    feedback: str | None = None
    rules: Items[str] | None = None


class SaveResult(Params):
    """The documents that are now saved. The user is asked about the others."""

    saved: Items[str]
