"""Finds out which files have changed on the disk, for servers that expect their client to watch files."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from pygent_ls.agent.ports.workspace import Workspace

PAUSE_FACTOR = 20
"""The disk is not looked at again before this many times the time has passed that the last look took."""

CREATED, CHANGED, DELETED = 1, 2, 3

_State = tuple[int, int]


class FileWatch:
    """Files of one server, with their state when they were last looked at."""

    def __init__(self, workspace: Workspace, is_wanted: Callable[[Path], bool], root: Path) -> None:
        self._workspace = workspace
        self._is_wanted = is_wanted
        self._root = root
        self._known: Mapping[Path, _State] | None = None
        self._not_before_s = 0.0

    async def changes(self) -> Sequence[tuple[Path, int]]:
        """Return what has changed since the last look, with the kind by the protocol; nothing at the first look."""
        began_s = time.monotonic()
        if began_s < self._not_before_s:
            return ()
        paths = await self._workspace.files_named(lambda name: self._is_wanted(Path(name)))
        now = await asyncio.to_thread(_states, [path for path in paths if self._root in path.parents])
        before, self._known = self._known, now
        self._not_before_s = time.monotonic() + PAUSE_FACTOR * (time.monotonic() - began_s)
        if before is None:
            return ()
        changes = [(path, CREATED if path not in before else CHANGED) for path in now if now[path] != before.get(path)]
        return [*changes, *((path, DELETED) for path in before if path not in now)]


def _states(paths: Iterable[Path]) -> Mapping[Path, _State]:
    found: dict[Path, _State] = {}
    for path in paths:
        try:
            state = os.lstat(path)
        except OSError:
            continue
        found[path] = (state.st_mtime_ns, state.st_size)
    return found
