"""What snapshots leave out, by its stat data: what becomes of it while a command runs can be named, if not undone."""

from __future__ import annotations

import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from pygent_ls.file_access import entries, status_of

MAX_UNKEPT = 2_000
"""Files and folders that are looked at, those first that lie least deep; some 20 ms around each command."""

Stamps = Mapping[Path, tuple[int, ...]]
"""Of files and links their size and time of change; of folders nothing, but of `.git` which folder it is."""


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """What stands at these paths, and below those that are folders. Blocking."""
    found: dict[Path, tuple[int, ...]] = {}
    waiting = deque(sorted(paths, key=lambda path: (len(path.parts), path)))
    while waiting and len(found) < MAX_UNKEPT:
        path = waiting.popleft()
        stamp = _stamp(path)
        if stamp is not None:
            found[path] = stamp
        if stamp == ():
            waiting.extend(_inside(path))
    return found


def changed_since(stamps: Stamps) -> Iterator[Path]:
    """What is another now, or gone; what lay in a folder that is gone is not told of. Blocking."""
    gone: set[Path] = set()
    for path, stamp in stamps.items():  # folders come before what is in them
        now = _stamp(path)
        if now is None:
            gone.add(path)
        if now != stamp and gone.isdisjoint(path.parents):
            yield path


def _stamp(path: Path) -> tuple[int, ...] | None:
    """None for nothing, and for devices, sockets and pipes."""
    try:
        status = status_of(path)
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return (status.st_ino,) if path.name == ".git" else ()
    if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
        return status.st_size, status.st_mtime_ns
    return None


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder / each.name for each in islice(entries(folder), MAX_UNKEPT))
    except OSError:
        return []
