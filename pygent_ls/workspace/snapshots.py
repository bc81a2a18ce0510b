"""The workspace's states, kept outside it so that they can be brought back; the user's repository is never written.

What a snapshot has: every file of the workspace's folders that git would not ignore, tracked or not, also where there
is no git, with the text of unsaved buffers in place of their files; links as links; permission bits. What it has not:
files above `MAX_FILE_BYTES`, files that cannot be read, empty folders, what editors keep beside a file that is open
(`.#NAME`, `.NAME.swp`), and whatever lies in `.git`. Of what git ignores, small files outside ignored folders are kept
in a tree of their own, and the names of the rest; see `git_ignored`.
A repository inside the workspace is kept in a store of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.git_comparison import disk_changes, tree_changes
from pygent_ls.workspace.git_places import Place, git_stamp, place_of
from pygent_ls.workspace.git_program import Git, SnapshotAbortedError
from pygent_ls.workspace.git_store import Difference, Entry, GitStore, NoStoreError, forget_unused
from pygent_ls.workspace.git_taking import GONE, TreeState, take

SNAPSHOT_TIMEOUT_S = 30.0
"""Longest that a snapshot, or looking into one, may take: a first one of 100,000 files on a slow disk."""

MAX_SNAPSHOTS = 500
"""Most snapshots of a folder that are kept: at two around each shell command, more than a long day's work."""

PRUNE_EACH = 100
"""Snapshots of a folder after which old ones are looked for again."""

PRUNE_EACH_S = 6 * 3600.0
"""Time after which they are looked for again: a daemon may run for weeks."""

MAX_REPOSITORIES = 50
"""Most repositories of a workspace, those inside others included, that are looked into."""

FORGET_TIMEOUT_S = 0.6
"""For forgetting what was kept for one owner: the daemon is to be gone within 3 s, and turns may take 2.3 s to end."""

HOME_TIMEOUT_S = 8.0
"""For a workspace that is the home folder itself: a small one is kept, and nobody waits long for a large one."""

Value = TypeVar("Value")

Compare = Callable[[GitStore, TreeState, TreeState], Sequence[Value]]
"""Tells what differs between two states of a folder, by paths relative to it."""


@dataclass(slots=True, kw_only=True)
class _Pruned:
    """When a store was last pruned, by the monotonic clock, and the snapshots since."""

    at_s: float
    n_since: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The workspace as it was."""

    states: Mapping[Path, tuple[Place, TreeState]]
    """By folder, absolute; a repository inside another is a folder of its own."""

    def __bool__(self) -> bool:
        return bool(self.states)

    def is_left_out(self, path: Path) -> bool:
        """Whether the file was there and is not kept."""
        for folder, (_, state) in self.states.items():
            if path.is_relative_to(folder) and path.relative_to(folder).as_posix() in state.left_out:
                return True
        return False

    @property
    def left_out(self) -> Iterator[Path]:
        """What was there and is not kept, files and folders: too large, not to be read, ignored, or git's own."""
        for folder, (_, state) in self.states.items():
            yield folder / ".git"
            yield from (folder / name for name in (*state.left_out, *state.ignored_left_out))

    def mode(self, path: Path) -> int | None:
        """The permission bits of a file where they are unusual."""
        for folder, (_, state) in self.states.items():
            if path.is_relative_to(folder) and (mode := state.modes.get(path.relative_to(folder).as_posix())):
                return mode
        return None

    def folders_above(self, path: Path) -> list[Path]:
        """The kept folders that the path lies in."""
        return [folder for folder in self.states if path.is_relative_to(folder)]

    @property
    def trees(self) -> Mapping[Path, tuple[str, ...]]:
        """What tells two snapshots apart."""
        return {folder: (state.tree, state.disk, state.ignored) for folder, (_, state) in self.states.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathChange:
    """A path that differs between two snapshots."""

    path: Path
    folder: Path
    old: Entry | None
    new: Entry | None


class Snapshots:
    """Takes snapshots and reads them. Work is done in threads, and ends at once when its caller is cancelled.

    Every method raises `SnapshotError` where git fails, or is not there.
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
        """How long a snapshot is kept."""
        self._places: dict[Path, tuple[str, Place]] = {}
        self._pruned: dict[str, _Pruned] = {}
        self._looked_at_all = False
        self._forgotten: set[str] = set()
        self._jobs: dict[Git, str] = {}
        """What is under way, and for which owner."""

    async def take(
        self,
        folders: Sequence[Path],
        overlays: Mapping[Path, bytes],
        like: Snapshot | None = None,
        *,
        owner: str = "",
    ) -> Snapshot:
        """The workspace as it is now; `overlays` are the contents of unsaved buffers.

        With `like`, its folders are looked at in the same stores, so that the two can be compared. What was taken for
        an `owner`, letters and digits, can be forgotten by that name.
        """
        if owner in self._forgotten:
            raise SnapshotAbortedError("no more snapshots are kept for this session")
        return await self._job(lambda git: self._take(git, _name(owner), folders, overlays, like), owner)

    async def forget(self, owner: str, snapshots: Iterable[Snapshot]) -> None:
        """Forget all that was taken for that owner, in the stores of these snapshots and those used last; as far as it
        can be done in `FORGET_TIMEOUT_S`, what is left goes with what is pruned next.

        What is being taken for the owner is given up, and nothing is taken for them from now on.
        """
        self._forgotten.add(owner)
        for git, whose in self._jobs.items():
            if whose == owner:
                git.abort()
        places = {place.key: place for each in snapshots for place, _ in each.states.values()}
        places |= {place.key: place for _, place in self._places.values()}
        await self._job(lambda git: self._forget(git, places.values()))

    async def changes(self, old: Snapshot, new: Snapshot) -> list[PathChange]:
        """What differs, by path, with unsaved buffers in place of their files; a folder that only one of them has is
        left out."""
        return await self._job(lambda git: self._changes(git, old, new, tree_changes))

    async def disk_changes(self, old: Snapshot, new: Snapshot) -> list[PathChange]:
        """What differs on the disk, by path, also of ignored files that were kept in `old`."""
        return await self._job(lambda git: self._changes(git, old, new, disk_changes))

    async def present(self, snapshot: Snapshot, paths: Collection[Path]) -> set[Path]:
        """Which of the paths the snapshot has."""
        return await self._job(lambda git: self._present(git, snapshot, paths)) if paths else set()

    async def contents(self, snapshot: Snapshot, wanted: Iterable[tuple[Path, Entry]]) -> dict[str, bytes]:
        """The contents of entries (folder, entry) by their blob; what cannot be had any more is missing."""
        pairs = list(wanted)
        return await self._job(lambda git: self._contents(git, snapshot, pairs)) if pairs else {}

    async def ignored(self, snapshot: Snapshot, paths: Iterable[PathChange]) -> set[Path]:
        """Which of the paths the ignore patterns of that time left out."""
        asked = list(paths)
        return await self._job(lambda git: self._ignored(git, snapshot, asked)) if asked else set()

    # In a thread

    def _take(
        self, git: Git, name: str, folders: Sequence[Path], overlays: Mapping[Path, bytes], like: Snapshot | None
    ) -> Snapshot:
        waiting = [*dict.fromkeys([*folders, *(like.states if like else ())])]
        states: dict[Path, tuple[Place, TreeState]] = {}
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

    def _forget(self, git: Git, places: Iterable[Place]) -> None:
        git.hurry(FORGET_TIMEOUT_S)
        stores = [GitStore(self._root, place, git) for place in places]
        for store in stores:
            with contextlib.suppress(SnapshotError), store.locked():
                store.forget(self._forgotten)
        for store in stores:
            with contextlib.suppress(NoStoreError), store.locked():
                store.clean()

    def _place(self, folder: Path, git: Git) -> Place:
        stamp = git_stamp(folder)
        known = self._places.get(folder)
        if known is None or known[0] != stamp:
            known = self._places[folder] = stamp, place_of(folder, git)
        return known[1]

    def _prune(self, store: GitStore) -> None:
        """Now and then; what fails is left for the next time. The stores of other folders are looked at once."""
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
        """What differs in each folder that both have. What lies in an inner one of these counts there alone: the outer
        one, too, has its files once they are no longer a repository of their own."""
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

    def _contents(self, git: Git, snapshot: Snapshot, wanted: Sequence[tuple[Path, Entry]]) -> dict[str, bytes]:
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
    """Of a snapshot; names sort by time."""
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{secrets.token_hex(4)}"
    return f"{name}-{owner}" if owner else name


def _check_size(folder: Path, git: Git) -> None:
    """Raises `SnapshotAbortedError` for what lies above the home folder; the home itself is given less time."""
    home = Path(os.path.realpath(Path.home()))
    if folder == home:
        git.hurry(HOME_TIMEOUT_S)
    elif home.is_relative_to(folder):
        raise SnapshotAbortedError(f"{folder} contains the home folder and is too large to be kept")
