"""Findings of a code review for a front end without documents, in the form of its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent.ports.review_findings import ReviewFinding
from pygent_ls.agent.tools.listed_findings import ListedFindings


class TurnFindings(Struct, frozen=True, kw_only=True):
    """Findings of the turn that runs."""

    folder: Path
    """Folder that paths are relative to."""
    listed: ListedFindings = field(default_factory=ListedFindings)

    def take_text(self) -> str:
        """Return the findings of the turn that has ended, as text; empty after any other turn than a review."""
        found = self.listed.take()
        if found is None:
            return ""
        blocks = [f"Findings: {len(found) or 'none'}"]
        for each in sorted(found, key=lambda each: each.priority):
            body = each.body.replace("\n", "\n  ")
            blocks.append(f"P{each.priority} {self._shown(each.path)}:{_lines(each)} {each.title}\n  {body}")
        return "\n\n".join(blocks) + "\n"

    def take_json(self) -> Sequence[Mapping[str, Any]] | None:
        """Return the findings of the turn that has ended, with the field names of codex; None after
        any other turn than a review."""
        found = self.listed.take()
        return None if found is None else [self._out(each) for each in found]

    def _out(self, finding: ReviewFinding) -> Mapping[str, Any]:
        told: dict[str, Any] = {
            "title": finding.title,
            "body": finding.body,
            "priority": finding.priority,
            "confidence_score": finding.confidence,
            "code_location": {
                "path": self._shown(finding.path),
                "absolute_file_path": str(finding.path),
                "line_range": {"start": finding.lines.first, "end": finding.lines.last},
            },
        }
        if finding.suggestion is not None:
            told["suggestion"] = finding.suggestion
        return told

    def _shown(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def _lines(finding: ReviewFinding) -> str:
    first, last = finding.lines.first, finding.lines.last
    return str(first) if first == last else f"{first}-{last}"
