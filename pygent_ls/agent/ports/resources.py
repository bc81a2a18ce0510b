"""Resources port: data of other programs that the user may attach to a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from pygent_ls.agent.messages import ImageBlock


class Resource(Struct, frozen=True, kw_only=True):
    """Resource that a server lists."""

    server: str
    """Name of the server in the settings."""
    uri: str
    description: str = ""
    """What it is, on one line."""

    @property
    def mention(self) -> str:
        """Word after an `@` that names it."""
        return f"{self.server}:{self.uri}"


class ResourceContent(Struct, frozen=True, kw_only=True):
    """Content of a resource as the model reads it."""

    text: str
    images: tuple[ImageBlock, ...] = ()


class ServerResources(Protocol):
    """Resources of all servers that are connected."""

    @property
    def listed(self) -> Sequence[Resource]:
        """Resources that the servers list."""
        ...

    async def read(self, mention: str) -> ResourceContent | None:
        """Return the content of the resource that `SERVER:URI` names, listed or not; None if no connected server has
        that name. Raises `ToolError`."""
        ...
