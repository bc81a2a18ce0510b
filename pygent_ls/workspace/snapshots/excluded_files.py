"""Stat data of files that snapshots leave out, so that changes during a command can be reported, if not undone."""

from __future__ import annotations

import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from pygent_ls.file_access import entries, status_of

MAX_UNKEPT = 2_000
"""Maximum number of files and folders checked, those nearest to the top first; some 20 ms around each command."""

Stamps = Mapping[Path, tuple[int, ...]]
"""Stamps by path: size and modification time of files and links, the inode of `.git` folders, nothing of other
folders.
"""


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Return the stamps of these paths, and of everything below folders. Blocking."""
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
    """Yield paths that were changed or removed; the contents of a removed folder are not listed. Blocking."""
    gone: set[Path] = set()
    for path, stamp in stamps.items():  # folders precede their contents
        now = _stamp(path)
        if now is None:
            gone.add(path)
        if now != stamp and gone.isdisjoint(path.parents):
            yield path


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return the stamp; None if the path is missing, a device, a socket or a pipe."""
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
