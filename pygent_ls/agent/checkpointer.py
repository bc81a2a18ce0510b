"""The checkpointer port: how a turn's changes can be taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from pygent_ls.agent.named_paths import NamedPaths
from pygent_ls.agent.workspace import EditPlan

CANCELLED_S = 1.0
"""How long a cancelled turn waits to learn what its program had changed; beyond that it counts as the user's."""


class Checkpointer(Protocol):
    """Keeps the workspace as it was before the agent changes it, and remembers what the agent wrote.

    Nothing is raised: where the workspace cannot be kept, the reason is returned for the user to read, once a turn,
    and the change goes on.
    """

    async def before_change(self, turn_id: str, label: str) -> str | None:
        """A tool is about to change files; the first in a turn makes a checkpoint, which is there on return."""
        ...

    async def before_program(self, turn_id: str, label: str, named: NamedPaths) -> str | None:
        """A program is about to run that may change anything; makes a checkpoint, which is there on return."""
        ...

    async def after_program(self, turn_id: str, label: str) -> str | None:
        """The program of the last `before_program` has ended. What differs on the disk since then is its doing where
        its command line names it, and may be anyone's elsewhere; what the editor or another session told of is not."""
        ...

    async def about_to_apply(self, plan: EditPlan) -> None:
        """A plan is about to be carried out, and may wait for the user: what it replaces and deletes is kept, and what
        it writes is the agent's doing, also if the daemon dies before `applied`."""
        ...

    async def applied(self, plan: EditPlan) -> None:
        """A plan was carried out: what it wrote is the agent's doing, what the user typed since is not."""
        ...


class NoCheckpoints:
    """The port where there is nothing to keep."""

    async def before_change(self, turn_id: str, label: str) -> str | None:
        """Nothing."""

    async def before_program(self, turn_id: str, label: str, named: NamedPaths) -> str | None:
        """Nothing."""

    async def after_program(self, turn_id: str, label: str) -> str | None:
        """Nothing."""

    async def about_to_apply(self, plan: EditPlan) -> None:
        """Nothing."""

    async def applied(self, plan: EditPlan) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnKeeper:
    """The checkpointer as a turn uses it: `warn` is told what the user should know."""

    checkpointer: Checkpointer
    turn_id: str
    warn: Callable[[str], Awaitable[None]]

    async def before_change(self, label: str) -> None:
        """Return when the files are kept, or cannot be."""
        await self._tell(await self.checkpointer.before_change(self.turn_id, label))

    @asynccontextmanager
    async def around_program(self, label: str, named: NamedPaths) -> AsyncGenerator[None]:
        """What a program inside changes can be taken back, also where it fails or is cancelled."""
        await self._tell(await self.checkpointer.before_program(self.turn_id, label, named))
        try:
            yield
        except asyncio.CancelledError:
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCELLED_S):
                    await self.checkpointer.after_program(self.turn_id, label)
            raise
        except BaseException:
            await self._tell(await self.checkpointer.after_program(self.turn_id, label))
            raise
        await self._tell(await self.checkpointer.after_program(self.turn_id, label))

    async def _tell(self, problem: str | None) -> None:
        if problem is not None:
            await self.warn(problem)
