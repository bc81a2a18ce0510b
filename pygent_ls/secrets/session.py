"""Files that a session knows to contain secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field

from pygent_ls.secrets.env_files import is_env_file

ENV_FILES_OF_A_FOLDER = (
    *(".env", ".env.local", ".env.development", ".env.development.local", ".env.production", ".env.production.local"),
    *(".env.test", ".env.staging", ".envrc"),
)
"""Files whose values are learned before anything is shown, so that no later output reveals them."""

_MENTION = re.compile(r"(?<![\w./~-])[\w./~-]{0,200}?\.(?:env|flaskenv|dev\.vars)[\w.-]{0,40}")
_KEY_MENTION = re.compile(
    r"(?<![\w./~-])(?:[\w./~-]{1,200}?\.(?:pem|key|p8)|[\w./~-]{0,200}?id_(?:rsa|dsa|ecdsa|ed25519))(?![\w.-])"
)


def mentioned(text: str) -> Iterator[str]:
    """Yield the files of environment variables and of private keys that a text names."""
    if "env" in text or ".dev.vars" in text:
        yield from (match[0] for match in _MENTION.finditer(text) if is_env_file(match[0]))
    if any(hint in text for hint in (".pem", ".key", ".p8", "id_")):
        yield from (match[0] for match in _KEY_MENTION.finditer(text))


class SecretFiles(Struct):
    """Knowledge of a session about files that contain secrets, besides their names."""

    _seen: dict[Path, str] = field(default_factory=dict[Path, str])
    """Files of environment variables that were learned, each with its stamp at that time."""
    _lines: dict[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])
    """Assignments in each file of environment variables."""
    _placeholders: dict[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])
    """Placeholders whose values were written to each file."""
    _with_secrets: set[Path] = field(default_factory=set[Path])

    def is_new(self, path: Path, stamp: str) -> bool:
        """Whether the file's present state has not been learned; it counts as learned from now on.

        `stamp` is equal as long as the file is unchanged.
        """
        if self._seen.get(path) == stamp:
            return False
        self._seen[path] = stamp
        return True

    def learn(self, path: Path, text: str) -> None:
        """Remember the assignments in a file of environment variables."""
        self._lines[path] = _assignments(text)

    def is_env(self, path: Path | None, text: str) -> bool:
        """Whether `path` is a known file of environment variables, or at least half of the assignments are from one."""
        if path in self._lines:
            return True
        longest = max(map(len, self._lines.values()), default=0)
        if not longest or text.count("=") > 4 * longest or text.count("\n") > 100 + 10 * longest:
            return False
        lines = _assignments(text)
        return any(len(lines & known) * 2 >= len(lines) > 0 for known in tuple(self._lines.values()))

    def write(self, paths: Iterable[Path], placeholders: Collection[str]) -> None:
        """Remember that the values of these placeholders were written to the files."""
        for path in paths:
            self._placeholders[path] = self._placeholders.get(path, frozenset()).union(placeholders)

    def placeholders_in(self, path: Path) -> Collection[str]:
        """Return the placeholders whose values were written to a file."""
        return self._placeholders.get(path, frozenset())

    def note(self, path: Path, *, has_secrets: bool) -> None:
        """Remember whether a file contains secrets, after all of it was searched."""
        (self._with_secrets.add if has_secrets else self._with_secrets.discard)(path)

    def may_have_secrets(self, path: Path) -> bool:
        """Whether a file is known to contain secrets, or has the name of a file of environment variables."""
        return path in self._with_secrets or path in self._lines or path in self._placeholders or is_env_file(path.name)

    @property
    def knowledge(self) -> int:
        """Number that changes when more is known."""
        return hash((frozenset(self._lines.items()), frozenset(self._placeholders.items())))

    def inherit(self, source: Path, target: Path) -> None:
        """Apply what is known of `source` and of everything below it to `target`, after a move or a copy."""
        _inherit(self._lines, source, target)
        _inherit(self._placeholders, source, target)


def _inherit(known: dict[Path, frozenset[str]], source: Path, target: Path) -> None:
    for path, fact in tuple(known.items()):
        if path.is_relative_to(source):
            known[target / path.relative_to(source)] = fact


def _assignments(text: str) -> frozenset[str]:
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line for line in lines if "=" in line and not line.startswith("#"))
