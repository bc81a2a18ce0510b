"""An edit that is on its way to the editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pygent_ls.editors.lsp.asking import Patience
from pygent_ls.editors.lsp.chat.tracking import Edit, end_of_edit

LATE_S = 0.4
"""For the editor to tell of an edit that it says it made, where it told of another change: Neovim gathers changes for
0.12 s, Vim clients for up to 0.3."""

REFUSED_S = 0.3
"""For the editor to tell of the change for which it refused an edit."""


@dataclass(kw_only=True)
class Flight:
    """Sent, and not proven. An editor's word is no proof: several say that they made an edit which they dropped."""

    before: str
    """The document that it is an edit of."""
    edit: Edit
    wanted: str
    """What stands in the region when it is made; see `Region.wanted`."""
    is_last: bool
    sent_at: float
    now: Callable[[], float]
    stirred: Callable[[], object]
    """Called when there is something new."""
    answer: Literal["none", "made", "refused"] = "none"
    reason: str = ""
    is_made: bool = False
    has_changed: bool = False
    """The document did, and by now the edit is of another version."""
    _answered_at: float = 0.0

    def answered(self, result: Any) -> None:
        """The editor's answer: whatever is no clear refusal may mean that it was made."""
        if not isinstance(result, Mapping):
            self._settle("made")
            return
        given = cast("Mapping[str, Any]", result)
        self.reason = str(given.get("failureReason") or "")
        self._settle("refused" if given.get("applied") is False else "made")

    def failed(self) -> None:
        """The editor answered with an error, or not in time."""
        self._settle("refused")
        self.reason = "the editor does not answer workspace/applyEdit"

    def end_in(self, text: str) -> int | None:
        """Where it ends, in a text that the document came to be; None if that does not hold it."""
        self.has_changed = True
        return end_of_edit(self.before, self.edit, text)

    def deadline(self, patience: Patience) -> float:
        """When it is to be taken for dropped."""
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
