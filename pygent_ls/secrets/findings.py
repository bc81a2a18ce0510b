"""The result of a search for secrets, and the protocol of what searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A secret in a text, from `start` to before `end`; it lies within one line."""

    start: int
    end: int
    kind: str
    """What it is, in small letters and underscores."""
    everywhere: bool = True
    """It cannot be mistaken for anything else, so it is masked wherever it occurs from now on; else only here, and
    where the same variable has it."""
    variable: str = ""
    """The environment variable whose value it is."""
    is_named: bool = False
    """The variable's name says that it is a secret, as DB_PASSWORD does."""


class SecretFinder(Protocol):
    """Finds values that look like secrets. Called in a thread; line by line, so that parts of a text can be judged
    alone, but for private keys, whose lines follow their first one."""

    def __call__(self, text: str, path: str | None = None) -> Sequence[Finding]:
        """What is secret in the text, in any order. `path` is the file that the text is from, or shows lines of."""
        ...
