"""Findings of a front end that shows no documents."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from pygent_ls.agent.ports.review_findings import ReviewFinding


class ListedFindings(Struct):
    """Findings that are only listed."""

    found: list[ReviewFinding] = field(default_factory=list[ReviewFinding])
    _has_begun: bool = False

    def begin(self, session_id: str) -> None:
        """Implement `ReviewFindings`."""
        self.found = [each for each in self.found if each.session_id != session_id]
        self._has_begun = True

    def report(self, finding: ReviewFinding, text: str) -> None:
        """Implement `ReviewFindings`."""
        del text
        self.found.append(finding)

    def of_session(self, session_id: str) -> Sequence[ReviewFinding]:
        """Implement `ReviewFindings`."""
        return [each for each in self.found if each.session_id == session_id]

    def take(self) -> Sequence[ReviewFinding] | None:
        """Return the findings, and forget them; None if no review has begun since the last call."""
        if not self._has_begun:
            return None
        taken, self.found, self._has_begun = self.found, [], False
        return taken
