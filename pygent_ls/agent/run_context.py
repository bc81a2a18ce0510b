"""Run context of a turn or of one of its subagents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import field

from pygent_ls.agent.edits.checkpointer import TurnCheckpoints
from pygent_ls.agent.events import AgentEvent, Notice
from pygent_ls.agent.hook_runner import HookRunner
from pygent_ls.agent.ports.subagents import RunSubagentOf, TurnShare, no_subagents_for
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.turn_spec import TurnSpec

Emit = Callable[[AgentEvent], Awaitable[None]]
"""Sends an event of the turn to the front ends."""


class RunContext(SessionServices, frozen=True, kw_only=True):
    """Everything that a turn, or one of its subagents, works with. An agent switch replaces the whole value."""

    spec: TurnSpec
    emit: Emit
    hooks: HookRunner
    share: TurnShare = field(default_factory=TurnShare)
    run_subagent: RunSubagentOf = no_subagents_for

    @property
    def checkpoints(self) -> TurnCheckpoints:
        """Checkpointer of this turn."""

        async def warn(problem: str) -> None:
            await self.emit(Notice(content=problem, level="warning"))

        return TurnCheckpoints(checkpointer=self.memory.checkpointer, turn_id=self.spec.turn_id, warn=warn)
