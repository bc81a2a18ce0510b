"""Subagents: turns within a turn, each with its own history, that count as part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from pygent_ls.agent.messages import Message
from pygent_ls.agent.ports.subagents import MAX_AT_ONCE, MAX_DEPTH, SubagentReport, SubagentTask
from pygent_ls.agent.turn.state import Delegate, TurnResult, TurnState
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
    run_turn: RunTurn

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(MAX_AT_ONCE if self.state.depth == 0 else 1)

    async def run(self, tool_id: str, task: SubagentTask) -> SubagentReport:
        """Run a subagent for the call with that id. Raises `ToolError` if it cannot begin."""
        state = self.state
        if state.depth >= MAX_DEPTH or state.spec.delegate is None:
            raise ToolError("A subagent may not start another subagent here. Do it yourself.")
        async with self._free:
            made = _without_answer(await state.spec.delegate(tool_id, task, state))
            if state.depth + 1 == MAX_DEPTH:
                tools = without(made.around.tools, ONLY_ABOVE)
                made = Delegate(spec=made.spec, around=replace(made.around, tools=tools))
            history: list[Message] = []
            result = await self.run_turn(made, history)
        return SubagentReport(
            agent=made.spec.agent,
            stop_reason=result.stop_reason,
            text=_last_words(history),
            problem=result.error.message if result.error else "",
        )


def _without_answer(made: Delegate) -> Delegate:
    """Remove the structured answer, which only the turn itself gives."""
    if made.spec.output_schema is None:
        return made
    tools = without(made.around.tools, NOT_FOR_SUBAGENTS)
    return Delegate(spec=replace(made.spec, output_schema=None), around=replace(made.around, tools=tools))


def _last_words(history: list[Message]) -> str:
    """Return its last text, whichever message contains it."""
    return next((each.text for each in reversed(history) if each.role == "assistant" and each.text.strip()), "")
