"""Completions that are offered again while the user types them, or returns to the place."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

MAX_KEPT = 50
"""Number of completions that are kept of a file."""

MAX_FILES = 20
"""Number of files of which completions are kept, the most recently completed ones."""

TAIL_CHARS = 200
"""Length of the text before a completion that is compared before the whole text is."""


class CompletionPlace(Struct, frozen=True):
    """A cursor: `chosen` is as if written over the text from `start` to `end`."""

    start: int
    end: int
    chosen: str


class _Kept(Struct, frozen=True):
    """A completion, and what the text around the cursor was when it was made."""

    offset: int
    tail: str
    before: int
    """Hash of all text before the cursor."""
    after: int
    text: str

    @classmethod
    def of(cls, text: str, place: CompletionPlace, completion: str) -> _Kept:
        before = text[: place.start] + place.chosen
        return cls(len(before), before[-TAIL_CHARS:], hash(before), hash(text[place.end :]), completion)

    def rest(self, text: str, place: CompletionPlace) -> str | None:
        """Return what is left of the completion once the user has typed its beginning; None if they typed something
        else, or changed anything else."""
        length = place.start + len(place.chosen) - self.offset
        if not 0 <= length < len(self.text):
            return None
        near = text[max(0, place.start - TAIL_CHARS - len(self.text)) : place.start] + place.chosen
        if not near[: len(near) - length].endswith(self.tail) or near[len(near) - length :] != self.text[:length]:
            return None
        before = (text[: place.start] + place.chosen)[: self.offset]
        is_same = hash(before) == self.before and hash(text[place.end :]) == self.after
        return self.text[length:] if is_same else None


class KeptCompletions:
    """The last completions in the files that the user completed last."""

    def __init__(self) -> None:
        self._kept: dict[Path, list[_Kept]] = {}

    def add(self, path: Path, text: str, place: CompletionPlace, completion: str) -> None:
        """Keep the completion that was made for a place of a text."""
        kept = self._kept.pop(path, [])
        kept.append(_Kept.of(text, place, completion))
        del kept[:-MAX_KEPT]
        self._kept[path] = kept
        for each in list(self._kept)[:-MAX_FILES]:
            del self._kept[each]

    def rest(self, path: Path, text: str, place: CompletionPlace) -> str | None:
        """Return what is left of the newest completion that fits; None if none does."""
        rests = (each.rest(text, place) for each in reversed(self._kept.get(path, [])))
        return next((rest for rest in rests if rest), None)
