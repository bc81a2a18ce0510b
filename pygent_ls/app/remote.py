"""Where the commands of one front end's sessions run, if that is not this machine."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.config.sources import LOCAL_FILE
from pygent_ls.config.tables import RemoteTable
from pygent_ls.errors import ToolError

if TYPE_CHECKING:  # imported with the first such setting
    from pygent_ls.workspace.processes.local_processes import LocalProcesses
    from pygent_ls.workspace.processes.remote.remote_processes import RemoteProcesses


class RemoteSupport:
    """Container or host that the settings name; the settings may change."""

    def __init__(self, processes: LocalProcesses, folder: Callable[[], Path | None], state_folder: Path) -> None:
        """`folder` returns the user's folder, which the setting `remote.folder` is about."""
        self._processes = processes
        self._folder = folder
        self._offers = state_folder / "devcontainers"
        self._known: tuple[object, RemoteProcesses] | None = None

    def of(self, table: RemoteTable) -> RemoteProcesses | None:
        """Return the processes there; None if commands run on this machine."""
        if not table.commands:
            return None
        from pygent_ls.workspace.processes.remote.owners import owner_of
        from pygent_ls.workspace.processes.remote.remote_processes import RemoteProcesses

        folder = self._folder()
        if self._known is None or self._known[0] != (table, folder):
            owner = owner_of(table.commands, table.folder, table.user, folder)
            self._known = (table, folder), RemoteProcesses(self._processes, owner)
        return self._known[1]

    async def offer(self, table: RemoteTable) -> str:
        """Return the notice that offers the running dev container of the user's folder, once for each folder; else
        empty."""
        folder = self._folder()
        if table.commands or folder is None:
            return ""
        from pygent_ls.workspace.processes.remote.devcontainer import is_described, running_devcontainer

        mark = self._offers / hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()
        if not await asyncio.to_thread(lambda: is_described(folder) and not mark.exists()):
            return ""
        found = await running_devcontainer(folder, self._processes)
        if found is None or not await asyncio.to_thread(_made, mark):
            return ""
        return (
            "The dev container of this workspace runs. To run the agent's commands in it, outside the sandbox, add to "
            f"{LOCAL_FILE}:\n\n```toml\n{found.settings}\n```"
        )


def _made(mark: Path) -> bool:
    from pygent_ls.workspace.files.writer import alone_in, write_atomically

    try:
        with alone_in(mark.parent):
            write_atomically(mark, b"", 0o600)
    except (OSError, ToolError):
        return False
    return True
