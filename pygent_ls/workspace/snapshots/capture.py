"""Takes a folder's state into its store, at the cost of what changed since the last time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from msgspec import Struct

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.files.reader import MAX_DOCUMENT_BYTES, disk_stamp
from pygent_ls.workspace.git.program import SnapshotAbortedError
from pygent_ls.workspace.git.worktree import tracked_though_ignored
from pygent_ls.workspace.snapshots.ignored_files import IgnoredFiles
from pygent_ls.workspace.snapshots.index import N_PACKED, StoreIndex
from pygent_ls.workspace.snapshots.store import EMPTY_TREE, SEEN_INDEX, GitStore, joined, put, split

MAX_FILE_BYTES = MAX_DOCUMENT_BYTES
"""Maximum size of a stored file: tools do not edit larger ones, and they would make each snapshot slow."""

MAX_NEW_FILES = 100_000
"""Maximum number of new files in one snapshot: a home folder opened by mistake is not copied."""

MAX_NEW_BYTES = 2 * 1024**3
"""Maximum size of new data in one snapshot: some ten seconds on a usual disk, and a limit on copying."""

USUAL_MODES = {0o644, 0o755}
"""Permission bits represented by git's own two modes; others are recorded beside the tree."""


class TreeState(Struct, frozen=True, kw_only=True):
    """Folder at a snapshot. Paths are relative to the folder, with `/`."""

    tree: str
    """Git's name of the tree in the folder's store, with unsaved buffers in place of their files."""
    disk: str
    """Tree without the unsaved buffers."""
    ignored: str
    """Tree of the stored ignored files, as described in `git_ignored`."""
    ignored_left_out: tuple[str, ...]
    """Ignored files and folders that are not stored; folders end with `/`. Only the first ones, in the order of
    `rank`.
    """
    patterns: str
    """Store's name of the ignore patterns of that time, except those in `.gitignore` files."""
    modes: Mapping[str, int]
    """Permission bits of files other than 644 and 755."""
    left_out: frozenset[str]
    """Existing files that are not stored because they are too large or unreadable, including ignored ones."""
    nested: tuple[str, ...]
    """Folders that are repositories of their own; their files are not part of this tree."""


GONE = TreeState(
    tree=EMPTY_TREE,
    disk=EMPTY_TREE,
    ignored=EMPTY_TREE,
    ignored_left_out=(),
    patterns="",
    modes={},
    left_out=frozenset(),
    nested=(),
)
"""State of a folder that no longer exists."""


def take(store: GitStore, overlays: Mapping[str, bytes], name: str, like: TreeState | None = None) -> TreeState:
    """Store the folder's current state under a new name that sorts by time; `overlays` replace files' contents.

    With `like`, the ignore rules are those of that state, regardless of changes to the user's repository. The store
    must be locked. The indexes persist between snapshots, so that only files with changed stat data are read.
    """
    patterns = store.use_patterns(like.patterns if like else "")
    try:
        return _Taking(store, patterns).run(overlays, name)
    except SnapshotAbortedError:
        raise
    except SnapshotError:  # an index is damaged, or its objects are missing
        for index in (store.index, store.ignored_index):
            index.unlink(missing_ok=True)
        return _Taking(store, patterns).run(overlays, name)


class _Taking:
    def __init__(self, store: GitStore, patterns: str) -> None:
        self._store = store
        self._patterns = patterns
        self._top = store.place.top
        self._prefix = store.place.prefix
        self._index = StoreIndex(store, store.index)
        self._seen_index = store.path / SEEN_INDEX

    def run(self, overlays: Mapping[str, bytes], name: str) -> TreeState:
        scope = ["--", self._prefix] if self._prefix else []
        ignored = IgnoredFiles(self._store, scope)
        both = [
            self._store.start("diff-files", "-z", "--name-status", "--no-renames", *scope),
            self._store.start("ls-files", "-z", "-o", "--exclude-standard", *scope),
        ]
        changed, new = (each.end() for each in both)
        fields = split(changed)
        status = dict(zip(fields[1::2], fields[0::2], strict=True))
        others = split(new)
        nested = [path for path in others if path.endswith("/")]
        users_index = disk_stamp(self._store.place.index) if self._store.place.index else ""
        found = [*status, *(path for path in others if not path.endswith("/")), *self._forced()]
        if len(found) > MAX_NEW_FILES:
            raise SnapshotAbortedError(f"{self._store.place.folder} contains more than {MAX_NEW_FILES:,} files")
        removed = [path for path, letter in status.items() if letter == "D"]
        modes, left_out, wanted = self._sorted_out(dict.fromkeys(path for path in found if status.get(path) != "D"))
        self._index.drop([*removed, *(path for path in left_out if path in status)])
        packed = len(wanted) >= N_PACKED and self._store.may_pack(name)
        left_out += self._index.add(wanted, packed=packed)
        kept = ignored.take(wanted, packed=packed)
        known = self._keep_modes(modes, removed)
        kept_modes = {path: mode for path, mode in kept.modes.items() if mode not in USUAL_MODES}
        disk = self._index.tree()
        tree = self._overlaid(overlays) if overlays else disk
        self._store.name_trees(name, tree, disk=disk, ignored=kept.tree)
        self._seen_index.write_text(users_index, encoding="utf-8")
        return TreeState(
            tree=tree,
            disk=disk,
            ignored=kept.tree,
            ignored_left_out=tuple(self._inside(kept.left_out)),
            patterns=self._patterns,
            modes={path.removeprefix(self._prefix): mode for path, mode in (known | kept_modes).items()},
            left_out=frozenset(self._inside([*left_out, *kept.unfit])),
            nested=tuple(path.rstrip("/") for path in self._inside(nested)),
        )

    def _forced(self) -> list[str]:
        """Return ignored files in the user's index that are not in ours yet."""
        place = self._store.place
        if place.index is None:
            return []
        with contextlib.suppress(OSError):
            if self._store.index.exists() and self._seen_index.read_text(encoding="utf-8") == disk_stamp(place.index):
                return []
        return [path for path in tracked_though_ignored(place, self._store.git) if os.path.lexists(place.top / path)]

    def _sorted_out(self, paths: Mapping[str, None]) -> tuple[dict[str, int], list[str], list[str]]:
        """Return the permission bits of files, the paths that cannot be stored, and those that can."""
        n_bytes = 0
        modes: dict[str, int] = {}
        left_out: list[str] = []
        wanted: list[str] = []
        for path in paths:
            full = self._top / path
            try:
                status = full.lstat()
            except OSError:  # removed since it was listed
                continue
            is_file = stat.S_ISREG(status.st_mode)
            if is_file and status.st_size <= MAX_FILE_BYTES and os.access(full, os.R_OK):
                n_bytes += status.st_size
                if n_bytes > MAX_NEW_BYTES:
                    raise SnapshotAbortedError(
                        f"{self._store.place.folder} contains more than {MAX_NEW_BYTES // 1024**3} GiB"
                    )
                modes[path] = stat.S_IMODE(status.st_mode)
                wanted.append(path)
            elif stat.S_ISLNK(status.st_mode):
                wanted.append(path)
            else:
                left_out.append(path)
        return modes, left_out, wanted

    def _keep_modes(self, seen: Mapping[str, int], removed: Sequence[str]) -> dict[str, int]:
        """Return the unusual permission bits of all files, and store them on the disk."""
        file = self._store.path / "modes.json"
        known: dict[str, int] = {}
        with contextlib.suppress(OSError, ValueError):
            known = cast("dict[str, int]", json.loads(file.read_bytes()))
        now = {path: mode for path, mode in known.items() if path not in seen and path not in removed}
        now |= {path: mode for path, mode in seen.items() if mode not in USUAL_MODES}
        if now != known:
            put(file, json.dumps(now).encode())
        return now

    def _overlaid(self, overlays: Mapping[str, bytes]) -> str:
        """Return the tree with other contents for some of its files; the index still matches the disk."""
        if not self._store.index.exists():
            return self._index.tree()
        scratch = self._store.path / "index.overlaid"
        shutil.copyfile(self._store.index, scratch)
        try:
            listed = self._store.run("ls-files", "-s", "-z", "--", *(self._prefix + path for path in overlays))
            lines = [line for each in split(listed) if (line := self._overlay(each, overlays))]
            self._store.run("update-index", "-z", "--index-info", stdin=joined(lines), index=scratch)
            return StoreIndex(self._store, scratch).tree()
        finally:
            scratch.unlink(missing_ok=True)

    def _overlay(self, listed: str, overlays: Mapping[str, bytes]) -> str | None:
        """Return the index entry that replaces a listed one; None if that is a link."""
        facts, _, path = listed.partition("\t")
        if facts.startswith("120000"):
            return None
        data = overlays[path.removeprefix(self._prefix)]
        blob = self._store.run("hash-object", "-w", "--no-filters", "--stdin", stdin=data).decode().strip()
        return f"{facts[:6]} {blob} 0\t{path}"

    def _inside(self, paths: Iterable[str]) -> list[str]:
        return [path.removeprefix(self._prefix) for path in paths]
