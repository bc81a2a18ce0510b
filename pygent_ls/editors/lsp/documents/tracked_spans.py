"""Places in a document that move along while its user types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pygent_ls.agent.edits.differences import is_line_start
from pygent_ls.editors.lsp.documents.minimal_edits import minimal_edits


class TextSpan(NamedTuple):
    """Characters from `start` to `end`; both are equal for a place between two characters."""

    start: int
    end: int


class Followed:
    """Ranges of whole lines that move along with changes of their document.

    A range is lost when a character inside it changes: the text there is then the user's.
    """

    def __init__(self, path: Path, text: str, spans: Sequence[TextSpan]) -> None:
        self.path = path
        self._text = text
        self._spans: list[TextSpan | None] = list(spans)

    def changed(self, start: int, end: int, new: str, text: str) -> None:
        """Apply a change: the characters from `start` to `end` became `new`, and the document became `text`.

        Some editors report several edits as one change from the first to the last place. Text that is equal in both is
        excluded from the change.
        """
        old = self._text[start:end]
        for edit in reversed(minimal_edits(old, new) if old and new else [(0, len(old), new)]):
            self._move(start + edit[0], start + edit[1], len(edit[2]))
        self._text = text

    def catch_up(self, text: str) -> None:
        """Update to the document's current text, whatever changed it."""
        if text != self._text:
            self.changed(0, len(self._text), text, text)

    def is_at(self, text: str) -> bool:
        """Whether this is the text that the ranges refer to."""
        return self._text is text or self._text == text

    def lines(self, number: int) -> TextSpan | None:
        """Return a range; None if its lines were changed, or are no longer whole lines."""
        span = self._spans[number]
        return span if span and all(at == len(self._text) or is_line_start(self._text, at) for at in span) else None

    def _move(self, start: int, end: int, n_new: int) -> None:
        self._spans = [_moved(span, start, end, n_new) if span else None for span in self._spans]


def _moved(span: TextSpan, start: int, end: int, n_new: int) -> TextSpan | None:
    """Return the span after the characters from `start` to `end` became `n_new` others; None if the change was inside
    it."""
    if end <= span.start and (end < span.end or start < end):  # before it, or inserted at its start
        shift = n_new - (end - start)
        return TextSpan(span.start + shift, span.end + shift)
    return span if start >= span.end else None
