"""Open documents as another implementation of the protocol keeps them: that of pygls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lsprotocol import types
from pygls.workspace import TextDocument


@dataclass(slots=True)
class Documents:
    """What is open, by URI, and what stands on the disk."""

    on_disk: dict[str, str]
    texts: dict[str, TextDocument] = field(default_factory=dict[str, TextDocument])
    unknown: set[str] = field(default_factory=set[str])
    """Documents with an invalid change, until their whole text comes."""

    def open(self, uri: str, text: str) -> None:
        """A document is opened, again or for the first time."""
        self.texts[uri] = TextDocument(uri, source=text, version=1, sync_kind=types.TextDocumentSyncKind.Incremental)
        self.unknown.discard(uri)

    def close(self, uri: str) -> None:
        """A document is closed; one that is not open stays as it is."""
        self.texts.pop(uri, None)
        self.unknown.discard(uri)

    def change(self, uri: str, changes: Sequence[dict[str, Any]]) -> None:
        """Changes of one message; a document that is not open stays as it is."""
        document = self.texts.get(uri)
        for each in changes if document else ():
            assert document is not None
            if "range" not in each:
                document.apply_change(types.TextDocumentContentChangeWholeDocument(text=each["text"]))
                self.unknown.discard(uri)
                continue
            start, end = (types.Position(**each["range"][side]) for side in ("start", "end"))
            place = types.Range(start=start, end=end)
            document.apply_change(types.TextDocumentContentChangePartial(range=place, text=each["text"]))

    def spoil(self, uri: str) -> None:
        """An invalid change came. A client that sends one has the document open."""
        if uri not in self.texts:
            self.open(uri, "")
        self.unknown.add(uri)

    def shown(self, uri: str) -> str | None:
        """The text that a reader must see; None if it is unknown."""
        if uri in self.unknown:
            return None
        return self.texts[uri].source if uri in self.texts else self.on_disk[uri]
