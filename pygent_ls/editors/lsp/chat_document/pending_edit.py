"""An edit that was sent to the editor and is not yet proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from msgspec import Struct

from pygent_ls.editors.lsp.chat_document.offsets import OffsetEdit, end_of_edit
from pygent_ls.editors.lsp.rpc.client_requests import Patience

LATE_S = 0.4
"""Time limit for the change of an edit that the editor reported as applied, if another change arrived first: Neovim
gathers changes for 0.12 s, Vim clients for up to 0.3 s."""

REFUSED_S = 0.3
"""Time limit for the change that made the editor refuse an edit."""


class PendingEdit(Struct, kw_only=True):
    """An edit in flight. The editor's answer does not prove it: several editors report success for edits that they
    dropped."""

    before: str
    """Text of the document that the edit applies to."""
    edit: OffsetEdit
    wanted: str
    """Text of the region after the edit; see `Region.wanted`."""
    is_last: bool
    sent_at: float
    now: Callable[[], float]
    stirred: Callable[[], object]
    """Called when the state changes."""
    answer: Literal["none", "made", "refused"] = "none"
    reason: str = ""
    is_made: bool = False
    has_changed: bool = False
    """Whether the document has changed since, so that the edit is for an outdated version."""
    _answered_at: float = 0.0

    def answered(self, result: Any) -> None:
        """Handle the editor's answer. Unless it is a clear refusal, the edit may have been applied."""
        if not isinstance(result, Mapping):
            self._settle("made")
            return
        given = cast("Mapping[str, Any]", result)
        self.reason = str(given.get("failureReason") or "")
        self._settle("refused" if given.get("applied") is False else "made")

    def failed(self) -> None:
        """Handle an error or a timeout."""
        self._settle("refused")
        self.reason = "the editor does not answer workspace/applyEdit"

    def end_in(self, text: str) -> int | None:
        """Return the end of the edit in a later text of the document; None if the text does not contain the edit."""
        self.has_changed = True
        return end_of_edit(self.before, self.edit, text)

    def deadline(self, patience: Patience) -> float:
        """Return the time at which the edit counts as dropped."""
        match self.answer:
            case "none":
                return self.sent_at + patience.answer_s + patience.proof_s
            case "refused":
                return self._answered_at + (0.0 if self.has_changed else REFUSED_S)
            case "made":
                return self._answered_at + (LATE_S if self.has_changed else patience.proof_s)

    def _settle(self, answer: Literal["made", "refused"]) -> None:
        self.answer, self._answered_at = answer, self.now()
        self.stirred()
