"""Files that git ignores, kept beside a folder's tree: `.env`, a local database. What is in ignored folders is not."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pygent_ls.workspace.git_index import StoreIndex, entries_listed
from pygent_ls.workspace.git_store import EMPTY_TREE, GitStore, split

MAX_IGNORED_FILE_BYTES = 1024**2
"""Larger ignored files are mostly built or downloaded."""

MAX_IGNORED_FILES = 500
"""Most ignored files that are kept, those first that lie least deep."""

MAX_IGNORED_BYTES = 32 * 1024**2
"""Most that they may hold together."""

MAX_LEFT_OUT = 500
"""Most names of what is not kept that are remembered: each checkpoint has them in its record."""

OPEN_FILE = re.compile(r"(^|/)(\.#[^/]*|\.[^/]*\.sw[a-p])$")
"""What editors keep beside a file that is open, as `OF_OPEN_FILES` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptIgnored:
    """The ignored files of a folder as they were. Paths are relative to the place's `top`."""

    tree: str
    modes: Mapping[str, int]
    """Permission bits."""
    left_out: Sequence[str]
    """What is ignored and not kept, files and folders, by `rank`."""
    unfit: Sequence[str]
    """Those files of it that are too large, or cannot be read."""


def rank(path: str) -> tuple[int, str]:
    """The order in which ignored files are kept: what lies at the top was rather written by somebody."""
    return path.rstrip("/").count("/"), path


class IgnoredFiles:
    """Takes the ignored files of a folder into the store; its programs run beside others from the beginning on."""

    def __init__(self, store: GitStore, scope: Sequence[str]) -> None:
        self._store = store
        self._index = StoreIndex(store, store.ignored_index)
        self._listing = store.start("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory", *scope)
        self._known = store.start("ls-files", "-s", "-z", index=store.ignored_index)

    def take(self, besides: Collection[str], *, packed: bool) -> KeptIgnored:
        """Keep them, `besides` what is in the folder's tree. Raises `SnapshotError`."""
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
            except OSError:  # gone since it was listed
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
        """Ignored files, and ignored folders whose files git does not list; nothing that is the daemon's or an
        editor's own."""
        names = sorted(split(self._listing.end()))
        own = f"{os.path.relpath(self._store.path.parent, self._store.place.top)}/"
        whole = ("./", self._store.place.prefix)
        inner = zip(names, [*names[1:], ""], strict=False)
        listed = [name for name, following in inner if not (name.endswith("/") and following.startswith(name))]
        return {
            name for name in listed if name not in whole and not own.startswith(name) and not OPEN_FILE.search(name)
        }
