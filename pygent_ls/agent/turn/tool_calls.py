"""Tool calls of one answer: announced, run in batches, and each answered once in the history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.calls.batches import run_batches
from pygent_ls.agent.calls.call_hooks import user_feedback
from pygent_ls.agent.calls.call_record import CallRecord, record_of, results_of, tool_call
from pygent_ls.agent.calls.executor import run_call
from pygent_ls.agent.context.instructions import block_of, without_secrets
from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.kinds import ToolCategory
from pygent_ls.agent.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.agent.turn.limits import Stop
from pygent_ls.agent.turn.loop_detection import LoopDetector
from pygent_ls.agent.turn.state import TurnState

CANCELLED_RESULT = (
    "Cancelled: the turn was stopped before this call finished. It may have changed something, so check before you "
    "rely on it."
)

NOT_BEGUN_RESULT = "Cancelled: stopped before it began; nothing changed."

LIMIT_RESULT = "Not run: the turn reached its limit before this call."


class ToolCalls(Struct, kw_only=True):
    """Tool calls of one turn. Whatever happens, each call has exactly one result in the history afterwards."""

    state: TurnState
    loops: LoopDetector = field(default_factory=LoopDetector)

    async def run(self, calls: Sequence[ToolUseBlock]) -> Stop | None:
        """Run all calls of an answer, and append their results to the history. Return why the turn should stop, if it
        should."""
        records = self._records(calls)
        notes: list[TextBlock] = []
        stop: Stop | None = None
        try:
            await self._announce(records)
            await self._run_all(records)
            found = self._find_loop(records)
            if isinstance(found, TextBlock):
                notes.append(found)
            else:
                stop = found
            notes[:0] = await self._instructions_near(records)
        finally:  # providers reject a history with an unanswered call
            await self._answer(records, NOT_BEGUN_RESULT, notes)
        return stop

    async def refuse(self, calls: Sequence[ToolUseBlock], result: str) -> None:
        """Run none of the calls, and say so in the history."""
        records = self._records(calls)
        try:
            await self._announce(records)
        finally:
            await self._answer(records, result)

    def _records(self, calls: Sequence[ToolUseBlock]) -> list[CallRecord]:
        return [record_of(self.state.context, call) for call in calls]

    async def _announce(self, records: Sequence[CallRecord]) -> None:
        for record in records:
            record.is_announced = True
            item_id = self.state.call_items.pop(record.asked.id, "")
            await self.state.emit(replace(tool_call(self.state.context, record), item_id=item_id))

    async def _run_all(self, records: Sequence[CallRecord]) -> None:
        """Run the calls in batches that do not conflict; the call that gives the turn's answer runs last."""
        structured, run = self.state.structured, partial(run_call, self.state.context)
        others, gives = structured.in_order(records)
        await run_batches(others, run)
        structured.begins_with(others)
        await run_batches(gives, run)
        structured.ends_with(gives)

    def _find_loop(self, records: Sequence[CallRecord]) -> TextBlock | Stop | None:
        """Return a stop if the model is in a loop; the first time, a warning for the model instead."""
        is_polling = any(each.tool is not None and each.tool.polls for each in records)
        return self.loops.note([each.asked for each in records], results_of(records), is_polling=is_polling)

    async def _answer(self, records: Sequence[CallRecord], otherwise: str, notes: Sequence[TextBlock] = ()) -> None:
        """Append every call's result to the history; `otherwise` for a call that never began."""
        not_run: list[ToolResult] = []
        for record in records:
            if record.result is None:
                content = CANCELLED_RESULT if record.has_begun else otherwise
                record.result = ToolResultBlock(
                    tool_use_id=record.asked.id, content=content, is_error=True, from_outside=False
                )
                if record.is_announced:
                    not_run.append(_not_run(record, content))
        feedback = [
            user_feedback(each.asked.name, f"The user allowed this call and said: {each.feedback}")
            for each in records
            if each.feedback
        ]
        remarks = [remark for each in records for remark in each.remarks]
        images = [block for each in records if each.images for block in _labelled_images(each)]
        blocks = (*results_of(records).values(), *images, *feedback, *remarks, *notes)
        self.state.keep(user_message(blocks, turn_id=self.state.spec.turn_id))
        for result in not_run:
            await self.state.emit(result)

    async def _instructions_near(self, records: Sequence[CallRecord]) -> list[TextBlock]:
        """Return the project's instructions for the files that these calls read or changed, unless given already."""
        environment, memory = self.state.context.environment, self.state.context.memory
        paths = list(self.state.context.share.files_changed)
        for each in records:
            is_done = each.result is not None and not each.result.is_error
            if is_done and each.tool and each.tool.category is ToolCategory.FILESYSTEM:
                paths += each.paths
        found = await environment.instructions.near(paths, memory.permissions.reading())
        return [block_of(await without_secrets(each, memory.secrets)) for each in found]


def _labelled_images(record: CallRecord) -> tuple[Block, ...]:
    """Return the images of a result after the name of its call: most providers take only text inside of a result."""
    path = record.asked.input.get("path")
    call = f"{record.asked.name} of {path}" if record.paths and isinstance(path, str) else record.asked.name
    return (TextBlock(text=f"Images in the result of {call}:"), *record.images)


def _not_run(record: CallRecord, content: str) -> ToolResult:
    """Return the result event of a call that was announced but has no result of its own."""
    return ToolResult(
        tool_id=record.asked.id,
        tool_name=record.asked.name,
        content=content,
        is_error=True,
        cached=False,
        truncated=False,
        duration_s=0.0,
    )
