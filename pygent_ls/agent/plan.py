"""What the model means to do: the entries of the tool `plan`, kept for the session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygent_ls.agent.events import PlanEntry


@dataclass(slots=True)
class Plan:
    """The plan as the model wrote it last; a subagent has one of its own."""

    entries: tuple[PlanEntry, ...] = ()

    @property
    def open_entries(self) -> tuple[PlanEntry, ...]:
        """What is not done."""
        return tuple(each for each in self.entries if each.status != "completed")


SetPlan = Callable[[Sequence["PlanEntry"]], Awaitable[None]]
"""Takes the whole plan in place of the one before, and tells of it."""


async def no_plan(_entries: Sequence[PlanEntry]) -> None:
    """Where no plan is kept."""
