"""Worktrees beside the user's work tree: the agents that work in them, each built when a session needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pygent_ls.errors import SessionError, SnapshotError, WorktreeUnavailableError
from pygent_ls.workspace.git.repositories import find_repository
from pygent_ls.workspace.git.session_worktrees import (
    UNCHANGED,
    Merged,
    SessionWorktree,
    SessionWorktrees,
    WorktreeError,
    data_folder,
    folder_of_worktrees,
    worktree_of,
)

if TYPE_CHECKING:
    from pygent_ls.agent.ports.processes import Repository
    from pygent_ls.editors.ports import Core, FrontEnd
    from pygent_ls.sessions.store import Sessions
    from pygent_ls.workspace.sandbox.sandbox import SandboxOptions


class WorktreeAgents:
    """Implements `Worktrees` of `sessions` for one front end, and owns the agents of its worktrees."""

    def __init__(
        self,
        front_end: FrontEnd,
        sessions: Sessions,
        find: Callable[[str], str | None],
        make: Callable[[FrontEnd], Core],
    ) -> None:
        """`front_end` and `sessions` are the user's, `find` finds a program, `make` builds the agent of a worktree."""
        self._workspace = front_end.workspace
        self._in_worktree = front_end.in_worktree
        self._is_restricted = front_end.is_restricted
        self._sessions = sessions
        self._find = find
        self._make = make
        self._agents: dict[Path, Core] = {}
        """Agents by worktree."""
        self._front_ends: dict[Path, FrontEnd] = {}
        sessions.delegate(self._sessions_in)

    @property
    def agents(self) -> Iterable[Core]:
        """Agents of all worktrees."""
        return tuple(self._agents.values())

    def of_repository(self) -> SessionWorktrees:
        """Implement `Worktrees`."""
        folder = next(iter(self._workspace.folders), None)
        if folder is None:
            raise WorktreeError("No folder is open, so there can be no worktree.")
        if self._is_restricted:
            raise WorktreeError("The editor does not trust this workspace, so no worktrees are used.")
        return SessionWorktrees(folder, data_folder(), self._find("git"))

    async def open(self, name: str) -> Path:
        """Implement `Worktrees`."""
        if self._in_worktree is None:
            raise _failed("A session cannot be moved to a worktree here. Use `pygent-ls chat --worktree NAME`.")
        try:
            return await asyncio.to_thread(self._open, name)
        except (SnapshotError, OSError) as error:
            raise _failed(str(error)) from None

    def _open(self, name: str) -> Path:
        worktrees = self.of_repository()
        worktree = worktrees.open(name)
        try:
            return worktrees.folder_in(worktree, self._workspace.folders[0])
        except WorktreeError:
            worktrees.discard(worktree, UNCHANGED)
            raise

    def _sessions_in(self, folder: Path) -> Sessions | None:
        """Return the sessions of the worktree that contains the folder; None if none does, or if the user has it
        open."""
        is_open = any(folder.is_relative_to(each) for each in self._workspace.folders)
        worktree = worktree_of(folder)
        if self._in_worktree is None or is_open or worktree is None:
            return None
        if worktree not in self._agents:
            front_end = self._front_ends[worktree] = self._in_worktree(self._folders_in(worktree))
            agent = self._agents[worktree] = self._make(front_end)
            agent.sessions.delegate(self._sessions.for_folder, partial(self._in_use, worktree))
        return self._agents[worktree].sessions

    def _folders_in(self, worktree: Path) -> Sequence[Path]:
        """Return the folders that correspond to the user's; the whole worktree if none does."""
        folders, repository = self._workspace.folders, self._repository()
        if repository is None or folder_of_worktrees(folders[0]) != worktree.parent:
            return [worktree]
        inside = [
            worktree / each.relative_to(repository.top) for each in folders if each.is_relative_to(repository.top)
        ]
        return [each for each in inside if each.is_dir()] or [worktree]

    @contextmanager
    def _in_use(self, worktree: Path) -> Generator[None]:
        """Keep a worktree from being merged and discarded inside the context. Raises `WorktreeUnavailableError`."""
        with ExitStack() as stack:
            try:
                worktrees = self.of_repository()
                stack.enter_context(worktrees.using(worktrees.at(worktree)))
            except (SnapshotError, OSError) as error:
                raise WorktreeUnavailableError(str(error)) from None
            yield

    async def merge(self, name: str) -> Merged:
        """Implement `Worktrees`."""
        try:
            worktrees = await asyncio.to_thread(self.of_repository)
            worktree = await asyncio.to_thread(worktrees.get, name)
            if front_end := self._front_ends.get(worktree.folder):
                await front_end.workspace.save_changes("the merge")
            if dirty := self.unsaved(worktree):
                names = ", ".join(each.name for each in dirty)
                raise _failed(f"{names} of the worktree has unsaved changes. Save or revert them, and merge again.")
            mine = [each.path for each in self._workspace.unsaved()]
            return await asyncio.to_thread(worktrees.merge, worktree, mine)
        except (SnapshotError, OSError) as error:
            raise _failed(str(error)) from None

    def unsaved(self, worktree: SessionWorktree) -> Sequence[Path]:
        """Implement `Worktrees`."""
        if self._in_worktree is None:
            return ()
        return [each.path for each in self._in_worktree([worktree.folder]).workspace.unsaved()]

    async def end(self, worktree: SessionWorktree) -> None:
        """Implement `Worktrees`."""
        agent = self._agents.get(worktree.folder)
        if agent is None:
            return
        sessions = [each for each in agent.sessions.all() if each.working_directory.is_relative_to(worktree.folder)]
        for session in sessions:
            session.check_idle()
            if any(each.runs for each in await session.services.environment.processes.background.listed(session.id)):
                raise SessionError(
                    f"Commands of the session {session.name!r} run in the background of the worktree. Stop them first "
                    "(/background stop NAME in that session).",
                    kind="turn_running",
                )
        await asyncio.gather(*(agent.sessions.close_one(each.id) for each in sessions))
        del self._agents[worktree.folder], self._front_ends[worktree.folder]
        await agent.close()

    async def close(self) -> None:
        """Close all agents."""
        async with asyncio.TaskGroup() as group:
            for agent in self.agents:
                group.create_task(agent.close())

    def with_git(self, options: SandboxOptions) -> SandboxOptions:
        """Return the options of the sandbox in which git reads the repository of a worktree. Blocking."""
        repository = self._repository()
        return options if repository is None else replace(options, read=(*options.read, repository.common))

    def translated(self, folders: Sequence[Path], inside: Path) -> tuple[list[Path], list[str]]:
        """Return the `additional_dirs` for the sessions in a folder of a worktree, and the problems with them, for the
        user: in place of folders of the user's work tree, those of the worktree. Blocking."""
        repository, worktree = self._repository(), worktree_of(inside)
        if repository is None or worktree is None:
            return list(folders), []
        top, found, wrong = repository.top, list[Path](), list[str]()
        for folder in folders:
            if folder.is_relative_to(top):
                each = worktree / folder.relative_to(top)
                found += [each] if each.is_dir() and each.resolve() == each else []  # not a link out of the worktree
            elif top.is_relative_to(folder):
                wrong.append(f"additional_dirs: {folder} contains your work tree, so no worktree uses it.")
            else:
                found.append(folder)
        return found, wrong

    def _repository(self) -> Repository | None:
        """Return the repository of the first folder that the user has open; None without a repository. Blocking."""
        folder = next(iter(self._workspace.folders), None)
        return None if folder is None else find_repository(folder)


def _failed(text: str) -> SessionError:
    return SessionError(text, kind="worktree_failed")
