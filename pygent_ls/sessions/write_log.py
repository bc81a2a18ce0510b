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
    _under_way: dict[object, frozenset[Path]] = field(default_factory=dict[object, frozenset[Path]])
    """What each session is writing: between the write and its end the user may review it for long."""

    def now(self) -> int:
        """This moment, for `by_others`."""
        return self._now

    def writes(self, owner: object, paths: Iterable[Path]) -> None:
        """A session begins to write these paths, and nothing else any more."""
        self._under_way.pop(owner, None)
        if writes := frozenset(paths):
            self._under_way[owner] = writes

    def wrote(self, owner: object, paths: Iterable[Path]) -> None:
        """A session has written these paths."""
        self._under_way.pop(owner, None)
        self._now += 1
        self._writes.extend((self._now, owner, path) for path in paths)

    def by_others(self, owner: object, since: int) -> set[Path]:
        """What other sessions have written since that moment, or are writing."""
        found = {path for writer, paths in self._under_way.items() if writer is not owner for path in paths}
        for moment, writer, path in reversed(self._writes):
            if moment <= since:
                break
            if writer is not owner:
                found.add(path)
        return found
