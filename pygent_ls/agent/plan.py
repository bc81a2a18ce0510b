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

    @property
    def text(self) -> str:
        """As the model is reminded of it; empty where nothing is left to do."""
        if not self.open_entries:
            return ""
        lines = [f"- {each.status.replace('_', ' ')}: {each.content}" for each in self.entries]
        return "\n".join(["Current plan:", *lines])


SetPlan = Callable[[Sequence["PlanEntry"]], Awaitable[None]]
"""Takes the whole plan in place of the one before, and tells of it."""


async def no_plan(_entries: Sequence[PlanEntry]) -> None:
    """Where no plan is kept."""
