"""Finds git repositories and reads them without running anything that they configure.

Git reads a repository through a folder of the daemon's own. It contains the HEAD, links to the index, references and
objects, and a new configuration made from the settings that only affect how data is read. The repository's own
configuration is not in any place where git, or a program that git starts, would look for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from pathlib import Path

from pygent_ls.agent.ports.processes import Repository
from pygent_ls.errors import ToolError
from pygent_ls.file_access import read_beginning
from pygent_ls.workspace.environment import is_safe
from pygent_ls.workspace.git import config as git_config

MAX_POINTER_BYTES = 10_000
"""Maximum size of a file that contains a path or a reference."""

MAX_LOG_BYTES = 10_000_000
"""Maximum size of the HEAD log of a linked work tree, which is copied: some 50,000 entries."""

_POINTER = re.compile(r"gitdir: (.*[^\r\n])[\r\n]*+", re.DOTALL)

_OF_WORK_TREE = re.compile(r"index|sharedindex\..*|(?!HEAD$)[A-Z_]*HEAD", re.DOTALL)
"""Files of a work tree's git folder that are linked. `HEAD` itself must not be a link, and is copied."""

_COMMON = ("objects", "refs", "packed-refs", "reftable", "shallow")
"""Files of the folder shared by all work trees that are linked."""


class LocalRepositories:
    """Implementation of `Repositories` on this machine."""

    def __init__(self, may_write: Callable[[Path], bool]) -> None:
        """Create the port. `may_write` returns whether a command in the sandbox can write a path."""
        self._may_write = may_write

    async def find(self, folder: Path) -> Repository | None:
        """Implement `Repositories`."""
        return await asyncio.to_thread(find_repository, folder)

    @contextlib.asynccontextmanager
    async def inert(self, repository: Repository) -> AsyncGenerator[Mapping[str, str]]:
        """Implement `Repositories`."""
        with contextlib.ExitStack() as stack:
            entered = asyncio.to_thread(stack.enter_context, inert(repository))
            try:
                variables = await entered
            except ValueError as error:
                raise ToolError(f"The repository's configuration {error}, so the repository is not read.") from None
            except OSError as error:
                raise ToolError(f"The repository cannot be read: {error.strerror}.") from None
            yield {**variables, **await asyncio.to_thread(self._of_the_user)}

    def _of_the_user(self) -> Mapping[str, str]:
        """Return the variables for the user's own configuration, which applies unless a part of it is writable from the
        sandbox.
        """
        home = Path.home()
        base = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        given = os.environ.get("GIT_CONFIG_GLOBAL")
        files = [Path(given)] if given else [base / "git" / "config", home / ".gitconfig"]
        if any(git_config.leads_to(each, self._may_be_written) for each in files if each != Path(os.devnull)):
            return {"GIT_CONFIG_GLOBAL": os.devnull}
        return {}

    def _may_be_written(self, file: Path) -> bool:
        return not is_safe(str(file), self._may_write)


def find_repository(folder: Path) -> Repository | None:
    """Return the repository whose work tree contains the folder, or None. Blocking."""
    for top in (folder, *folder.parents):
        entry = top / ".git"
        if not os.path.lexists(entry):
            continue
        own = entry
        if entry.is_file():
            pointer = _POINTER.fullmatch(_small(entry))
            own = top / pointer[1] if pointer else entry
        own = own.resolve()
        with contextlib.suppress(OSError):
            common = (own / _small(own / "commondir").rstrip("\r\n")).resolve() if _is_there(own, "commondir") else own
            if _is_there(own, "HEAD") and (common / "objects").is_dir() and (common / "refs").is_dir():
                return Repository(top=top, own=own, common=common)
    return None


@contextlib.contextmanager
def inert(repository: Repository) -> Generator[Mapping[str, str]]:
    """Yield the variables with which git reads a repository without applying its configuration. Blocking.

    Raises ValueError, with the problem in the configuration, and OSError.
    """
    settings = _settings(repository)
    with tempfile.TemporaryDirectory(prefix="pygent-ls-git-", ignore_cleanup_errors=True) as made:
        folder = Path(os.path.realpath(made))
        (folder / "config").write_text(
            git_config.rendered(settings), encoding="utf-8", errors="surrogateescape", newline="\n"
        )
        (folder / "HEAD").write_text(_head(repository.own / "HEAD"), encoding="utf-8", errors="surrogateescape")
        for name, target in _parts(repository):
            (folder / name).parent.mkdir(exist_ok=True)
            if os.path.lexists(target):
                (folder / name).symlink_to(target)
        log = repository.own / "logs" / "HEAD"
        if repository.own != repository.common and (entries := _log(log)):  # git reads no log through a link
            (folder / "logs").mkdir(exist_ok=True)
            (folder / "logs" / "HEAD").write_bytes(entries)
        yield {"GIT_DIR": str(folder), "GIT_WORK_TREE": str(repository.top)}


def _settings(repository: Repository) -> list[git_config.Setting]:
    """Return the effective settings of the repository's own configuration."""
    given = git_config.read(repository.common / "config")
    if repository.own != repository.common:  # as git does: that of a submodule applies to its own work tree
        given = [each for each in given if each[0] != "core.worktree"]
    values = dict(given)
    if (values.get("extensions.worktreeconfig", "false") or "true").lower() in ("true", "yes", "on", "1"):
        given += git_config.read(repository.own / "config.worktree")
    elsewhere = [value for key, value in given if key == "core.worktree"]
    if elsewhere and (repository.own / (elsewhere[-1] or "")).resolve() != repository.top.resolve():
        raise ValueError("names another work tree (core.worktree)")
    return [*git_config.harmless(given), git_config.Setting("core.bare", "false")]


def _parts(repository: Repository) -> Iterator[tuple[str, Path]]:
    """Yield the link targets of the reading folder by name."""
    own, common = repository.own, repository.common
    yield from ((name, common / name) for name in _COMMON)
    yield ("logs", common / "logs") if own == common else ("logs/refs", common / "logs" / "refs")
    yield from ((f"info/{name}", common / "info" / name) for name in ("exclude", "attributes", "grafts"))
    yield "info/sparse-checkout", own / "info" / "sparse-checkout"
    yield from ((each.name, each) for each in own.iterdir() if _OF_WORK_TREE.fullmatch(each.name))


def _head(file: Path) -> str:
    """Return the contents of HEAD, which old versions of git made a link."""
    if file.is_symlink() and (target := file.readlink()).parts[:1] == ("refs",):
        return f"ref: {target}\n"
    return _small(file)


def _log(file: Path) -> bytes:
    """Return the log of HEAD; empty if it is missing or too large."""
    with contextlib.suppress(OSError):
        entries = read_beginning(file, MAX_LOG_BYTES + 1)
        return entries if len(entries) <= MAX_LOG_BYTES else b""
    return b""


def _is_there(folder: Path, name: str) -> bool:
    return os.path.lexists(folder / name)


def _small(file: Path) -> str:
    """Return the text of a small file. Raises OSError."""
    return read_beginning(file, MAX_POINTER_BYTES).decode("utf-8", "surrogateescape")
