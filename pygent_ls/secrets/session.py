"""The files that a session knows to hold secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pygent_ls.secrets.env_files import is_env_file

ENV_FILES_OF_A_FOLDER = (
    *(".env", ".env.local", ".env.development", ".env.development.local", ".env.production", ".env.production.local"),
    *(".env.test", ".env.staging", ".envrc"),
)
"""Known before anything is shown: whatever prints their values later, nobody reads them."""

_MENTION = re.compile(r"(?<![\w./~-])[\w./~-]{0,200}?\.(?:env|flaskenv|dev\.vars)[\w.-]{0,40}")
_KEY_MENTION = re.compile(
    r"(?<![\w./~-])(?:[\w./~-]{1,200}?\.(?:pem|key|p8)|[\w./~-]{0,200}?id_(?:rsa|dsa|ecdsa|ed25519))(?![\w.-])"
)


def mentioned(text: str) -> Iterator[str]:
    """The files of environment variables that a text names, and those of private keys."""
    if "env" in text or ".dev.vars" in text:
        yield from (match[0] for match in _MENTION.finditer(text) if is_env_file(match[0]))
    if any(hint in text for hint in (".pem", ".key", ".p8", "id_")):
        yield from (match[0] for match in _KEY_MENTION.finditer(text))


@dataclass
class SecretFiles:
    """What a session knows of files that hold secrets, besides their names."""

    _seen: dict[Path, str] = field(default_factory=dict[Path, str])
    """The files of environment variables that were learned, as they were then."""
    _lines: dict[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])
    """The assignments of files of environment variables."""
    _placeholders: dict[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])
    """The placeholders whose values were written into a file."""
    _with_secrets: set[Path] = field(default_factory=set[Path])

    def is_new(self, path: Path, stamp: str) -> bool:
        """Whether the file was not learned as it is now; it counts as learned from here on.

        `stamp` tells whether a file is still the same.
        """
        if self._seen.get(path) == stamp:
            return False
        self._seen[path] = stamp
        return True

    def learn(self, path: Path, text: str) -> None:
        """The text of a file of environment variables."""
        self._lines[path] = _assignments(text)

    def is_env(self, path: Path | None, text: str) -> bool:
        """Whether a text is a known file's of environment variables, or shares at least half of its lines with one."""
        if path in self._lines:
            return True
        longest = max(map(len, self._lines.values()), default=0)
        if not longest or text.count("=") > 4 * longest or text.count("\n") > 100 + 10 * longest:
            return False
        lines = _assignments(text)
        return any(len(lines & known) * 2 >= len(lines) > 0 for known in tuple(self._lines.values()))

    def write(self, paths: Iterable[Path], placeholders: Collection[str]) -> None:
        """The values of these are in the files from now on."""
        for path in paths:
            self._placeholders[path] = self._placeholders.get(path, frozenset()).union(placeholders)

    def placeholders_in(self, path: Path) -> Collection[str]:
        """Those whose values were written into a file."""
        return self._placeholders.get(path, frozenset())

    def note(self, path: Path, *, has_secrets: bool) -> None:
        """Whether a whole file turned out to hold secrets."""
        (self._with_secrets.add if has_secrets else self._with_secrets.discard)(path)

    def may_have_secrets(self, path: Path) -> bool:
        """Whether a file is known to hold secrets, or likely does by its name."""
        return path in self._with_secrets or path in self._lines or path in self._placeholders or is_env_file(path.name)

    @property
    def knowledge(self) -> int:
        """Another number once more is known."""
        return hash((frozenset(self._lines.items()), frozenset(self._placeholders.items())))

    def inherit(self, source: Path, target: Path) -> None:
        """The target is what the source was, and all that is below it."""
        _inherit(self._lines, source, target)
        _inherit(self._placeholders, source, target)


def _inherit(known: dict[Path, frozenset[str]], source: Path, target: Path) -> None:
    for path, fact in tuple(known.items()):
        if path.is_relative_to(source):
            known[target / path.relative_to(source)] = fact


def _assignments(text: str) -> frozenset[str]:
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line for line in lines if "=" in line and not line.startswith("#"))
