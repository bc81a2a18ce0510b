"""Survey of workspace files that take effect by themselves: repositories, and files of editors, agents and shells.
Taken before a command runs, to protect them, and after it, to find new ones.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from pygent_ls import file_access
from pygent_ls.agent.permissions.autorun_files import OPENED, VERSION_CONTROL, is_acting_file
from pygent_ls.workspace.sandbox.placeholders import is_placeholder

MAX_ENTRIES = 20_000
"""Maximum number of names read before a command, top folders first: about 40 ms."""

MORE_ENTRIES = 30_000
"""Maximum number of additional names read after it, so that new files cannot hide other new files."""

TICK_NS = 50_000_000
"""Longer than the resolution of a file system's clock."""

_ACTING = frozenset({*OPENED, *VERSION_CONTROL})
_BARE = frozenset({"head", "objects", "refs"})
_LINKED = frozenset({"head", "commondir"})
"""In lower case: some file systems ignore case."""


class Survey(Struct):
    """Surveyed paths with their device and inode, which show whether they are still the same."""

    repositories: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    """`.git` of each repository: a folder, a file that refers to one, or a link."""
    bare: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    """Folders that git takes for a repository without files."""
    acting: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    """Other files and folders that take effect by their names."""
    plain: dict[str, tuple[tuple[int, int], Sequence[str]]] = field(
        default_factory=dict[str, tuple[tuple[int, int], Sequence[str]]]
    )
    """Folders without any of these: their stamp at that time, and their subfolders."""
    entries: int = 0
    closed: set[str] = field(default_factory=set[str])
    """Folders that cannot be listed."""
    is_whole: bool = True
    """Whether everything was read."""


def survey(
    folders: Iterable[Path], *, max_entries: int = MAX_ENTRIES, before: Survey | None = None, opens: bool = False
) -> Survey:
    """Survey these folders, the top ones first. Contents of a repository's own folder, and folders unchanged since the
    survey `before`, are not read. With `opens`, folders that could be listed then are made listable again: git does not
    need to list names.
    """
    found = Survey()
    left = [os.fspath(folder) for folder in folders]
    seen = set(left)
    known: dict[str, tuple[tuple[int, int], Sequence[str]]] = {} if before is None else before.plain
    for each in left:  # the list grows
        if found.entries >= max_entries:
            found.is_whole = False
            break
        if each in known and _stamp(each) == known[each][0]:
            found.entries += 1
            found.plain[each] = known[each]
            below = known[each][1]
        else:
            opened = opens and (before is None or each not in before.closed)
            below = _look_into(each, found, opens=opened)
        left += (path for path in below if path not in seen)
    return found


def _stamp(folder: str) -> tuple[int, int] | None:
    """Return the folder's identity and the time when names were last added or removed, which programs cannot set; None
    if more changes may occur at the same clock tick.
    """
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    return (status.st_ino, status.st_ctime_ns) if status.st_ctime_ns < time.time_ns() - TICK_NS else None


def listing(folder: str, *, opens: bool) -> list[os.DirEntry[str]]:
    """Return a folder's entries; with `opens`, make it listable by its owner first if needed. Raises OSError."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        if not opens:
            raise
    with file_access.folder_at(Path(folder)) as descriptor:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        Path(f"/proc/self/fd/{descriptor}").chmod(mode | stat.S_IRUSR | stat.S_IXUSR)
    with os.scandir(folder) as entries:
        return list(entries)


def _look_into(folder: str, found: Survey, *, opens: bool) -> Sequence[str]:
    """Record the contents of one folder; return its subfolders to survey."""
    below: list[str] = []
    names: list[str] = []
    stamp = _stamp(folder)
    n_noted = len(found.repositories) + len(found.bare) + len(found.acting)
    try:
        for entry in listing(folder, opens=opens):
            name = entry.name
            names.append(name)
            is_folder = entry.is_dir(follow_symlinks=False)
            lowered = name.casefold()
            if lowered == ".git":
                _note(found.repositories, entry.path)
                continue
            if lowered in _ACTING or (is_acting_file(lowered) and not is_folder):
                _note(found.acting, entry.path)
            if is_folder:
                below.append(entry.path)
    except PermissionError:
        found.closed.add(folder)
        return ()
    except OSError:  # removed
        return ()
    found.entries += len(names) + 1
    lowered_names = {name.casefold() for name in names} if len(names) >= len(_LINKED) else set[str]()
    if _BARE.issubset(lowered_names) or _LINKED.issubset(lowered_names):
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
