"""What a workspace holds that acts by itself: repositories, and files of editors, agents and shells. Looked for before
a command runs, to protect it, and after it, to find what is new."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pygent_ls.agent.acting_places import OPENED, is_acting_file
from pygent_ls.workspace.sandbox.placeholders import is_placeholder

MAX_ENTRIES = 20_000
"""Names that are looked at before a command, the upper folders first: about 40 ms."""

MORE_ENTRIES = 30_000
"""Names that are looked at after it in addition, so that what it makes does not hide what else it makes."""

TICK_NS = 50_000_000
"""Longer than the clock of a file system stands still."""

_OPENED = frozenset(OPENED)
_BARE = frozenset({"HEAD", "objects", "refs"})
_LINKED = frozenset({"HEAD", "commondir"})


@dataclass(slots=True)
class Survey:
    """What was found, by path, with what tells whether it is still the same: device and inode."""

    repositories: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    """The `.git` of each: a folder, a file that leads to one, or a link."""
    bare: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    """Folders that git takes for a repository without files."""
    acting: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    """Other files and folders by whose names something acts."""
    plain: dict[str, tuple[tuple[int, int], Sequence[str]]] = field(
        default_factory=dict[str, tuple[tuple[int, int], Sequence[str]]]
    )
    """Folders in which nothing of that is: as they were then, and the folders in them."""
    entries: int = 0
    is_whole: bool = True
    """Whether all was looked at."""


def survey(folders: Iterable[Path], *, max_entries: int = MAX_ENTRIES, before: Survey | None = None) -> Survey:
    """Look through these folders, the upper ones first. What is in a repository's own folder is not looked at, nor is
    what has not changed since the look `before`."""
    found = Survey()
    left = [os.fspath(folder) for folder in folders]
    seen = set(left)
    known: dict[str, tuple[tuple[int, int], Sequence[str]]] = {} if before is None else before.plain
    for each in left:  # it grows
        if found.entries >= max_entries:
            found.is_whole = False
            break
        if each in known and _stamp(each) == known[each][0]:
            found.entries += 1
            found.plain[each] = known[each]
            below = known[each][1]
        else:
            below = _look_into(each, found)
        left += (path for path in below if path not in seen)
    return found


def _stamp(folder: str) -> tuple[int, int] | None:
    """Which folder it is, and when names were last added or removed in it, which no program can set; None where that
    cannot be told yet, since more may come at the same tick of the clock."""
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    return (status.st_ino, status.st_ctime_ns) if status.st_ctime_ns < time.time_ns() - TICK_NS else None


def _look_into(folder: str, found: Survey) -> Sequence[str]:
    """Note what is in one folder; returns the folders in it that are to be looked into."""
    below: list[str] = []
    names: list[str] = []
    stamp = _stamp(folder)
    n_noted = len(found.repositories) + len(found.bare) + len(found.acting)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                names.append(name)
                is_folder = entry.is_dir(follow_symlinks=False)
                lowered = name.casefold()
                if lowered == ".git":
                    _note(found.repositories, entry.path)
                    continue
                if lowered in _OPENED or (is_acting_file(lowered) and not is_folder):
                    _note(found.acting, entry.path)
                if is_folder:
                    below.append(entry.path)
    except OSError:  # gone, or not to be read
        return ()
    found.entries += len(names) + 1
    if _BARE.issubset(names) or _LINKED.issubset(names):
        _note(found.bare, folder)
        below = [
            path for path in below if path.rpartition(os.sep)[2] not in ("objects", "refs", "modules", "worktrees")
        ]
    if stamp is not None and n_noted == len(found.repositories) + len(found.bare) + len(found.acting):
        found.plain[folder] = stamp, below
    return below


def _note(into: dict[Path, tuple[int, int]], path: str) -> None:
    found = Path(path)
    try:
        status = found.lstat()
    except OSError:
        return
    if not is_placeholder(found):
        into[found] = (status.st_dev, status.st_ino)
