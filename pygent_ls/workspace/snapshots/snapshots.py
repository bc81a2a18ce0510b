"""Snapshots of the workspace, stored outside it for later restoring; the user's repository is never written.

A snapshot has every file in the workspace folders that git would not ignore, tracked or not, also without git, with the
text of unsaved buffers in place of their files; links as links; permission bits. It has no files above
`MAX_FILE_BYTES`, unreadable files, empty folders, editors' files beside an open file (`.#NAME`, `.NAME.swp`), or
contents of `.git`. Small ignored files outside ignored folders are stored in a tree of their own (`git_ignored`), with
the names of the rest. A repository inside the workspace has its own store.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.git.program import Git, SnapshotAbortedError
from pygent_ls.workspace.git.worktree import WorktreePlace, git_stamp, place_of
from pygent_ls.workspace.snapshots.capture import GONE, TreeState, take
from pygent_ls.workspace.snapshots.comparison import disk_changes, tree_changes
from pygent_ls.workspace.snapshots.store import Difference, GitStore, NoStoreError, TreeEntry, forget_unused

SNAPSHOT_TIMEOUT_S = 30.0
"""Maximum time for taking or reading a snapshot: a first one of 100,000 files on a slow disk."""

MAX_SNAPSHOTS = 500
"""Maximum number of snapshots per folder: at two around each shell command, more than a long day's work."""

PRUNE_EACH = 100
"""Number of snapshots of a folder after which it is pruned again."""

PRUNE_EACH_S = 6 * 3600.0
"""Time after which a folder is pruned again: a daemon may run for weeks."""

MAX_REPOSITORIES = 50
"""Maximum number of repositories read in a workspace, nested ones included."""

FORGET_TIMEOUT_S = 0.6
"""Time limit for forgetting one owner's snapshots: the daemon should exit within 3 s, and turns may take 2.3 s to
end.
"""

HOME_TIMEOUT_S = 8.0
"""Time limit for a workspace that is the home folder: a small one is stored, and a large one causes no long wait."""

Value = TypeVar("Value")

Compare = Callable[[GitStore, TreeState, TreeState], Sequence[Value]]
"""Returns the differences between two states of a folder, by paths relative to it."""


class _Pruned(Struct, kw_only=True):
    """Time of a store's last pruning, by the monotonic clock, and the snapshots since."""

    at_s: float
    n_since: int = 0


class Snapshot(Struct, frozen=True, kw_only=True):
    """Snapshot of the workspace."""

    states: Mapping[Path, tuple[WorktreePlace, TreeState]]
    """States by absolute folder; a repository inside another is a folder of its own."""

    def __bool__(self) -> bool:
        return bool(self.states)

    def is_left_out(self, path: Path) -> bool:
        """Return whether the file existed and is not stored."""
        for folder, (_, state) in self.states.items():
            if path.is_relative_to(folder) and path.relative_to(folder).as_posix() in state.left_out:
                return True
        return False

    @property
    def left_out(self) -> Iterator[Path]:
        """Yield the existing files and folders that are not stored: too large, unreadable, ignored, or git's own."""
        for folder, (_, state) in self.states.items():
            yield folder / ".git"
            yield from (folder / name for name in (*state.left_out, *state.ignored_left_out))

    def mode(self, path: Path) -> int | None:
        """Return the permission bits of a file if they are unusual."""
        for folder, (_, state) in self.states.items():
            if path.is_relative_to(folder) and (mode := state.modes.get(path.relative_to(folder).as_posix())):
                return mode
        return None

    def folders_above(self, path: Path) -> list[Path]:
        """Return the stored folders that contain the path."""
        return [folder for folder in self.states if path.is_relative_to(folder)]

    @property
    def trees(self) -> Mapping[Path, tuple[str, ...]]:
        """Return the values that distinguish snapshots."""
        return {folder: (state.tree, state.disk, state.ignored) for folder, (_, state) in self.states.items()}


class PathChange(Struct, frozen=True, kw_only=True):
    """Path that differs between two snapshots."""

    path: Path
    folder: Path
    old: TreeEntry | None
    new: TreeEntry | None


class Snapshots:
    """Takes and reads snapshots in threads. A job ends at once when its caller is cancelled.

    Every method raises `SnapshotError` if git fails or is missing.
    """

    def __init__(
        self,
        root: Path,
        find_git: Callable[[], str | None],
        *,
        days: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._root = root
        self._find_git = find_git
        self.days = days
        """Number of days that a snapshot is kept."""
        self._places: dict[Path, tuple[str, WorktreePlace]] = {}
        self._pruned: dict[str, _Pruned] = {}
        self._looked_at_all = False
        self._forgotten: set[str] = set()
        self._jobs: dict[Git, str] = {}
        """Running jobs with their owners."""

    async def take(
        self,
        folders: Sequence[Path],
        overlays: Mapping[Path, bytes],
        like: Snapshot | None = None,
        *,
        owner: str = "",
    ) -> Snapshot:
        """Take a snapshot; `overlays` are the contents of unsaved buffers.

        With `like`, its folders are read in the same stores, so that the two can be compared. Snapshots of an `owner`,
        letters and digits, can be forgotten by that name.
        """
        if owner in self._forgotten:
            raise SnapshotAbortedError("no more snapshots are kept for this session")
        return await self._job(lambda git: self._take(git, _name(owner), folders, overlays, like), owner)

    async def forget(self, owner: str, snapshots: Iterable[Snapshot]) -> None:
        """Forget an owner's snapshots, in the stores of these snapshots and those used last, within `FORGET_TIMEOUT_S`;
        later pruning removes the rest.

        Running jobs of the owner are aborted, and no new snapshots are taken for it.
        """
        self._forgotten.add(owner)
        for git, whose in self._jobs.items():
            if whose == owner:
                git.abort()
        places = {place.key: place for each in snapshots for place, _ in each.states.values()}
        places |= {place.key: place for _, place in self._places.values()}
        await self._job(lambda git: self._forget(git, places.values()))

    async def changes(self, old: Snapshot, new: Snapshot) -> list[PathChange]:
        """Return the differences by path, with unsaved buffers in place of their files; folders in only one are left
        out.
        """
        return await self._job(lambda git: self._changes(git, old, new, tree_changes))

    async def disk_changes(self, old: Snapshot, new: Snapshot) -> list[PathChange]:
        """Return the differences on the disk by path, including ignored files that were stored in `old`."""
        return await self._job(lambda git: self._changes(git, old, new, disk_changes))

    async def present(self, snapshot: Snapshot, paths: Collection[Path]) -> set[Path]:
        """Return the paths that the snapshot contains."""
        return await self._job(lambda git: self._present(git, snapshot, paths)) if paths else set()

    async def contents(self, snapshot: Snapshot, wanted: Iterable[tuple[Path, TreeEntry]]) -> dict[str, bytes]:
        """Return the contents of entries (folder, entry) by their blob; unavailable ones are left out."""
        pairs = list(wanted)
        return await self._job(lambda git: self._contents(git, snapshot, pairs)) if pairs else {}

    async def ignored(self, snapshot: Snapshot, paths: Iterable[PathChange]) -> set[Path]:
        """Return the paths that were excluded by the ignore patterns of that time."""
        asked = list(paths)
        return await self._job(lambda git: self._ignored(git, snapshot, asked)) if asked else set()

    # Run in threads

    def _take(
        self, git: Git, name: str, folders: Sequence[Path], overlays: Mapping[Path, bytes], like: Snapshot | None
    ) -> Snapshot:
        waiting = [*dict.fromkeys([*folders, *(like.states if like else ())])]
        states: dict[Path, tuple[WorktreePlace, TreeState]] = {}
        while waiting and len(states) < MAX_REPOSITORIES:
            folder = waiting.pop(0)
            if folder in states:
                continue
            before = like.states.get(folder) if like else None
            if not folder.is_dir() or folder.is_symlink():
                if before:
                    states[folder] = before[0], GONE
                continue
            _check_size(folder, git)
            place = before[0] if before else self._place(folder, git)
            store = GitStore(self._root, place, git)
            below = {path: data for path, data in overlays.items() if path.is_relative_to(folder)}
            with store.locked(make=True):
                self._prune(store)
                named = {path.relative_to(folder).as_posix(): data for path, data in below.items()}
                try:
                    state = take(store, named, name, before[1] if before else None)
                except (SnapshotError, OSError):
                    store.forget_all()
                    raise
            states[folder] = place, state
            waiting += [folder / nested for nested in state.nested]
        return Snapshot(states=states)

    def _forget(self, git: Git, places: Iterable[WorktreePlace]) -> None:
        git.hurry(FORGET_TIMEOUT_S)
        stores = [GitStore(self._root, place, git) for place in places]
        for store in stores:
            with contextlib.suppress(SnapshotError), store.locked():
                store.forget(self._forgotten)
        for store in stores:
            with contextlib.suppress(NoStoreError), store.locked():
                store.clean()

    def _place(self, folder: Path, git: Git) -> WorktreePlace:
        stamp = git_stamp(folder)
        known = self._places.get(folder)
        if known is None or known[0] != stamp:
            known = self._places[folder] = stamp, place_of(folder, git)
        return known[1]

    def _prune(self, store: GitStore) -> None:
        """Prune at intervals; failures are retried the next time. The first call also removes unused stores of other
        folders.
        """
        oldest = f"{datetime.now(UTC) - timedelta(days=self.days):%Y%m%dT%H%M%S}"
        if not self._looked_at_all:
            self._looked_at_all = True
            forget_unused(self._root, oldest)
        known = self._pruned.get(store.place.key)
        if known is not None and known.n_since < PRUNE_EACH and self._clock() < known.at_s + PRUNE_EACH_S:
            known.n_since += 1
            return
        self._pruned[store.place.key] = _Pruned(at_s=self._clock())
        with contextlib.suppress(SnapshotError):
            store.prune(oldest, MAX_SNAPSHOTS)

    def _changes(self, git: Git, old: Snapshot, new: Snapshot, compare: Compare[Difference]) -> list[PathChange]:
        found = [
            PathChange(path=folder / path, folder=folder, old=was, new=now)
            for folder, (path, was, now) in self._compared(git, old, new, compare, lambda difference: difference[0])
        ]
        return sorted(found, key=lambda change: change.path)

    def _compared(
        self, git: Git, old: Snapshot, new: Snapshot, compare: Compare[Value], path_of: Callable[[Value], str]
    ) -> Iterator[tuple[Path, Value]]:
        """Yield the differences in each folder that both have. Paths in an inner folder count for that folder only: the
        outer folder also contains them once the inner one is no longer a repository.
        """
        both = [folder for folder in old.states if folder in new.states]
        for folder in both:
            inner = [each for each in both if each != folder and each.is_relative_to(folder)]
            place, before = old.states[folder]
            for each in compare(GitStore(self._root, place, git), before, new.states[folder][1]):
                path = folder / path_of(each)
                if not any(path.is_relative_to(other) for other in inner):
                    yield folder, each

    def _present(self, git: Git, snapshot: Snapshot, paths: Collection[Path]) -> set[Path]:
        found: set[Path] = set()
        for folder, (place, state) in snapshot.states.items():
            if any(path.is_relative_to(folder) for path in paths):
                found |= {folder / name for name in GitStore(self._root, place, git).paths_in(state.tree)} & set(paths)
        return found

    def _contents(self, git: Git, snapshot: Snapshot, wanted: Sequence[tuple[Path, TreeEntry]]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for folder, (place, _) in snapshot.states.items():
            blobs = list(dict.fromkeys(entry.blob for each, entry in wanted if each == folder))
            found |= GitStore(self._root, place, git).read(blobs)
        return found

    def _ignored(self, git: Git, snapshot: Snapshot, asked: Sequence[PathChange]) -> set[Path]:
        found: set[Path] = set()
        for folder, (place, state) in snapshot.states.items():
            inside = [os.fspath(each.path.relative_to(folder)) for each in asked if each.folder == folder]
            store = GitStore(self._root, place, git)
            with store.locked():
                store.use_patterns(state.patterns)
                found |= {folder / path for path in store.ignored(state.tree, inside)}
        return found

    # Jobs

    async def _job(self, work: Callable[[Git], Value], owner: str = "") -> Value:
        program = self._find_git()
        if program is None:
            raise SnapshotError("git is not installed")
        git = Git(program, timeout_s=SNAPSHOT_TIMEOUT_S)

        def run() -> Value:
            try:
                return work(git)
            except OSError as error:
                raise SnapshotError(
                    f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
                ) from None
            finally:
                git.close()

        self._jobs[git] = owner
        future = asyncio.get_running_loop().run_in_executor(None, run)
        cancel: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError as error:
                git.abort()
                cancel = error
        del self._jobs[git]
        if cancel is not None:
            future.exception()
            raise cancel
        return future.result()


def _name(owner: str) -> str:
    """Return a new snapshot name for an owner; names sort by time."""
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{secrets.token_hex(4)}"
    return f"{name}-{owner}" if owner else name


def _check_size(folder: Path, git: Git) -> None:
    """Raise `SnapshotAbortedError` for folders above the home folder; the home itself gets less time."""
    home = Path(os.path.realpath(Path.home()))
    if folder == home:
        git.hurry(HOME_TIMEOUT_S)
    elif home.is_relative_to(folder):
        raise SnapshotAbortedError(f"{folder} contains the home folder and is too large to be kept")
