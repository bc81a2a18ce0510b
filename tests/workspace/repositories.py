"""Real git repositories, and stores beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from pygent_ls.workspace.snapshots.capture import GONE
from pygent_ls.workspace.snapshots.snapshots import Snapshot, Snapshots

QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def git(folder: Path, *arguments: str) -> str:
    """Run git as a user would, and return what it says."""
    own = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | QUIET
    done = subprocess.run(
        ["git", *own, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commit_all(folder: Path) -> None:
    """Make a repository of a folder, with everything that is not ignored in its first commit."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")


def find_git() -> str | None:
    """The program."""
    return shutil.which("git")


def snapshots_beside(folder: Path, *, days: int = 30, find: Callable[[], str | None] = find_git) -> Snapshots:
    """Snapshots whose stores lie beside a folder."""
    return Snapshots(folder.with_name(f"{folder.name}-stores"), find, days=days)


async def contents(folder: Path, snapshot: Snapshot) -> dict[str, bytes]:
    """All files of a snapshot, as the difference to an empty folder."""
    snapshots = snapshots_beside(folder)
    nothing = Snapshot(states={each: (place, GONE) for each, (place, _) in snapshot.states.items()})
    changes = await snapshots.changes(snapshot, nothing)
    found = await snapshots.contents(snapshot, [(each.folder, each.old) for each in changes if each.old])
    return {each.path.relative_to(folder).as_posix(): found[each.old.blob] for each in changes if each.old}


def bytes_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of a `.git` folder with its mode, its time of change and its bytes."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
