"""Plan of the model: the entries of the tool `plan`, stored for the session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pygent_ls.agent.events import PlanEntry


class Plan(Struct):
    """Plan as the model wrote it last; a subagent has its own."""

    entries: tuple[PlanEntry, ...] = ()

    @property
    def open_entries(self) -> tuple[PlanEntry, ...]:
        """Entries that are not completed."""
        return tuple(each for each in self.entries if each.status != "completed")

    @property
    def text(self) -> str:
        """Plan as the model is reminded of it; empty if every entry is completed."""
        if not self.open_entries:
            return ""
        lines = [f"- {each.status.replace('_', ' ')}: {each.content}" for each in self.entries]
        return "\n".join(["Current plan:", *lines])


SetPlan = Callable[[Sequence["PlanEntry"]], Awaitable[None]]
"""Replaces the whole plan, and emits the new one."""


async def no_plan(_entries: Sequence[PlanEntry]) -> None:
    """Ignore the plan; for contexts without one."""
