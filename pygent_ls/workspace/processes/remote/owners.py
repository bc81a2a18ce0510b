"""Owners of the processes over there: an existing container, reached by docker or podman, or a host, reached by ssh."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, cast

from msgspec import Struct

from pygent_ls.agent.ports.processes import ProcessResult
from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.remote.script import for_any_shell

SSH_OPTIONS = (
    *("-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ClearAllForwardings=yes"),
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"),
    *("-o", "ControlMaster=no", "-o", "RemoteCommand=none"),
)
"""Without a terminal, a question, and forwarding of an agent, an X server or ports. A connection that breaks is noticed
after 30 s. An existing control connection is used, but none is started, which would live on without us."""

RunHere = Callable[[Sequence[str]], Awaitable[ProcessResult]]
"""Runs one of our own command lines on this machine, with a time limit. Raises `ToolError`."""


class Mount(Struct, frozen=True):
    """Folder here, with links resolved, and the path under which it is there."""

    here: Path
    there: PurePosixPath


class ProcessOwner(Protocol):
    """Runs programs over there with a program of this machine."""

    @property
    def program(self) -> str:
        """Program of this machine."""
        ...

    @property
    def place(self) -> str:
        """Where the commands run, as in `in the container NAME`."""
        ...

    async def find(self, run: RunHere) -> Found:
        """Find it. Raises `ToolError` that says what is wrong."""
        ...

    def argv(self, found: Found, argv: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments of the program that run `argv` over there, with its standard input."""
        ...


class Found(Struct, frozen=True, kw_only=True):
    """ProcessOwner that answered."""

    id: str
    """Name that no other container can take."""
    mounts: tuple[Mount, ...]


class Container(Struct, frozen=True, kw_only=True):
    """Implementation of `ProcessOwner` for a running container."""

    program: str
    name: str
    user: str = ""
    mounts: tuple[Mount, ...] = ()
    """Mounts that the settings name, besides those of the container."""

    @property
    def place(self) -> str:
        """Implement `ProcessOwner`."""
        return f"in the container {self.name}"

    async def find(self, run: RunHere) -> Found:
        """Implement `ProcessOwner`."""
        result = await run(("container", "inspect", self.name))
        if result.exit_code != 0:
            raise ToolError(f"{self.program} does not know the container {self.name}: {last_line(result.stderr)}")
        try:
            (known,) = cast("list[dict[str, Any]]", json.loads(result.stdout))
            state: Mapping[str, Any] = known["State"]
            mounts = tuple(_mounts(known.get("Mounts") or ()))
            container = str(known["Id"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ToolError(
                f"The answer of {self.program} about the container {self.name} is not understood."
            ) from None
        if not state.get("Running") or state.get("Paused"):
            status = state.get("Status") or "stopped"
            raise ToolError(f"The container {self.name} is not running, it is {status}: start it with {self.program}.")
        return Found(id=container, mounts=(*self.mounts, *mounts))

    def argv(self, found: Found, argv: Sequence[str]) -> tuple[str, ...]:
        """Implement `ProcessOwner`."""
        user = ("--user", self.user) if self.user else ()
        return ("exec", "--interactive", *user, found.id, *argv)


class Host(Struct, frozen=True, kw_only=True):
    """Implementation of `ProcessOwner` for a machine with an ssh server."""

    name: str
    mounts: tuple[Mount, ...] = ()

    @property
    def program(self) -> str:
        """Implement `ProcessOwner`."""
        return "ssh"

    @property
    def place(self) -> str:
        """Implement `ProcessOwner`."""
        return f"on {self.name}"

    async def find(self, run: RunHere) -> Found:
        """Implement `ProcessOwner`."""
        return Found(id=self.name, mounts=self.mounts)

    def argv(self, found: Found, argv: Sequence[str]) -> tuple[str, ...]:
        """Implement `ProcessOwner`."""
        return (*SSH_OPTIONS, "--", found.id, for_any_shell(argv))


def owner_of(commands: str, folder: str, user: str, workspace: Path | None) -> ProcessOwner:
    """Return the owner that the valid settings name; `folder` is the path of the workspace's folder there."""
    kind, _, name = commands.partition(":")
    mounts = (Mount(workspace.resolve(), PurePosixPath(folder)),) if folder and workspace else ()
    if kind == "ssh":
        return Host(name=name, mounts=mounts)
    return Container(program=kind, name=name, user=user, mounts=mounts)


def last_line(text: str) -> str:
    """Return the last line of what a program wrote, which says what was wrong."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it did not say why")


def _mounts(given: Sequence[Mapping[str, Any]]) -> Sequence[Mount]:
    binds = [each for each in given if each.get("Type") == "bind"]
    return [Mount(Path(str(each["Source"])).resolve(), PurePosixPath(str(each["Destination"]))) for each in binds]
