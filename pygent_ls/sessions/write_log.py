"""Who wrote what and when, among the sessions of one daemon: a change during a command may be another session's."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

MAX_WRITES = 20_000
"""Writes that are remembered; a command during which more are made is rare, and then the oldest are forgotten."""


@dataclass(slots=True)
class WriteLog:
    """Writes of all sessions, by a moment that grows with each."""

    _now: int = 0
    _writes: deque[tuple[int, object, Path]] = field(default_factory=lambda: deque(maxlen=MAX_WRITES))

    def now(self) -> int:
        """This moment, for `by_others`."""
        return self._now

    def wrote(self, owner: object, paths: Iterable[Path]) -> None:
        """A session has written these paths."""
        self._now += 1
        self._writes.extend((self._now, owner, path) for path in paths)

    def by_others(self, owner: object, since: int) -> set[Path]:
        """What other sessions have written since that moment."""
        found: set[Path] = set()
        for moment, writer, path in reversed(self._writes):
            if moment <= since:
                break
            if writer is not owner:
                found.add(path)
        return found
