"""Index of a store: the files of the next tree, with git's stat data from when it last read them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.git.program import SnapshotAbortedError
from pygent_ls.workspace.snapshots.restore import bytes_on_disk
from pygent_ls.workspace.snapshots.store import GitStore, TreeEntry, joined, split

N_PACKED = 200
"""Number of files from which they are packed: separate object files take four times as long, and as much space."""

PACKED = ("-c", "core.bigFileThreshold=1", "-c", "core.compression=1")
"""Options with which git streams files above that size into one pack, instead of one object file each."""

N_IN_PACK = 10_000
"""Maximum number of files in a pack: git compares each with all earlier ones in the pack."""

MAX_NAMED = 200
"""Maximum number of paths passed to git one by one; for more, the whole index is listed."""

PACKS_AT_ONCE = (2, 37)
"""First version of git whose `update-index` creates one pack for all files, not one for each."""


class StoreIndex:
    """Index of a store. Paths are relative to the place's `top`."""

    def __init__(self, store: GitStore, file: Path) -> None:
        self._store = store
        self.file = file

    def drop(self, paths: Sequence[str]) -> None:
        """Remove these paths from the index, whether they exist on the disk or not."""
        if paths:
            self._run("update-index", "-z", "--force-remove", "--stdin", stdin=joined(paths))

    def add(self, paths: Sequence[str], *, packed: bool, known: Mapping[str, TreeEntry] | None = None) -> list[str]:
        """Update the index to the current files, removing deleted ones; return the paths that git rejects.

        `packed`: use one pack, if there are many files and git supports it. `known` holds the index's current entries
        for them.
        """
        options = PACKED if packed and len(paths) >= N_PACKED and self._can_pack() else ()
        parts = (paths[start : start + N_IN_PACK] for start in range(0, len(paths), N_IN_PACK))
        refused = [path for part in parts for path in self._add(part, options)]
        if paths:
            self._correct(paths, known or {})
        return refused

    def _correct(self, paths: Sequence[str], known: Mapping[str, TreeEntry]) -> None:
        """Correct the index to what is at the paths themselves. Git opens files by path, so a link that replaces a
        folder meanwhile leads it elsewhere.
        """
        named = paths if len(paths) <= MAX_NAMED else ()
        found = entries_listed(self._run("ls-files", "-s", "-z", "--", *named))
        for path in paths:
            entry = found.get(path)
            if entry is None or entry == known.get(path):
                continue
            there = None
            with contextlib.suppress(OSError, SnapshotError):
                there = bytes_on_disk(self._store.place.top / path)
            if there is None:
                self.drop([path])
            elif there[0] != entry:
                self._run("hash-object", "-w", "--no-filters", "--stdin", stdin=there[1])
                line = f"{there[0].mode} {there[0].blob} 0\t{path}"
                self._run("update-index", "-z", "--index-info", stdin=joined([line]))

    def _add(self, paths: Sequence[str], options: Sequence[str]) -> list[str]:
        try:
            stdin = joined(paths)
            self._run(*options, "update-index", "-z", "--add", "--remove", "--replace", "--stdin", stdin=stdin)
        except SnapshotAbortedError:
            raise
        except SnapshotError:
            if len(paths) == 1:
                return list(paths)
            half = len(paths) // 2
            return self._add(paths[:half], options) + self._add(paths[half:], options)
        return []

    def tree(self) -> str:
        """Return git's name of the tree of the place's folder."""
        prefix = self._store.place.prefix
        if not prefix:
            return self._run("write-tree").decode().strip()
        try:
            return self._run("write-tree", f"--prefix={prefix}").decode().strip()
        except SnapshotError as error:
            if "prefix" not in str(error):
                raise
            return self._run("mktree").decode().strip()  # the folder is empty

    def _can_pack(self) -> bool:
        version = re.search(rb"(\d{1,4})\.(\d{1,4})", self._store.run("version"))
        return version is not None and (int(version[1]), int(version[2])) >= PACKS_AT_ONCE

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return self._store.run(*arguments, stdin=stdin, index=self.file)


def entries_listed(output: bytes) -> dict[str, TreeEntry]:
    """Parse the output of `ls-files -s -z` into entries by path."""
    found: dict[str, TreeEntry] = {}
    for listed in split(output):
        facts, _, path = listed.partition("\t")
        mode, blob, _ = facts.split(" ")
        found[path] = TreeEntry(mode, blob)
    return found
