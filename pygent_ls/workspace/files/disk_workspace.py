"""Workspace without an editor: the user sees what is on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pygent_ls.agent.ports.workspace import (
    MISSING,
    MISSING_TARGET,
    Applied,
    DeleteFile,
    Document,
    EditPlan,
    FileStatus,
    LargeFilePart,
    MoveFile,
    PartWanted,
    Stamp,
)
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.large_files import read_part
from pygent_ls.workspace.files.paths import Folders
from pygent_ls.workspace.files.plan_order import paths_of
from pygent_ls.workspace.files.reader import (
    disk_stamp,
    files_below,
    files_named,
    lines_of,
    read_bytes,
    read_document,
    status,
    tree_stamp,
)
from pygent_ls.workspace.files.transaction import apply_plan
from pygent_ls.workspace.files.writer import write_atomically

__all__ = ["DiskWorkspace", "apply_plan", "check_plan", "disk_stamp", "read_document", "tree_stamp", "write_atomically"]


class DiskWorkspace:
    """Implementation of `Workspace` on the disk alone."""

    def __init__(self, folders: Iterable[str | Path]) -> None:
        self._folders = Folders.of(folders)

    def use_also(self, folders: Sequence[Path]) -> None:
        """Implement `Workspace`."""
        self._folders = Folders.of(self._folders.given, folders)

    @property
    def folders(self) -> Sequence[Path]:
        """Implement `Workspace`."""
        return self._folders.resolved

    @property
    def more_folders(self) -> Sequence[Path]:
        """Implement `Workspace`."""
        return self._folders.more

    def resolve(self, path: str, *, follow: bool = True) -> Path:
        """Implement `Workspace`, as `Folders.resolve`."""
        return self._folders.resolve(path, follow=follow)

    def shown(self, path: Path) -> str:
        """Implement `Workspace`."""
        return self._folders.shown(path)

    def kind_of(self, path: Path) -> Literal["file", "folder", "missing"]:
        """Implement `Workspace`."""
        return status(path).kind

    async def read(self, path: Path) -> Document:
        """Implement `Workspace`."""
        return await read_document(path, self.shown(path))

    async def read_part(self, path: Path, wanted: PartWanted) -> LargeFilePart:
        """Implement `Workspace`."""
        return await read_part(path, self.shown(path), wanted)

    async def read_binary(self, path: Path) -> bytes:
        """Implement `Workspace`."""
        return await read_bytes(path, self.shown(path))

    async def lines_on_disk(self, wanted: Mapping[Path, Collection[int]]) -> Mapping[Path, Mapping[int, bytes]]:
        """Implement `Workspace`."""
        return await asyncio.to_thread(lambda: {path: lines_of(path, numbers) for path, numbers in wanted.items()})

    async def stamp(self, path: Path) -> Stamp:
        """Implement `Workspace`. Takes no thread: `resolve` looks at more of the disk than this."""
        return disk_stamp(path)

    async def stamps(self, paths: Sequence[Path]) -> Sequence[Stamp]:
        """Implement `Workspace`."""
        return [
            MISSING_TARGET if (stamp := disk_stamp(path)) == MISSING and path.is_symlink() else stamp for path in paths
        ]

    async def tree_stamp(self, folder: Path) -> Stamp | None:
        """Implement `Workspace`."""
        return await asyncio.to_thread(tree_stamp, folder)

    async def status(self, path: Path) -> FileStatus:
        """Implement `Workspace`."""
        return await asyncio.to_thread(status, path)

    async def files_named(self, is_wanted: Callable[[str], bool]) -> Sequence[Path]:
        """Implement `Workspace`."""
        return await asyncio.to_thread(files_named, (*self.folders, *self.more_folders), is_wanted)

    async def files_below(self, path: Path) -> Sequence[Path]:
        """Implement `Workspace`."""
        return await asyncio.to_thread(lambda: sorted(files_below(path)))

    def unsaved(self) -> Sequence[Document]:
        """Return nothing: without an editor there are only files."""
        return ()

    def open_document(self, path: Path) -> Document | None:
        """Return None: without an editor there are only files."""
        return None

    async def save_changes(self, reader: str) -> None:
        """Do nothing: without an editor there are only files."""

    def told(self) -> int:
        """Return a constant: without an editor no changes are reported."""
        return 0

    def told_since(self, moment: int) -> Collection[Path]:
        """Return nothing: without an editor no changes are reported."""
        return ()

    async def changed_on_disk(self) -> Sequence[Path]:
        """Return nothing: without an editor there are only files."""
        return ()

    async def check(self, plan: EditPlan) -> None:
        """Implement `Workspace`."""
        await asyncio.to_thread(check_plan, plan, self._folders)

    async def apply(self, plan: EditPlan) -> Applied:
        """Implement `Workspace`. A plan that is cancelled halfway is undone."""
        await self.check(plan)
        await apply_plan(plan, self.shown)
        return Applied(asked=plan, stands=plan)


def check_plan(plan: EditPlan, folders: Folders) -> None:
    """Verify a plan's paths. Raises `ToolError` if one is now outside the folders, or a folder itself would be moved.

    The paths were resolved when the plan was made; while the user was asked, a link may have replaced a folder on the
    way.
    """
    for operation in plan.operations:
        keeps_last = isinstance(operation, DeleteFile | MoveFile)
        for path in paths_of(operation):
            folders.check(path, follow=not keeps_last)
            if keeps_last and path in (*folders.resolved, *folders.more):
                raise ToolError(f"{folders.shown(path)} is a workspace folder, so it cannot be moved or deleted.")
