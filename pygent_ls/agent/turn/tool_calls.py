"""Tool calls of one answer: announced, run in batches, and each answered once in the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pygent_ls.agent.calls.batches import run_batches
from pygent_ls.agent.calls.executor import ToolExecutor
from pygent_ls.agent.calls.tool_events import not_run, paths_of, planned, tool_call
from pygent_ls.agent.context.instructions import block_of, without_secrets
from pygent_ls.agent.kinds import ToolCategory
from pygent_ls.agent.messages import TextBlock, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.agent.ports.subagents import CallScope, RunSubagentOf, no_subagents_for
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.turn.limits import Stop
from pygent_ls.agent.turn.loop_detection import LoopDetector
from pygent_ls.agent.turn.state import TurnState

CANCELLED_RESULT = (
    "Cancelled: the turn was stopped before this call finished. It may have changed something, so check before you "
    "rely on it."
)

NOT_BEGUN_RESULT = "Cancelled: stopped before it began; nothing changed."

LIMIT_RESULT = "Not run: the turn reached its limit before this call."


@dataclass(kw_only=True)
class ToolCalls:
    """Tool calls of one turn. Whatever happens, each call has exactly one result in the history afterwards."""

    state: TurnState
    run_subagent: RunSubagentOf = no_subagents_for
    circles: LoopDetector = field(default_factory=LoopDetector)
    _announced: set[str] = field(default_factory=set[str])
    _instructions: tuple[TextBlock, ...] = ()
    """Instructions found for files that the calls read or changed, not given yet."""
    _told: tuple[TextBlock, ...] = ()
    """Warning to the model about a loop, to be given with the results."""

    def __post_init__(self) -> None:
        state, spec = self.state, self.state.spec
        standing = CallScope(
            share=state.share,
            source=spec.source,
            parent_tool_id=spec.parent_tool_id,
            ceiling=spec.ceiling,
            run_subagent=self.run_subagent,
        )
        self._guard = ToolExecutor(
            around=state.around,
            turn_id=spec.turn_id,
            emit=state.emit,
            hooks=state.hooks,
            standing=standing,
        )

    def use(self, around: RunContext) -> None:
        """Use the tools of another run context from now on."""
        self._guard.use(around)

    @property
    def files_changed(self) -> tuple[FileChange, ...]:
        """Changes that the calls have made so far."""
        return tuple(self._guard.files_changed.values())

    async def run(self, calls: Sequence[ToolUseBlock]) -> Stop | None:
        """Run all calls of an answer, and append their results to the history. Return why the turn should stop, if it
        should."""
        stop: Stop | None = None
        try:
            await self._announce(calls)
            await self._run_all(calls)
            stop = self._circling(calls)
            self._instructions = await self._instructions_near(calls)
        finally:  # providers reject a history with an unanswered call
            await self._answer_all(calls, NOT_BEGUN_RESULT)
        return stop

    async def _run_all(self, calls: Sequence[ToolUseBlock]) -> None:
        """Run the calls in batches that do not conflict; the call that gives the turn's answer runs last."""
        structured, results = self.state.structured, self._guard.results
        others, gives = structured.in_order(calls)
        await run_batches([planned(call, self.state.around) for call in others], self._guard.run)
        structured.begins_with(others, results)
        await run_batches([planned(call, self.state.around) for call in gives], self._guard.run)
        structured.ends_with(gives, results)

    async def refuse(self, calls: Sequence[ToolUseBlock], result: str) -> None:
        """Run none of the calls, and say so in the history."""
        try:
            await self._announce(calls)
        finally:
            await self._answer_all(calls, result)

    def _circling(self, calls: Sequence[ToolUseBlock]) -> Stop | None:
        """Return the stop if the model is in a loop; the first time it is warned beside the results instead."""
        tools = [self.state.around.tools.get(call.name) for call in calls]
        seen = self.circles.note(calls, self._guard.results, is_polling=any(tool and tool.polls for tool in tools))
        if isinstance(seen, TextBlock):
            self._told = (seen,)
            return None
        return seen

    async def _announce(self, calls: Sequence[ToolUseBlock]) -> None:
        for call in calls:
            self._announced.add(call.id)
            await self.state.emit(tool_call(call, self.state.around))

    async def _answer_all(self, calls: Sequence[ToolUseBlock], otherwise: str) -> None:
        """Append every call's result to the history; `otherwise` for a call that never began."""
        results = self._guard.results
        missing = {
            call.id: ToolResultBlock(
                tool_use_id=call.id,
                content=CANCELLED_RESULT if call.id in self._guard.begun else otherwise,
                is_error=True,
                from_outside=False,
            )
            for call in calls
            if call.id not in results
        }
        answered = tuple(results.get(call.id) or missing[call.id] for call in calls)
        remarks = (*self._guard.remarks_on(calls), *self._instructions, *self._told)
        self._instructions = self._told = ()
        self.state.keep(user_message((*answered, *remarks), turn_id=self.state.spec.turn_id))
        for call in calls:
            if call.id in missing and call.id in self._announced:
                await self.state.emit(not_run(call, missing[call.id].content))

    async def _instructions_near(self, calls: Sequence[ToolUseBlock]) -> tuple[TextBlock, ...]:
        """Return the project's instructions for the files that these calls read or changed, unless given already."""
        around = self.state.around
        paths = list(self._guard.files_changed)
        for call in calls:
            tool, result = around.tools.get(call.name), self._guard.results.get(call.id)
            if tool and tool.category is ToolCategory.FILESYSTEM and result and not result.is_error:
                paths += paths_of(call, tool, around)
        found = await around.instructions.near(paths, around.permissions.reading())
        return tuple([block_of(await without_secrets(each, around.secrets)) for each in found])
