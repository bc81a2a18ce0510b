"""Our diagnostics of a document, which several parts of the daemon contribute to but the editor takes as one list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Diagnostics = Sequence[dict[str, Any]]


class PublishedDiagnostics:
    """Publishes the diagnostics of all contributors to a document together."""

    def __init__(self, tell: Callable[[str, Any], object]) -> None:
        self._tell = tell
        self._by_uri: dict[str, dict[str, Diagnostics]] = {}

    def publish(self, uri: str, contributor: str, diagnostics: Diagnostics) -> None:
        """Replace what a contributor has published of the document."""
        known = self._by_uri.setdefault(uri, {})
        known.pop(contributor, None)
        if diagnostics:
            known[contributor] = diagnostics
        told = [each for owned in known.values() for each in owned]
        if not known:
            del self._by_uri[uri]
        self._tell("textDocument/publishDiagnostics", {"uri": uri, "diagnostics": told})
