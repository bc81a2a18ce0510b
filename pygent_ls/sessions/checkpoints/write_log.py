"""Log of writes by the sessions of one daemon, to tell a command's changes from another session's."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

MAX_WRITES = 20_000
"""Maximum number of remembered writes. More during one command are rare; then the oldest are forgotten."""


class WriteLog(Struct):
    """Writes of all sessions, each at an increasing moment."""

    _now: int = 0
    _writes: deque[tuple[int, object, Path]] = field(default_factory=lambda: deque(maxlen=MAX_WRITES))
    _under_way: dict[object, frozenset[Path]] = field(default_factory=dict[object, frozenset[Path]])
    """Paths that each session is writing. The user may review a write for long before it ends."""

    def now(self) -> int:
        """Return the current moment, for `by_others`."""
        return self._now

    def writes(self, owner: object, paths: Iterable[Path]) -> None:
        """Record that a session begins to write exactly these paths."""
        self._under_way.pop(owner, None)
        if writes := frozenset(paths):
            self._under_way[owner] = writes

    def wrote(self, owner: object, paths: Iterable[Path]) -> None:
        """Record that a session has written these paths."""
        self._under_way.pop(owner, None)
        self._now += 1
        self._writes.extend((self._now, owner, path) for path in paths)

    def by_others(self, owner: object, since: int) -> set[Path]:
        """Return the paths that other sessions have written since that moment, or are writing."""
        found = {path for writer, paths in self._under_way.items() if writer is not owner for path in paths}
        for moment, writer, path in reversed(self._writes):
            if moment <= since:
                break
            if writer is not owner:
                found.add(path)
        return found
