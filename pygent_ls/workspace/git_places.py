"""Where a folder lies in the user's repository, and what is ignored there."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.git_program import Git, users_environment
from pygent_ls.workspace.reading import disk_stamp

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
    environment = users_environment()
    asked = ["rev-parse", "--show-toplevel", "--git-path", "index", "--git-path", "info/exclude"]
    try:
        lines = os.fsdecode(git.run([*READ_ONLY, *asked], cwd=folder, environment=environment)).splitlines()
        top, index, exclude = lines
    except (SnapshotError, ValueError):  # none, another user's, bare, or a name with a line break
        git.check()
        return Place(folder=folder, top=folder)
    place = Place(
        folder=folder,
        top=Path(os.path.realpath(top)),
        index=folder / index,
        excludes=(folder / exclude, *_global_excludes(folder, git)),
    )
    if not folder.is_relative_to(place.top) or ".git" in place.prefix.split("/") or _is_ignored(place, git):
        return Place(folder=folder, top=folder)
    return place


def tracked_though_ignored(place: Place, git: Git) -> list[str]:
    """What the user's index has in spite of the ignore patterns, relative to `top`."""
    if place.index is None or not place.index.exists():
        return []
    arguments = [*READ_ONLY, "ls-files", "-z", "-c", "-i", "--exclude-standard", "--full-name"]
    with contextlib.suppress(SnapshotError):
        found = git.run(arguments, cwd=place.folder, environment=users_environment())
        return [os.fsdecode(name) for name in found.split(b"\0") if name]
    git.check()
    return []


def _is_ignored(place: Place, git: Git) -> bool:
    if not place.prefix:
        return False
    arguments = [*READ_ONLY, "check-ignore", "-q", "--no-index", "--", f"./{place.prefix.rstrip('/')}"]
    try:
        git.run(arguments, cwd=place.top, environment={**users_environment(), "GIT_LITERAL_PATHSPECS": "0"})
    except SnapshotError:
        git.check()
        return False
    return True


def _global_excludes(folder: Path, git: Git) -> list[Path]:
    """The user's own ignore patterns for all repositories."""
    arguments = ["config", "--type=path", "--get", "core.excludesFile"]
    with contextlib.suppress(SnapshotError):
        found = os.fsdecode(git.run(arguments, cwd=folder, environment=users_environment())).strip("\n")
        return [folder / found] if found else []
    configured = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return [Path(configured) / "git" / "ignore"]
