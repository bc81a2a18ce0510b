"""Worktree of one attempt, in the task's repository or in a clone of it. All functions block."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from pygent_ls.errors import SnapshotError
from pygent_ls.fleet.ledger import Delivery
from pygent_ls.fleet.tasks import Task
from pygent_ls.workspace.environment import find_program
from pygent_ls.workspace.git.program import Git, users_environment
from pygent_ls.workspace.git.session_worktrees import (
    Committed,
    SessionWorktree,
    SessionWorktrees,
    WorktreeError,
    data_folder,
)

CLONE_TIMEOUT_S = 3600.0
"""Time limit for a clone."""

MAX_SUBJECT_CHARS = 60
"""Maximum length of the prompt's part in the subject of a commit."""


class Checkout(Struct, frozen=True, kw_only=True):
    """Worktree in which the agent of one attempt works."""

    task: Task
    repository: Path
    """Folder in the repository that has the worktree."""
    worktree: SessionWorktree
    folder: Path
    """Folder in the worktree that corresponds to the task's."""

    def commit(self) -> Committed:
        """Commit what the agent left to the worktree's branch. Raises `SnapshotError`."""
        subject = " ".join(self.task.prompt.split())
        short = subject if len(subject) <= MAX_SUBJECT_CHARS else f"{subject[: MAX_SUBJECT_CHARS - 1]}…"
        message = f"{short}\n\nTask {self.task.id} of pygent-ls fleet.\n"
        return _worktrees(self.repository).commit(self.worktree, message)


@contextmanager
def checkout(task: Task, fleet_id: str, number: int) -> Generator[Checkout]:
    """Yield a fresh worktree for an attempt, and keep others from removing it. It stays until `remove_worktrees`; a
    clone is deleted at the end. Raises `SnapshotError` and OSError."""
    name = _name(task.id, fleet_id, number)
    clone = _clones() / name if task.is_remote else None
    try:
        repository = Path(task.repository) if clone is None else _clone(task.repository, clone)
        worktrees = _worktrees(repository)
        worktree = worktrees.add(name)
        with worktrees.using(worktree):
            folder = worktrees.folder_in(worktree, repository.resolve())
            yield Checkout(task=task, repository=repository, worktree=worktree, folder=folder)
    finally:
        if clone is not None:
            _remove_clone(clone)


def check_repository(task: Task) -> None:
    """Raise `SnapshotError` if a task cannot begin in its repository on this machine."""
    if not task.is_remote and _worktrees(Path(task.repository)).has_branch(task.id):
        raise WorktreeError(
            f"the branch pygent/{task.id} exists already in {task.repository}. Delete it, or give the task another id."
        )


def deliver(task: Task, commit: str | None) -> Delivery | None:
    """Make the accepted commit a branch of the task's repository. Return None if the repository is not on this machine.

    A second call changes nothing.
    """
    if task.is_remote or commit is None:
        return Delivery()
    if not Path(task.repository).is_dir():
        return None
    try:
        return Delivery(branch=_worktrees(Path(task.repository)).add_branch(task.id, commit))
    except SnapshotError as error:
        return Delivery(problem=f"The changes are only in the patch: {error}")


def remove_worktrees(task: Task, fleet_id: str, number: int) -> None:
    """Remove the worktrees and clones that attempts at a task, up to this one, left on this machine. One that a process
    uses stays: its attempt is considered lost, but is not. The next attempt may just be creating its own."""
    names = {_name(task.id, fleet_id, each) for each in range(1, number + 1)}
    if task.is_remote:
        for name in names:
            _remove_clone(_clones() / name)
        return
    if not Path(task.repository).is_dir():
        return
    with suppress(SnapshotError, OSError):
        worktrees = _worktrees(Path(task.repository))
        for each in worktrees.listed():
            if each.name in names:
                with suppress(SnapshotError, OSError):
                    worktrees.discard(each, None)


def _remove_clone(clone: Path) -> None:
    if not clone.is_dir():
        return
    with suppress(SnapshotError, OSError):
        worktrees = _worktrees(clone)
        for each in worktrees.listed():
            worktrees.discard(each, None)
            each.folder.parent.rmdir()  # it holds the worktrees of this clone only
    shutil.rmtree(clone, ignore_errors=True)


def _name(task_id: str, fleet_id: str, number: int) -> str:
    return f"{task_id}.{fleet_id}.{number}"


def _clones() -> Path:
    return data_folder().parent / "clones"


def _clone(url: str, folder: Path) -> Path:
    """Clone a repository without checking anything out. Raises `SnapshotError` and OSError."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    git = Git(_git(folder), timeout_s=CLONE_TIMEOUT_S)
    settings = ("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never")
    environment = {**users_environment(folder), "GIT_LITERAL_PATHSPECS": "0"}
    git.run([*settings, "clone", "--quiet", "--no-checkout", "--", url, "."], cwd=folder, environment=environment)
    return folder


def _worktrees(folder: Path) -> SessionWorktrees:
    return SessionWorktrees(folder.resolve(), data_folder(), _git(folder))


def _git(folder: Path) -> str:
    program = find_program("git", os.environ, lambda path: path.is_relative_to(folder))
    if program is None:
        raise WorktreeError("git is not installed on this machine.")
    return program
