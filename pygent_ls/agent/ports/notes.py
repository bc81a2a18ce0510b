"""Notes port: what is remembered about a workspace from one session to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Notes(Protocol):
    """The notes about a workspace, a Markdown file of the user."""

    @property
    def path(self) -> Path:
        """The file, which may not exist."""
        ...

    async def read(self) -> str:
        """Return the text as it is now; empty if there is no file. Raises `ToolError`."""
        ...

    async def change(self, note: str, replaces: str) -> None:
        """Add a note, put it in the place of another one, or, if it is empty, remove that one. Raises `ToolError`."""
        ...
