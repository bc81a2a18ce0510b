"""Handler of the request about the findings of code reviews, and their notification."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.documents.positions import LineIndex
from pygent_ls.editors.lsp.ports.tracked_findings import PlacedFinding, TrackedFindings, range_of
from pygent_ls.editors.lsp.protocol.code_review import FindingOut, FindingsOut, FindingsParams


class FindingRequests:
    """Lists the findings of one client."""

    def __init__(self, client: Client, findings: TrackedFindings) -> None:
        self._client = client
        self._findings = findings

    def list_all(self, params: FindingsParams) -> FindingsOut:
        """Handle `pygent/codeReview/list`."""
        wanted = params.session_id
        listed = [each for each in self._findings.listed if wanted in (None, each.finding.session_id)]
        indexes: dict[Path, LineIndex] = {}
        return {"findings": [self._out(each, indexes) for each in listed]}

    def tell(self) -> None:
        """Send `pygent/codeReview/didChange`."""
        self._client.endpoint.tell("pygent/codeReview/didChange", self.list_all(FindingsParams()))

    def _out(self, placed: PlacedFinding, indexes: dict[Path, LineIndex]) -> FindingOut:
        finding = placed.finding
        text = self._findings.text(finding.path)
        if finding.path not in indexes:
            indexes[finding.path] = LineIndex(text, self._client.features.encoding)
        told: FindingOut = {
            "findingId": finding.id,
            "sessionId": finding.session_id,
            "uri": self._client.uri_of(finding.path),
            "range": cast("Any", range_of(placed, text, indexes[finding.path])),
            "title": finding.title,
            "body": finding.body,
            "priority": finding.priority,
            "isChanged": placed.is_changed,
            "hasSuggestion": finding.suggestion is not None and not placed.is_changed,
        }
        if finding.confidence is not None:
            told["confidence"] = finding.confidence
        return told
