"""Where a folder lies in the user's repository, and what is ignored there."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.git_program import Git, users_environment
from pygent_ls.workspace.reading import disk_stamp
from pygent_ls.workspace.repositories import find_repository, inert

READ_ONLY = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")
"""A program of the user's is not started, and nothing is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder, and the work tree that it is part of."""

    folder: Path
    top: Path
    """The root of the user's work tree; the folder itself where there is no git."""
    index: Path | None = None
    """The user's index."""
    excludes: tuple[Path, ...] = ()
    """Files of ignore patterns beside the `.gitignore` in the tree; they need not exist."""

    @property
    def prefix(self) -> str:
        """The folder below `top`, with `/` at its end; empty for `top` itself."""
        inside = os.path.relpath(self.folder, self.top)
        return "" if inside == "." else f"{inside}/"

    @property
    def key(self) -> str:
        """A name for the store."""
        named = f"{self.top}\0{self.folder}".encode("utf-8", "surrogateescape")
        return hashlib.sha256(named).hexdigest()[:20]


def git_stamp(folder: Path) -> str:
    """Tells whether the folder is still in the same repository; cheap."""
    for above in (folder, *folder.parents):
        if os.path.lexists(above / ".git"):
            return f"{above} {(above / '.git').lstat().st_ino} {disk_stamp(above / '.git' / 'config')}"
    return ""


def place_of(folder: Path, git: Git) -> Place:
    """Look the folder up; what is in no work tree, or is ignored there, is a place of its own."""
    repository = find_repository(folder)
    alone = Place(folder=folder, top=folder)
    if repository is None:
        return alone
    place = Place(
        folder=folder,
        top=Path(os.path.realpath(repository.top)),
        index=repository.own / "index",
        excludes=(repository.common / "info" / "exclude", *_global_excludes(folder, git)),
    )
    is_kept_there = folder.is_relative_to(place.top) and ".git" not in place.prefix.split("/")
    return place if is_kept_there and not _is_ignored(place, git) else alone


def tracked_though_ignored(place: Place, git: Git) -> list[str]:
    """What the user's index has in spite of the ignore patterns, relative to `top`."""
    if place.index is None or not place.index.exists():
        return []
    arguments = ["ls-files", "-z", "-c", "-i", "--exclude-standard", "--full-name"]
    return [os.fsdecode(name) for name in (_read(place.folder, git, arguments) or b"").split(b"\0") if name]


def _is_ignored(place: Place, git: Git) -> bool:
    if not place.prefix:
        return False
    arguments = ["check-ignore", "-q", "--no-index", "--", f"./{place.prefix.rstrip('/')}"]
    return _read(place.top, git, arguments) is not None


def _global_excludes(folder: Path, git: Git) -> list[Path]:
    """The user's own ignore patterns for all repositories."""
    found = _read(folder, git, ["config", "--type=path", "--get", "core.excludesFile"])
    if found is not None:
        named = os.fsdecode(found).strip("\n")
        return [folder / named] if named else []
    configured = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return [Path(configured) / "git" / "ignore"]


def _read(folder: Path, git: Git, arguments: Sequence[str]) -> bytes | None:
    """What git says of the user's repository, of whose configuration nothing acts; None where it fails."""
    repository = find_repository(folder)
    with contextlib.suppress(SnapshotError, ValueError, OSError):
        if repository is not None:
            with inert(repository) as variables:
                environment = {**users_environment(folder), "GIT_LITERAL_PATHSPECS": "0", **variables}
                return git.run([*READ_ONLY, *arguments], cwd=folder, environment=environment)
    git.check()
    return None
