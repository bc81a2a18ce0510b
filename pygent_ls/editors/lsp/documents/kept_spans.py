"""Places in a document that stay while its text changes, also inside them."""

from __future__ import annotations

from collections.abc import Sequence

from pygent_ls.editors.lsp.documents.minimal_edits import minimal_edits
from pygent_ls.editors.lsp.documents.tracked_spans import TextSpan


class KeptSpans:
    """Spans of a text that move with its changes. A change inside a span becomes part of it; a span whose characters
    are all deleted is empty, and takes in what is inserted at its place."""

    def __init__(self, text: str, spans: Sequence[TextSpan] = ()) -> None:
        self.text = text
        self.spans = list(spans)

    def add(self, span: TextSpan) -> None:
        """Add a span of the current text."""
        self.spans.append(span)

    def remove(self, number: int) -> None:
        """Remove a span."""
        del self.spans[number]

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Apply a change: the characters from `start` to `end` became `new`, and the document became `text`. Text that
        is equal in both is not part of the change."""
        old = self.text[start:end]
        for edit in reversed(minimal_edits(old, new) if old and new else [(0, len(old), new)]):
            self.spans = [_kept(span, start + edit[0], start + edit[1], len(edit[2])) for span in self.spans]
        self.text = text

    def catch_up(self, text: str) -> None:
        """Update to the document's current text, whatever changed it."""
        if text != self.text:
            self.changed(0, len(self.text), text, text)


def _kept(span: TextSpan, start: int, end: int, n_new: int) -> TextSpan:
    """Return the span after the characters from `start` to `end` became `n_new` others."""
    shift = n_new - (end - start)
    if end <= span.start and (start < span.start or span.start < span.end):  # before it, or inserted at its start
        return TextSpan(span.start + shift, span.end + shift)
    if start >= span.end and span.start < span.end:
        return span
    if start <= span.start and end >= span.end:  # all of it; what is new stands in its place
        return TextSpan(start, start + n_new)
    if start < span.start:
        return TextSpan(start + n_new, span.end + shift)
    return TextSpan(span.start, start + n_new if end > span.end else span.end + shift)
