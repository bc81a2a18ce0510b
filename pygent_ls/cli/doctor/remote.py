"""Check of the place where commands run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pygent_ls.app.remote import RemoteSupport
from pygent_ls.config.settings import Settings
from pygent_ls.errors import ToolError


def remote_rows(settings: Settings, folder: Path, state_folder: Path) -> list[tuple[str, str]]:
    """Ask the container or the host that the settings name, or say which dev container they could name."""
    from pygent_ls.workspace.processes.local_processes import processes_in
    from pygent_ls.workspace.processes.remote.devcontainer import is_described, running_devcontainer

    processes = processes_in(folder)
    remote = RemoteSupport(processes, lambda: folder, state_folder).of(settings.remote)
    if remote is None:
        if not is_described(folder):
            return []
        found = asyncio.run(running_devcontainer(folder, processes))
        said = "it does not run" if found is None else "; ".join(["it runs: set", *found.settings.split("\n")])
        return [("place", "on this machine"), ("dev container", said)]
    sandbox = "not in the sandbox"
    if settings.sandbox == "require":
        sandbox = 'and the setting `sandbox` is "require", so none runs'
    place = ("place", f"{remote.place}, {sandbox}")
    try:
        asyncio.run(remote.connect())
    except ToolError as error:
        return [place, ("problem", str(error))]
    there = remote.path_there(folder)
    return [place, ("folder", there or f"{folder} is not there: set remote.folder, or mount it")]
