"""The checkpointer port: makes a turn's changes reversible."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from pygent_ls.agent.edits.named_paths import NamedPaths
from pygent_ls.agent.ports.workspace import EditPlan, FileChange

MAX_CHANGES = 200
"""Maximum number of files that a program changed whose texts are returned."""

CANCELLED_S = 1.0
"""Seconds that a cancelled turn waits to learn what its program changed; after that, the changes count as the user's.
"""


class ProgramEnd(Struct, frozen=True, kw_only=True):
    """What is known after a program."""

    problem: str | None = None
    """Why its changes could not be backed up, for the user to read."""
    changes: tuple[FileChange, ...] = ()
    """Text files that differ on disk, with their texts, at most `MAX_CHANGES`."""
    n_more: int = 0
    """Number of further files that differ."""


class Checkpointer(Protocol):
    """Saves the workspace as it was before the agent changes it, and records what the agent wrote.

    The methods raise nothing: if the workspace cannot be saved, they return the reason for the user to read, once per
    turn, and the change goes on.
    """

    async def before_change(self, turn_id: str, label: str) -> str | None:
        """Prepare for a tool that is about to change files. The first one in a turn makes a checkpoint, which exists on
        return."""
        ...

    async def before_program(self, turn_id: str, label: str, named: NamedPaths) -> str | None:
        """Prepare for a program that may change anything: make a checkpoint, which exists on return."""
        ...

    async def after_program(
        self, turn_id: str, label: str, also_named: NamedPaths | None = None, *, apart_from: Collection[Path] = ()
    ) -> ProgramEnd:
        """Record that the program of the last `before_program` has ended. Files that differ on disk since then count as
        its changes if its command line, or `also_named`, names them; elsewhere they may be anyone's. Changes that the
        editor or another session reported do not count, nor those of `apart_from`."""
        ...

    async def about_to_apply(self, plan: EditPlan) -> None:
        """Prepare for a plan that is about to be applied, and may wait for the user: save what it replaces and deletes.
        What it writes counts as the agent's, even if the daemon dies before `applied`."""
        ...

    async def applied(self, plan: EditPlan) -> None:
        """Record that a plan was applied: what it wrote is the agent's, what the user typed since is not."""
        ...


class NoCheckpoints:
    """Checkpointer that saves nothing."""

    async def before_change(self, turn_id: str, label: str) -> str | None:
        """Do nothing."""

    async def before_program(self, turn_id: str, label: str, named: NamedPaths) -> str | None:
        """Do nothing."""

    async def after_program(
        self, turn_id: str, label: str, also_named: NamedPaths | None = None, *, apart_from: Collection[Path] = ()
    ) -> ProgramEnd:
        """Do nothing."""
        return ProgramEnd()

    async def about_to_apply(self, plan: EditPlan) -> None:
        """Do nothing."""

    async def applied(self, plan: EditPlan) -> None:
        """Do nothing."""


class TurnCheckpoints(Struct, frozen=True, kw_only=True):
    """The checkpointer of one turn; `warn` receives messages for the user."""

    checkpointer: Checkpointer
    turn_id: str
    warn: Callable[[str], Awaitable[None]]

    async def before_change(self, label: str) -> None:
        """Return once the files are saved, or the user is warned that they cannot be."""
        await self._tell(await self.checkpointer.before_change(self.turn_id, label))

    @asynccontextmanager
    async def around_program(self, label: str, named: NamedPaths) -> AsyncGenerator[None]:
        """Make what a program changes in this context reversible, even if it fails or is cancelled."""
        await self.before_program(label, named)
        try:
            yield
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCELLED_S):
                    await self.checkpointer.after_program(self.turn_id, label)
            raise
        except BaseException:
            await self.after_program(label)
            raise
        await self.after_program(label)

    async def before_program(self, label: str, named: NamedPaths) -> None:
        """Prepare for a program; `after_program` must be called."""
        await self._tell(await self.checkpointer.before_program(self.turn_id, label, named))

    async def after_program(
        self, label: str, also_named: NamedPaths | None = None, *, apart_from: Collection[Path] = ()
    ) -> ProgramEnd:
        """Return what the program changed."""
        end = await self.checkpointer.after_program(self.turn_id, label, also_named, apart_from=apart_from)
        await self._tell(end.problem)
        return end

    async def _tell(self, problem: str | None) -> None:
        if problem is not None:
            await self.warn(problem)
