"""Subagents: turns within a turn, each with its own history, that count as part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from pygent_ls.agent.messages import Message
from pygent_ls.agent.ports.subagents import MAX_AT_ONCE, MAX_DEPTH, SubagentReport, SubagentTask
from pygent_ls.agent.turn.state import Delegate, DelegateTo, TurnResult, TurnState
from pygent_ls.agent.turn.structured_answer import NOT_FOR_SUBAGENTS
from pygent_ls.agent.variants import without
from pygent_ls.errors import ToolError

TASK = "task"

ONLY_ABOVE = {TASK: f"is not offered to a subagent's subagent: subagents may be nested {MAX_DEPTH} deep"}


RunTurn = Callable[[Delegate, list[Message]], Awaitable[TurnResult]]
"""Runs the turn of a subagent over a history that it extends; a cancellation propagates."""


@dataclass(kw_only=True)
class Subagents:
    """Runs the subagents of one turn, or of one of its subagents.

    Up to `MAX_AT_ONCE` subagents of a turn run concurrently and the others wait; a subagent's own run one by one,
    within its slot.
    """

    state: TurnState
    delegate: DelegateTo | None
    """Makes a subagent; None if the turn may have none."""
    run_turn: RunTurn

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(MAX_AT_ONCE if self.state.depth == 0 else 1)

    async def run(self, tool_id: str, task: SubagentTask) -> SubagentReport:
        """Run a subagent for the call with that id. Raises `ToolError` if it cannot begin."""
        depth = self.state.depth
        if depth >= MAX_DEPTH or self.delegate is None:
            raise ToolError("A subagent may not start another subagent here. Do it yourself.")
        async with self._free:
            made = await self.delegate(tool_id, task, self.state.context)
            spec, tools = made.spec, made.services.tools
            if spec.output_schema is not None:  # only the turn itself gives the structured answer
                spec, tools = replace(spec, output_schema=None), without(tools, NOT_FOR_SUBAGENTS)
            if depth + 1 == MAX_DEPTH:
                tools = without(tools, ONLY_ABOVE)
            history: list[Message] = []
            result = await self.run_turn(Delegate(spec=spec, services=replace(made.services, tools=tools)), history)
        return SubagentReport(
            agent=spec.agent,
            stop_reason=result.stop_reason,
            text=_last_words(history),
            problem=result.error.message if result.error else "",
        )


def _last_words(history: list[Message]) -> str:
    """Return its last text, whichever message contains it."""
    return next((each.text for each in reversed(history) if each.role == "assistant" and each.text.strip()), "")
