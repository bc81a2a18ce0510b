"""`Processes` port for planning an edit: the call is not allowed yet, so it runs no program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Never

from pygent_ls.agent.ports.processes import ProcessSpec, SandboxState
from pygent_ls.errors import ToolError


class NoProcesses:
    """`Processes` port without any program."""

    @property
    def background(self) -> Never:
        """Raises `ToolError`."""
        raise _refused()

    @property
    def repositories(self) -> Never:
        """Raises `ToolError`: git would have to read them."""
        raise _refused()

    async def sandbox(self) -> SandboxState:
        """Return the state `off`: nothing runs."""
        return SandboxState(kind="off")

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        """Return None."""
        return None

    async def run(self, spec: ProcessSpec, on_output: Callable[[str], Awaitable[None]] | None = None) -> Never:
        """Raises `ToolError`."""
        raise _refused()


def _refused() -> ToolError:
    return ToolError("Programs cannot be run while an edit is being planned.")
