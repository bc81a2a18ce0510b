"""Subagents: turns within a turn, each with its own history, that count as part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from msgspec.structs import replace

from pygent_ls.agent.messages import Message
from pygent_ls.agent.ports.processes import BackgroundJob, JobEnd
from pygent_ls.agent.ports.subagents import MAX_AT_ONCE, MAX_DEPTH, SubagentReport, SubagentTask
from pygent_ls.agent.turn.state import Delegate, DelegateTo, TurnResult, TurnState
from pygent_ls.agent.turn.structured_answer import NOT_FOR_SUBAGENTS
from pygent_ls.agent.variants import without
from pygent_ls.errors import ToolError

TASK = "task"

ONLY_ABOVE = {TASK: f"is not offered to a subagent's subagent: subagents may be nested {MAX_DEPTH} deep"}


RunTurn = Callable[[Delegate, list[Message]], Awaitable[TurnResult]]
"""Runs the turn of a subagent over a history that it extends; a cancellation propagates."""

Keep = Callable[[str], Awaitable[None]]
"""Takes what a subagent in the background does, as text."""

RunDetached = Callable[[Delegate, list[Message], Keep], Awaitable[TurnResult]]
"""Runs the turn of a subagent like `RunTurn`, independently of the end of its parent."""

STARTED = (
    "{name} was started in the background. Go on with your work: its report comes once, in a later message, when it "
    "has ended. Wait for it only if you can do nothing else: shell_output with shell_id {name} and wait_s waits, and "
    "shell_kill stops it."
)


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
    run_detached: RunDetached

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(MAX_AT_ONCE if self.state.depth == 0 else 1)

    async def run(self, tool_id: str, task: SubagentTask) -> SubagentReport:
        """Run a subagent for the call with that id. Raises `ToolError` if it cannot begin."""
        depth = self.state.depth
        if depth >= MAX_DEPTH or self.delegate is None:
            raise ToolError("A subagent may not start another subagent here. Do it yourself.")
        if task.background:
            return await self._start(tool_id, task, self.delegate)
        async with self._free:
            made = await self._made(tool_id, task, self.delegate)
            history: list[Message] = []
            return _report(made, await self.run_turn(made, history), history)

    async def _made(self, tool_id: str, task: SubagentTask, delegate: DelegateTo) -> Delegate:
        made = await delegate(tool_id, task, self.state.context)
        spec, tools = made.spec, made.services.tools
        if spec.output_schema is not None:  # only the turn itself gives the structured answer
            spec, tools = replace(spec, output_schema=None), without(tools, NOT_FOR_SUBAGENTS)
        if self.state.depth + 1 == MAX_DEPTH:
            tools = without(tools, ONLY_ABOVE)
        return Delegate(spec=spec, services=replace(made.services, tools=tools))

    async def _start(self, tool_id: str, task: SubagentTask, delegate: DelegateTo) -> SubagentReport:
        """Start a subagent in the background, and report that. Raises `ToolError`."""
        if self.state.depth > 0:
            raise ToolError("A subagent cannot start one in the background. Call task without `background`.")
        made = await self._made(tool_id, task, delegate)

        async def work(keep: Keep) -> JobEnd:
            history: list[Message] = []
            report = _report(made, await self.run_detached(made, history, keep), history)
            return JobEnd(report=report.in_words, has_failed=not report.is_complete)

        context = self.state.context
        name = await context.environment.processes.background.start_job(
            context.memory.session_id, BackgroundJob(title=made.spec.prompt, run=work)
        )
        return SubagentReport(agent=made.spec.agent, stop_reason="end_turn", text=STARTED.format(name=name))


def _report(made: Delegate, result: TurnResult, history: list[Message]) -> SubagentReport:
    return SubagentReport(
        agent=made.spec.agent,
        stop_reason=result.stop_reason,
        text=_last_words(history),
        problem=result.error.message if result.error else "",
    )


def _last_words(history: list[Message]) -> str:
    """Return its last text, whichever message contains it."""
    return next((each.text for each in reversed(history) if each.role == "assistant" and each.text.strip()), "")
