"""Completer port: the text that belongs at a cursor."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """Text of another file that may help."""

    path: Path
    name: str
    """Path as the user knows it."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """A cursor in a file, with the text around it."""

    path: Path
    name: str
    """Path as the user knows it."""
    before: str
    after: str
    snippets: tuple[Snippet, ...] = ()
    max_tokens: int

    @property
    def n_chars(self) -> int:
        """Length of all that is sent."""
        return len(self.before) + len(self.after) + sum(len(each.text) for each in self.snippets)


class Completer(Protocol):
    """A model that completes text at a cursor."""

    @property
    def name(self) -> str:
        """Model string that selected it."""
        ...

    def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        """Yield pieces of the text to insert. `aclose` ends the request. Raises `ModelError`."""
        ...


class InlineCompletions(Protocol):
    """Inline completion as the settings have it."""

    @property
    def debounce_s(self) -> float:
        """Time without a key before a completion is asked for."""
        ...

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of a completion."""
        ...

    def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        """Yield pieces of the text to insert; nothing if a rule denies reading the file, or if the tokens of the day
        are used up. Secrets are masked before anything is sent. Raises `ModelError`."""
        ...
