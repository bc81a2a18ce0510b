"""Location of a folder in the user's repository, and its ignore rules."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.files.reader import disk_stamp
from pygent_ls.workspace.git.program import Git, users_environment
from pygent_ls.workspace.git.repositories import find_repository, inert

READ_ONLY = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")
"""Options with which git starts no user program and writes nothing."""


class WorktreePlace(Struct, frozen=True, kw_only=True):
    """Folder with the work tree that contains it."""

    folder: Path
    top: Path
    """Root of the user's work tree; the folder itself without git."""
    index: Path | None = None
    """User's index."""
    excludes: tuple[Path, ...] = ()
    """Files of ignore patterns beside the tree's `.gitignore` files; they need not exist."""

    @property
    def prefix(self) -> str:
        """Path of the folder below `top`, with `/` at its end; empty for `top` itself."""
        inside = os.path.relpath(self.folder, self.top)
        return "" if inside == "." else f"{inside}/"

    @property
    def key(self) -> str:
        """Name of the folder's store."""
        named = f"{self.top}\0{self.folder}".encode("utf-8", "surrogateescape")
        return hashlib.sha256(named).hexdigest()[:20]


def git_stamp(folder: Path) -> str:
    """Return a cheap value that changes when the folder is in another repository."""
    for above in (folder, *folder.parents):
        if os.path.lexists(above / ".git"):
            return f"{above} {(above / '.git').lstat().st_ino} {disk_stamp(above / '.git' / 'config')}"
    return ""


def place_of(folder: Path, git: Git) -> WorktreePlace:
    """Look up a folder; one outside of any work tree, or ignored there, is its own place."""
    repository = find_repository(folder)
    alone = WorktreePlace(folder=folder, top=folder)
    if repository is None:
        return alone
    place = WorktreePlace(
        folder=folder,
        top=Path(os.path.realpath(repository.top)),
        index=repository.own / "index",
        excludes=(repository.common / "info" / "exclude", *_global_excludes(folder, git)),
    )
    is_kept_there = folder.is_relative_to(place.top) and ".git" not in place.prefix.split("/")
    return place if is_kept_there and not _is_ignored(place, git) else alone


def tracked_though_ignored(place: WorktreePlace, git: Git) -> list[str]:
    """Return the paths in the user's index that match ignore patterns, relative to `top`."""
    if place.index is None or not place.index.exists():
        return []
    arguments = ["ls-files", "-z", "-c", "-i", "--exclude-standard", "--full-name"]
    return [os.fsdecode(name) for name in (_read(place.folder, git, arguments) or b"").split(b"\0") if name]


def _is_ignored(place: WorktreePlace, git: Git) -> bool:
    if not place.prefix:
        return False
    arguments = ["check-ignore", "-q", "--no-index", "--", f"./{place.prefix.rstrip('/')}"]
    return _read(place.top, git, arguments) is not None


def _global_excludes(folder: Path, git: Git) -> list[Path]:
    """Return the files of the user's global ignore patterns."""
    found = _read(folder, git, ["config", "--type=path", "--get", "core.excludesFile"])
    if found is not None:
        named = os.fsdecode(found).strip("\n")
        return [folder / named] if named else []
    configured = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return [Path(configured) / "git" / "ignore"]


def _read(folder: Path, git: Git, arguments: Sequence[str]) -> bytes | None:
    """Run git on the user's repository with its configuration inactive; return the output, or None on failure."""
    repository = find_repository(folder)
    with contextlib.suppress(SnapshotError, ValueError, OSError):
        if repository is not None:
            with inert(repository) as variables:
                environment = {**users_environment(folder), "GIT_LITERAL_PATHSPECS": "0", **variables}
                return git.run([*READ_ONLY, *arguments], cwd=folder, environment=environment)
    git.check()
    return None
