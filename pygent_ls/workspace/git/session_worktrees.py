"""Work trees in which the agent works beside the user's own, on branches of their own. All methods block.

Git runs none of the repository's hooks, filters, merge drivers and monitors here. What creates and removes work trees
runs with overrides; what reads or writes file contents does not see the repository's configuration at all.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from msgspec import Struct

from pygent_ls.agent.ports.processes import Repository
from pygent_ls.errors import SnapshotError
from pygent_ls.file_access import entries_below
from pygent_ls.workspace.git.program import Git, users_environment
from pygent_ls.workspace.git.repositories import find_repository, inert

TIMEOUT_S = 300.0
"""Time limit of one operation: a checkout of a large repository takes minutes."""

PREFIX = "pygent/"
"""Prefix of the branches."""

NOTE = "pygent.json"
"""File in the git folder of a work tree that says that it is ours."""

LOCK = "pygent-ls.lock"
"""File in the git folder that is locked while the list of work trees may change."""

LOCK_POLL_S = 0.01

MAX_LISTED = 20
"""Maximum number of files that an error names."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$)){0,59}(?<!\.)")

_IN_PROGRESS: Mapping[str, str] = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
"""Operations by a file in the git folder of the work tree."""

_OVERRIDES: Mapping[str, str] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
}


class WorktreeError(SnapshotError):
    """Problem with a work tree, as text for the user."""


class SessionWorktree(Struct, frozen=True, kw_only=True):
    """One work tree."""

    name: str
    folder: Path
    branch: str
    base: str
    """Commit that it was created from."""
    repository: Repository

    @property
    def note(self) -> Path:
        return self.repository.own / NOTE


class WorktreeState(Struct, frozen=True, kw_only=True):
    """What a work tree has that its base does not have."""

    n_commits: int
    """Number of commits of its branch and of what is checked out."""
    files: Sequence[str]
    """Files with changes that are not committed."""
    ignored: Sequence[str]
    """Ignored files and folders."""

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing would be lost with it."""
        return not self.n_commits and not self.files and not self.ignored

    @property
    def summary(self) -> str:
        """The numbers of commits and files, for the user."""
        if self.is_unchanged:
            return "unchanged"
        ignored = f", {len(self.ignored)} ignored" if self.ignored else ""
        return f"{counted(self.n_commits, 'commit')}, {counted(len(self.files), 'uncommitted file')}{ignored}"

    @property
    def names(self) -> Sequence[str]:
        """Files that would be lost with it."""
        return [*self.files, *(f"{each} (ignored)" for each in self.ignored)]


UNCHANGED = WorktreeState(n_commits=0, files=[], ignored=[])


class Committed(Struct, frozen=True, kw_only=True):
    """Changes of a work tree that are all committed."""

    commit: str
    files: Sequence[str]
    """Names of the files that differ from the base; none if nothing has changed."""
    patch: bytes
    """The difference, as `git apply` reads it."""


class Merged(Struct, frozen=True, kw_only=True):
    """Result of a merge: the changes are staged in the user's work tree, and not committed."""

    files: Sequence[str]


def data_folder() -> Path:
    """Return the folder of all work trees, with links resolved."""
    import platformdirs

    return (platformdirs.user_data_path("pygent-ls", appauthor=False) / "worktrees").resolve()


def worktree_of(folder: Path) -> Path | None:
    """Return the work tree that contains the folder, whether it exists or not; None if none does. The last part of the
    path is its name."""
    data = data_folder()
    parts = folder.relative_to(data).parts if folder.is_relative_to(data) else ()
    return data.joinpath(*parts[:2]) if len(parts) > 1 else None


def folder_of_worktrees(folder: Path) -> Path | None:
    """Return the folder of the work trees of the repository that contains the folder; None without a repository."""
    repository = find_repository(folder)
    return None if repository is None else _folder_for(repository, data_folder())


def _folder_for(repository: Repository, data: Path) -> Path:
    key = hashlib.sha256(str(repository.common).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return data / f"{repository.top.name}-{key}"


def counted(number: int, what: str) -> str:
    """Return a number with what it counts: `1 file`, `2 files`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


class SessionWorktrees:
    """The work trees of one repository."""

    def __init__(self, folder: Path, data: Path, program: str | None) -> None:
        """`folder` is in the user's work tree, `data` is the folder of all work trees, `program` is git. Raises
        `WorktreeError`."""
        repository = find_repository(folder)
        if repository is None:
            raise WorktreeError(f"{folder} is not in a git repository, so it can have no worktree.")
        self._repository = repository
        self._data = _folder_for(repository, data)
        if program is None:
            raise WorktreeError("git is not installed on this machine.")
        self._git = Git(program, timeout_s=TIMEOUT_S)
        self._environment = users_environment(repository.top)

    # The work trees

    def add(self, name: str) -> SessionWorktree:
        """Create a work tree from HEAD, or from its branch if only the folder was deleted. Raises `WorktreeError` and
        `SnapshotError`."""
        if _NAME.fullmatch(name) is None:
            raise WorktreeError(
                f"{name!r} cannot be the name of a worktree: use up to 60 letters, digits, `-`, `_` and single dots."
            )
        base, branch = self._commit("HEAD"), PREFIX + name
        if not base:
            raise WorktreeError("The repository has no commit yet, so a worktree cannot be created from one.")
        folder = self._data / name
        if folder.exists():
            raise WorktreeError(f"{folder} exists already. Remove it, or choose another name.")
        self._data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._forget(folder, branch)
        is_known = bool(self._commit(f"refs/heads/{branch}"))
        what = [str(folder), branch] if is_known else ["-b", branch, str(folder), base]
        self._run(["worktree", "add", "--no-checkout", "--quiet", *what])
        repository = find_repository(folder)
        if repository is None or repository.common != self._repository.common:
            raise WorktreeError(f"The worktree in {folder} cannot be read.")
        made = SessionWorktree(name=name, folder=folder, branch=branch, base=base, repository=repository)
        made.note.write_text(json.dumps({"name": name, "branch": branch, "base": base}), encoding="utf-8")
        self._run_inert(repository, ["read-tree", "--reset", "-u", "HEAD"])
        return made

    def open(self, name: str) -> SessionWorktree:
        """Return the work tree of that name; add it if it does not exist. Raises as `add`."""
        return next((each for each in self.listed() if each.name == name), None) or self.add(name)

    def _forget(self, folder: Path, branch: str) -> None:
        """Remove what the repository knows of a work tree whose folder was deleted. Raises `WorktreeError` if commits
        that are on no branch would be lost."""
        for entry in self._run(["worktree", "list", "--porcelain"]).split("\n\n"):
            lines = entry.splitlines()
            if f"worktree {folder}" not in lines:
                continue
            if f"branch refs/heads/{branch}" not in lines:
                raise WorktreeError(
                    f"{folder} was deleted while it was not on its branch {branch}. Make a branch of its commit if you "
                    f"need it ({next((each for each in lines if each.startswith('HEAD ')), 'no commit')}), run `git "
                    "worktree prune`, and try again."
                )
            self._run(["worktree", "remove", "--force", str(folder)])

    def folder_in(self, worktree: SessionWorktree, folder: Path) -> Path:
        """Return the folder of the work tree that corresponds to one of the user's. Raises `WorktreeError` if it does
        not exist there."""
        inside = worktree.folder / folder.relative_to(self._repository.top)
        if not inside.is_dir():
            raise WorktreeError(f"The folder {inside} does not exist in the worktree's commit.")
        return inside

    def get(self, name: str) -> SessionWorktree:
        """Return the work tree of that name. Raises `WorktreeError`."""
        found = {each.name: each for each in self.listed()}
        if name not in found:
            known = ", ".join(found) or "none"
            raise WorktreeError(f"There is no worktree {name!r}. The worktrees are: {known}.")
        return found[name]

    def at(self, folder: Path) -> SessionWorktree:
        """Return the work tree in that folder. Raises `WorktreeError`."""
        repository = find_repository(folder)
        if repository is not None and (found := self._read(repository.own / NOTE)) and found.folder == folder:
            return found
        if folder.parent == self._data:
            raise WorktreeError(
                f"The worktree {folder.name} no longer exists. `/worktree {folder.name}` in another session creates it "
                "again."
            )
        raise WorktreeError(f"The worktree {folder.name} belongs to another repository than {self._repository.top}.")

    def listed(self) -> list[SessionWorktree]:
        """Return all that exist, by name."""
        notes = sorted((self._repository.common / "worktrees").glob(f"*/{NOTE}"))
        return sorted(filter(None, map(self._read, notes)), key=lambda each: each.name)

    def _read(self, note: Path) -> SessionWorktree | None:
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            told = json.loads(note.read_text(encoding="utf-8"))
            name, branch, base = str(told["name"]), str(told["branch"]), str(told["base"])
            folder = self._data / name
            repository = find_repository(folder)
            is_ours = _NAME.fullmatch(name) is not None and branch == PREFIX + name
            if is_ours and repository is not None and repository.own == note.parent.resolve():
                return SessionWorktree(name=name, folder=folder, branch=branch, base=base, repository=repository)
        return None

    def state(self, worktree: SessionWorktree) -> WorktreeState:
        """Return what it has that its base does not have. Raises `SnapshotError`."""
        status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching"]
        output = self._run_inert(worktree.repository, [*status, "--ignore-submodules=dirty"])
        entries = list(filter(None, output.split("\0")))
        tips = ["HEAD", *filter(None, [self._commit(f"refs/heads/{worktree.branch}")])]
        counted = self._run_inert(worktree.repository, ["rev-list", "--count", *tips, f"^{worktree.base}"])
        return WorktreeState(
            n_commits=int(counted),
            files=[each[3:] for each in entries if not each.startswith("!!")],
            ignored=[each[3:] for each in entries if each.startswith("!!")],
        )

    @contextmanager
    def using(self, worktree: SessionWorktree) -> Generator[None]:
        """Keep the work tree from being merged and discarded inside the context. Raises OSError, and `WorktreeError`
        while it is."""
        with worktree.note.open("rb") as note:
            try:
                fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WorktreeError(f"The worktree {worktree.name} is being merged or discarded. Try again.") from None
            yield

    def discard(self, worktree: SessionWorktree, shown: WorktreeState | None) -> WorktreeState | None:
        """Delete the work tree and its branch, unless they have anything else than what `shown` says; None stands for
        whatever they have. Return None, or what they have if they were kept. Raises `WorktreeError` while it is used,
        and `SnapshotError`."""
        with self._alone(worktree):
            if shown is not None and (state := self.state(worktree)) != shown and not state.is_unchanged:
                return state
            self._remove(worktree)
        return None

    @contextmanager
    def _alone(self, worktree: SessionWorktree) -> Generator[None]:
        """Keep runs from using the work tree inside the context. Raises `WorktreeError` while one does."""
        with worktree.note.open("rb") as note:
            try:
                fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise WorktreeError(f"The worktree {worktree.name} is used by a turn. Wait until it ends.") from None
            yield

    def _remove(self, worktree: SessionWorktree) -> None:
        self._run(["worktree", "remove", "--force", "--force", str(worktree.folder)])
        self._run(["update-ref", "-d", f"refs/heads/{worktree.branch}"])

    # Merging back

    def merge(self, worktree: SessionWorktree, unsaved: Iterable[Path] = ()) -> Merged:
        """Commit what is left in the work tree to its branch, and stage the difference that the branch makes in the
        user's work tree, all or nothing. `unsaved` are files of the user's with changes that are only in an editor.
        Raises `WorktreeError`, also while a run uses the work tree; nothing has changed there then."""
        with self._alone(worktree):
            return self._merge(worktree, unsaved)

    def _merge(self, worktree: SessionWorktree, unsaved: Iterable[Path]) -> Merged:
        _check_idle(worktree.repository, f"the worktree {worktree.name}")
        _check_idle(self._repository, "your work tree")
        self._check_branch(worktree)
        self._check_whole(worktree)
        tip = self._commit_all(worktree, f"Changes in the worktree {worktree.name}\n")
        head = self._commit("HEAD")
        if not head:
            raise WorktreeError("Your branch has no commit yet, so there is nothing to merge into.")
        merged = self._merged_tree(head, tip)
        names = self._run_inert(
            self._repository, ["diff-tree", "-r", "-z", "--name-only", "--no-renames", head, merged]
        )
        files = list(filter(None, names.split("\0")))
        if not files:
            raise WorktreeError(f"There is nothing to merge: your branch has all changes of {worktree.name}.")
        if dirty := sorted({self._repository.top / each for each in files}.intersection(unsaved)):
            raise WorktreeError(
                f"Your own changes are in the way, so nothing was merged: {_listed([each.name for each in dirty])} "
                "would be overwritten, with changes that are not saved. Save or revert, and merge again."
            )
        self._check_untracked(head, merged)
        self._move(head, merged)
        return Merged(files=files)

    def _merged_tree(self, ours: str, theirs: str) -> str:
        output = self._run_inert(
            self._repository,
            ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs],
            good=(0, 1),
        )
        tree, *names = list(filter(None, output.split("\0")))
        if names:
            raise WorktreeError(
                f"The changes conflict with your branch in {_listed(names)}. Nothing was merged. Merge your branch "
                "into the worktree's, resolve the conflicts there, and merge again."
            )
        return tree

    def _move(self, old: str, new: str) -> None:
        """Update index and files from one tree to another. Changes of the user in other files stay."""
        self._run_inert(self._repository, ["update-index", "-q", "--refresh"], good=(0, 1))
        try:
            self._run_inert(self._repository, ["read-tree", "-m", "-u", old, new])
        except SnapshotError as error:
            raise WorktreeError(
                f"Your own changes are in the way, so nothing was merged: {error}. Commit or stash them, and merge "
                "again."
            ) from None

    def _check_whole(self, worktree: SessionWorktree) -> None:
        """Raise `WorktreeError` if the work tree has new repositories in it: git would add only their commits."""
        if names := [each.rstrip("/") for each in self.state(worktree).files if each.endswith("/")]:
            raise WorktreeError(
                f"The worktree {worktree.name} contains repositories of their own, whose files would not be merged: "
                f"{_listed(names)}. Nothing was merged. Add them as submodules or delete their `.git`, and merge again."
            )

    def _check_branch(self, worktree: SessionWorktree) -> None:
        """Raise `WorktreeError` if the work tree's HEAD is not its branch: its commits would not be merged."""
        head = self._run_inert(worktree.repository, ["symbolic-ref", "--quiet", "HEAD"], good=(0, 1)).strip()
        if head != f"refs/heads/{worktree.branch}":
            raise WorktreeError(
                f"The worktree {worktree.name} is not on its branch {worktree.branch}, but on "
                f"{head.removeprefix('refs/heads/') or 'a detached HEAD'}, so nothing was merged. Run `git -C "
                f"{worktree.folder} checkout {worktree.branch}`, and merge again."
            )

    def _check_untracked(self, old: str, new: str) -> None:
        """Raise `WorktreeError` if files that git does not know, also ignored ones, are in the place of new files. Git
        would overwrite the ignored ones."""
        command = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=AT", old, new]
        added = filter(None, self._run_inert(self._repository, command).split("\0"))
        tracked = frozenset(self._run_inert(self._repository, ["ls-files", "-z"]).split("\0"))
        names = sorted(_in_the_way(self._repository.top, added, tracked))
        if names:
            raise WorktreeError(
                f"Your own changes are in the way, so nothing was merged: {_listed(names)} would be overwritten, which "
                "git does not track here. Move or delete what you do not need, and merge again."
            )

    def _commit_all(self, worktree: SessionWorktree, message: str) -> str:
        """Commit all changes of the work tree to its branch; return the branch's commit."""
        repository = worktree.repository
        self._run_inert(repository, ["add", "--all"])
        tree = self._run_inert(repository, ["write-tree"]).strip()
        tip = self._run_inert(repository, ["rev-parse", "HEAD"]).strip()
        if tree == self._run_inert(repository, ["rev-parse", "HEAD^{tree}"]).strip():
            return tip
        command = [*self._identity(), "commit-tree", tree, "-p", tip, "-F", "-"]
        made = self._run(command, stdin=message.encode("utf-8", "replace")).strip()
        self._run(["update-ref", f"refs/heads/{worktree.branch}", made, tip])
        return made

    def _identity(self) -> list[str]:
        """Return options that name a committer, if git knows none on this machine."""
        if self._run(["var", "GIT_COMMITTER_IDENT"], good=(0, 128)) and self._run(
            ["var", "GIT_AUTHOR_IDENT"], good=(0, 128)
        ):
            return []
        return ["-c", "user.name=pygent-ls", "-c", "user.email=pygent-ls@localhost"]

    # Branches with the results of others

    def commit(self, worktree: SessionWorktree, message: str) -> Committed:
        """Commit what is left in the work tree to its branch; return all that the branch has beside its base. Raises
        `SnapshotError`."""
        self._check_branch(worktree)
        self._check_whole(worktree)
        tip = self._commit_all(worktree, message)
        names = self._run_inert(
            worktree.repository, ["diff-tree", "-r", "-z", "--name-only", "--no-renames", worktree.base, tip]
        )
        patch = self._run_inert(
            worktree.repository, ["diff-tree", "-r", "-p", "--binary", "--full-index", worktree.base, tip]
        )
        files = list(filter(None, names.split("\0")))
        return Committed(commit=tip, files=files, patch=patch.encode("utf-8", "surrogateescape"))

    def has_branch(self, name: str) -> bool:
        """Return whether the branch `pygent/NAME` exists. Raises `SnapshotError`."""
        return bool(self._commit(f"refs/heads/{PREFIX}{name}"))

    def add_branch(self, name: str, commit: str) -> str:
        """Make `pygent/NAME` a branch with this commit, unless it is one; return its name. Raises `WorktreeError` if
        it has other commits, and `SnapshotError`."""
        branch = PREFIX + name
        try:
            self._run(["update-ref", f"refs/heads/{branch}", commit, "0" * len(commit)])
        except SnapshotError:
            existing = self._commit(f"refs/heads/{branch}")
            if not existing:
                raise
            if existing != commit:
                raise WorktreeError(f"The branch {branch} exists already, with the commit {existing[:12]}.") from None
        return branch

    # Programs

    def _commit(self, revision: str) -> str:
        """Return a commit's name; empty if it does not exist."""
        command = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        return self._run_inert(self._repository, command, good=(0, 1)).strip()

    def _run(self, arguments: Sequence[str], stdin: bytes = b"", good: tuple[int, ...] = (0,)) -> str:
        """Run a command that reads and writes no file contents, with the repository's configuration overridden."""
        settings = [part for key, value in _OVERRIDES.items() for part in ("-c", f"{key}={value}")]
        with self._exclusive():
            output = self._git.run(
                [*settings, *arguments], cwd=self._repository.top, environment=self._writing({}), stdin=stdin, good=good
            )
        return output.decode("utf-8", "surrogateescape")

    @contextmanager
    def _exclusive(self) -> Generator[None]:
        """Keep other processes of ours from running such a command in the repository: git fails if it finds a work tree
        that another git is just adding or removing. Raises `SnapshotError`."""
        try:
            lock = (self._repository.common / LOCK).open("ab")
        except OSError as error:
            raise WorktreeError(f"The repository cannot be written: {error.strerror}.") from None
        with lock:
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                self._git.check()
                time.sleep(LOCK_POLL_S)
            yield

    def _run_inert(self, repository: Repository, arguments: Sequence[str], good: tuple[int, ...] = (0,)) -> str:
        """Run a command without the repository's configuration."""
        settings = [part for key, value in _OVERRIDES.items() for part in ("-c", f"{key}={value}")]
        with self._inert(repository) as variables:
            environment = self._writing({**variables, "GIT_INDEX_FILE": str(repository.own / "index")})
            output = self._git.run([*settings, *arguments], cwd=repository.top, environment=environment, good=good)
        return output.decode("utf-8", "surrogateescape")

    @contextmanager
    def _inert(self, repository: Repository) -> Generator[Mapping[str, str]]:
        try:
            with inert(repository) as variables:
                yield variables
        except ValueError as error:
            raise WorktreeError(f"The repository's configuration {error}, so the repository is not read.") from None

    def _writing(self, more: Mapping[str, str]) -> dict[str, str]:
        return {**self._environment, "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "1", **more}


def _check_idle(repository: Repository, where: str) -> None:
    """Raise `WorktreeError` during a merge or the like, which would be mixed with ours."""
    for name, what in _IN_PROGRESS.items():
        if (repository.own / name).exists():
            raise WorktreeError(f"A {what} is in progress in {where}. Finish it first.")


def _in_the_way(top: Path, added: Iterable[str], tracked: frozenset[str]) -> set[str]:
    """Return what is in the place of the added files or of a folder above them, and not tracked."""
    found: set[str] = set()
    for name in added:
        above = [each.as_posix() for each in reversed(PurePosixPath(name).parents)][1:]
        for each in (*above, name):
            path = top / each
            if path.is_dir() and not path.is_symlink():
                if each == name:
                    found.update({below.relative_to(top).as_posix() for below in entries_below(path)} - tracked)
            elif os.path.lexists(path):
                if each not in tracked:
                    found.add(each)
                break
            else:
                break
    return found


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"{', '.join(names[:MAX_LISTED])}{more}"
