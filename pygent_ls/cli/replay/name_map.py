"""Mapping between the names that the daemon assigned in the recording and in the replaying run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

LEAST_CHARS = 6
"""Minimum length of a name that is searched for within texts: shorter ones are words."""

_NAMING = re.compile(r"(?:Id|Token|Uri)$|^(?:token|uri|id|href|cursor)$")
"""Members of an object whose text is a name."""


class Names:
    """Mapping of names, learned from corresponding messages of both runs."""

    def __init__(self, folders: Mapping[Path, Path]) -> None:
        """Create the mapping. `folders` maps folders that are elsewhere in this run."""
        self._new_of: dict[str, str] = {}
        for old, new in folders.items():
            if old != new:
                self._new_of[str(old)] = str(new)
                self._new_of[quote(str(old))] = quote(str(new))
        self._to_new: Callable[[str], str] | None = None
        self._to_old: Callable[[str], str] | None = None

    def learn(self, old: Any, new: Any, key: str = "") -> None:
        """Learn names from two corresponding JSON values."""
        if isinstance(old, str) and isinstance(new, str):
            if old != new and _NAMING.search(key) and min(len(old), len(new)) >= LEAST_CHARS:
                self._learn(old, new)
        elif isinstance(old, dict) and isinstance(new, dict):
            others = cast("dict[str, Any]", new)
            for name, value in cast("dict[str, Any]", old).items():
                if name in others:
                    self.learn(value, others[name], name)
        elif isinstance(old, list) and isinstance(new, list):
            for one, other in zip(cast("list[Any]", old), cast("list[Any]", new), strict=False):
                self.learn(one, other, key)

    def to_new(self, value: Any) -> Any:
        """Replace the recording's names with this run's."""
        if self._to_new is None:
            self._to_new = _replacing(self._new_of)
        return _everywhere(value, self._to_new)

    def to_old(self, value: Any) -> Any:
        """Replace this run's names with the recording's."""
        if self._to_old is None:
            self._to_old = _replacing({new: old for old, new in self._new_of.items()})
        return _everywhere(value, self._to_old)

    def _learn(self, old: str, new: str) -> None:
        if self.to_new(old) != new and old not in self._new_of:
            self._new_of[old] = new
            self._to_new = self._to_old = None


def _replacing(names: Mapping[str, str]) -> Callable[[str], str]:
    if not names:
        return lambda text: text
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return lambda text: pattern.sub(lambda found: names[found[0]], text)


def _everywhere(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {change(name): _everywhere(member, change) for name, member in members.items()}
    if isinstance(value, list):
        return [_everywhere(each, change) for each in cast("list[Any]", value)]
    return value
