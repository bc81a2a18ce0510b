"""Dev container of a workspace (containers.dev) that an editor or the devcontainer CLI has started."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.ports.processes import Processes, ProcessSpec
from pygent_ls.data_files import read_json_with_comments
from pygent_ls.errors import ToolError
from pygent_ls.file_access import read_file

FILES = (Path(".devcontainer", "devcontainer.json"), Path(".devcontainer.json"))
"""Places of the file, relative to the workspace's folder."""

MAX_FILE_BYTES = 100_000

LIST_S = 5.0
"""Maximum time for the list of containers."""

_USER = re.compile(r"\w[\w.:-]*", re.ASCII)


class DevContainer(Struct, frozen=True, kw_only=True):
    """Running dev container, as the settings name it."""

    program: str
    name: str
    user: str

    @property
    def settings(self) -> str:
        """Settings that run commands in it."""
        user = f'\nuser = "{self.user}"' if self.user else ""
        return f'[remote]\ncommands = "{self.program}:{self.name}"{user}'


def is_described(folder: Path) -> bool:
    """Whether a workspace describes a dev container. Blocking."""
    return any((folder / each).is_file() for each in FILES)


async def running_devcontainer(folder: Path, processes: Processes) -> DevContainer | None:
    """Return the running container of a workspace that describes one. Starts nothing; the file only names its user."""
    for program in ("docker", "podman"):
        found = processes.find(program)
        if found is None:
            continue
        label = f"label=devcontainer.local_folder={folder}"
        argv = (found, "ps", "--filter", label, "--format", "{{.Names}}")
        try:
            result = await processes.run(ProcessSpec(argv=argv, cwd=Path("/"), timeout_s=LIST_S))
        except ToolError:
            continue
        names = result.stdout.split() if result.exit_code == 0 else []
        if names:
            return DevContainer(program=program, name=names[0].partition(",")[0], user=_user(folder))
    return None


def _user(folder: Path) -> str:
    """Return the user whose name the file says; empty for the container's own."""
    for each in FILES:
        try:
            text = read_file(Path(os.path.realpath(folder)) / each, MAX_FILE_BYTES)[0].decode()
            given = read_json_with_comments(text)
        except (OSError, ValueError, RecursionError):
            continue
        user: Any = cast("Mapping[str, Any]", given).get("remoteUser") if isinstance(given, Mapping) else None
        return user if isinstance(user, str) and _USER.fullmatch(user) else ""
    return ""
