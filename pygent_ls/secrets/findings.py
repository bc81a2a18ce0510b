"""Result of a search for secrets, and the protocol of finders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class Finding(Struct, frozen=True, kw_only=True):
    """A secret in a text, from `start` to before `end`; it lies within one line."""

    start: int
    end: int
    kind: str
    """Kind of secret, in lower case with underscores."""
    everywhere: bool = True
    """Whether the value is distinctive enough to be masked wherever it occurs from now on. Otherwise it is masked only
    here and in assignments to the same variable."""
    variable: str = ""
    """Environment variable that has the value; empty if the value is not of a variable."""
    is_named: bool = False
    """Whether the name of the variable suggests a secret, as DB_PASSWORD does."""


class SecretFinder(Protocol):
    """Finder of values that look like secrets, called in a thread. Each line is judged by itself, so that parts of a
    text can be searched; only the lines of a private key depend on its first line."""

    def __call__(self, text: str, path: str | None = None) -> Sequence[Finding]:
        """Return the secrets in the text, in any order. `path` is the file that the text is all or some lines of."""
        ...
