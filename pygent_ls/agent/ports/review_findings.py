"""The findings port: keeps and shows what a code review found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from pygent_ls.agent.ports.editor_state import LineRange

Priority = Literal[0, 1, 2, 3]
"""0: fix before anything else; 1: fix next; 2: fix at some time; 3: nice to have."""


class ReviewFinding(Struct, frozen=True, kw_only=True):
    """One problem that a code review found."""

    id: str
    session_id: str
    """Session in which the review ran."""
    path: Path
    """Absolute, links resolved."""
    lines: LineRange
    """Lines that it is about, in the file as it was when it was reported."""
    title: str
    body: str
    priority: Priority
    confidence: float | None = None
    """Probability, from 0 to 1, that the problem is real; None if the model gave none."""
    code: str
    """Text of the lines when it was reported, with their line ends."""
    suggestion: str | None = None
    """Text that replaces the lines, with line ends; empty to delete them. None if there is no suggestion."""


class ReviewFindings(Protocol):
    """Findings of the code reviews of one front end."""

    def begin(self, session_id: str) -> None:
        """Remove the findings of the session's earlier review, because a new one begins."""
        ...

    def report(self, finding: ReviewFinding, text: str) -> None:
        """Add a finding; `text` is the text of its file that the lines refer to."""
        ...

    def of_session(self, session_id: str) -> Sequence[ReviewFinding]:
        """Return the findings of the session's last review, in the order of their report."""
        ...
