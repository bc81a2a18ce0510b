"""Ignored files such as `.env` or a local database, stored beside a folder's tree. Ignored folders are left out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from pygent_ls.workspace.snapshots.index import StoreIndex, entries_listed
from pygent_ls.workspace.snapshots.store import EMPTY_TREE, GitStore, split

MAX_IGNORED_FILE_BYTES = 1024**2
"""Maximum size of a stored ignored file; larger ones are mostly built or downloaded."""

MAX_IGNORED_FILES = 500
"""Maximum number of stored ignored files; those nearest to the top come first."""

MAX_IGNORED_BYTES = 32 * 1024**2
"""Maximum total size of stored ignored files."""

MAX_LEFT_OUT = 500
"""Maximum number of names recorded for files that are left out: each checkpoint's record contains them."""

OPEN_FILE = re.compile(r"(^|/)(\.#[^/]*|\.[^/]*\.sw[a-p])$")
"""Files that editors create beside an open file, as in `OF_OPEN_FILES`."""


class KeptIgnored(Struct, frozen=True, kw_only=True):
    """Ignored files of a folder at a snapshot. Paths are relative to the place's `top`."""

    tree: str
    modes: Mapping[str, int]
    """Permission bits."""
    left_out: Sequence[str]
    """Ignored files and folders that are not stored, ordered by `rank`."""
    unfit: Sequence[str]
    """Files among them that are too large or unreadable."""


def rank(path: str) -> tuple[int, str]:
    """Return the sort key of ignored files: those near the top are more likely to be hand-written."""
    return path.rstrip("/").count("/"), path


class IgnoredFiles:
    """Stores a folder's ignored files; its programs start immediately and run beside others."""

    def __init__(self, store: GitStore, scope: Sequence[str]) -> None:
        self._store = store
        self._index = StoreIndex(store, store.ignored_index)
        self._listing = store.start("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory", *scope)
        self._known = store.start("ls-files", "-s", "-z", index=store.ignored_index)

    def take(self, besides: Collection[str], *, packed: bool) -> KeptIgnored:
        """Store the ignored files except those in `besides`, which are in the folder's tree. Raises `SnapshotError`."""
        known = entries_listed(self._known.end())
        modes: dict[str, int] = {}
        left_out: list[str] = []
        unfit: list[str] = []
        wanted: list[str] = []
        n_bytes = 0
        for path in sorted(self._listed().difference(besides), key=rank):
            if path.endswith("/") or len(wanted) >= MAX_IGNORED_FILES:
                left_out.append(path)
                continue
            full = self._store.place.top / path
            try:
                status = full.lstat()
            except OSError:  # removed since it was listed
                continue
            if stat.S_ISLNK(status.st_mode):
                wanted.append(path)
            elif stat.S_ISREG(status.st_mode):
                if status.st_size > MAX_IGNORED_FILE_BYTES or not os.access(full, os.R_OK):
                    unfit.append(path)
                    left_out.append(path)
                elif n_bytes + status.st_size > MAX_IGNORED_BYTES:
                    left_out.append(path)
                else:
                    n_bytes += status.st_size
                    modes[path] = stat.S_IMODE(status.st_mode)
                    wanted.append(path)
        self._index.drop(sorted(known.keys() - wanted))
        refused = self._index.add(wanted, packed=packed, known=known)
        return KeptIgnored(
            tree=self._index.tree() if len(wanted) > len(refused) else EMPTY_TREE,
            modes=modes,
            left_out=sorted([*left_out, *refused], key=rank)[:MAX_LEFT_OUT],
            unfit=[*unfit, *refused],
        )

    def _listed(self) -> set[str]:
        """Return ignored files, and ignored folders whose files git does not list, without the daemon's and editors'
        own files.
        """
        names = sorted(split(self._listing.end()))
        own = f"{os.path.relpath(self._store.path.parent, self._store.place.top)}/"
        whole = ("./", self._store.place.prefix)
        inner = zip(names, [*names[1:], ""], strict=False)
        listed = [name for name, following in inner if not (name.endswith("/") and following.startswith(name))]
        return {
            name for name in listed if name not in whole and not own.startswith(name) and not OPEN_FILE.search(name)
        }
