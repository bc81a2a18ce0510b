"""Results of tool calls: masked, truncated if too long, kept for the history, and emitted in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pygent_ls.agent.calls.batches import MyTurn
from pygent_ls.agent.context.untrusted_text import OWN_WORDS
from pygent_ls.agent.edits.commit import is_being_cancelled, to_its_end
from pygent_ls.agent.events import AgentEvent, ToolProgress, ToolResult
from pygent_ls.agent.messages import ToolResultBlock, ToolUseBlock
from pygent_ls.agent.ports.output_store import READER
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.agent.truncation import cut
from pygent_ls.secrets.stream import LiveRedactor

Emit = Callable[[AgentEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of a tool call."""

    content: str
    is_error: bool = False
    is_denied: bool = False
    cached: bool = False
    changes: tuple[FileChange, ...] = ()
    from_outside: bool = True
    """Whether the content comes from outside, as in `ToolResultBlock`."""
    exit_code: int | None = None
    """Exit code of the command that the call ran, as in `ToolResult`."""


@dataclass(kw_only=True)
class ToolResults:
    """Finishes the calls of one turn. Each then has one result in `results`, and one event that reports it."""

    around: RunContext
    emit: Emit
    results: dict[str, ToolResultBlock]
    _live: dict[str, LiveRedactor] = field(default_factory=dict[str, LiveRedactor])

    def live(self, call: ToolUseBlock, tool: Tool) -> Callable[[str], Awaitable[None]]:
        """Return a callback that takes the call's output as it comes, and emits it without secrets."""
        live = self._live[call.id] = self.around.secrets.live(call, tool)

        async def report(content: str) -> None:
            if shown := await live.feed(content):
                await self.emit(ToolProgress(tool_id=call.id, content=shown))

        return report

    async def keep(self, call: ToolUseBlock, outcome: Outcome, duration_s: float) -> ToolResult:
        """Keep what the model will read, even if the turn is cancelled meanwhile; return the event to emit."""
        outcome, content = await to_its_end(self._shown(call, outcome))
        truncated = content is not outcome.content
        self.results[call.id] = ToolResultBlock(
            tool_use_id=call.id,
            content=content,
            is_error=outcome.is_error,
            from_outside=outcome.from_outside and call.name not in OWN_WORDS,
        )
        return ToolResult(
            tool_id=call.id,
            tool_name=call.name,
            content=content,
            is_error=outcome.is_error,
            cached=outcome.cached,
            truncated=truncated,
            duration_s=duration_s,
            changes=outcome.changes,
            exit_code=outcome.exit_code,
        )

    async def tell(self, result: ToolResult, my_turn: MyTurn) -> None:
        """Emit the result of a call in its turn. Raises the cancellation that arrived while the call was finished."""
        with suppress(asyncio.CancelledError):  # a finished call is reported even if the turn is cancelled
            await my_turn()
        await self.emit(result)
        if is_being_cancelled():  # not raised before: the call changed a file, or only waited to be reported
            raise asyncio.CancelledError

    async def _shown(self, call: ToolUseBlock, outcome: Outcome) -> tuple[Outcome, str]:
        """Return the outcome without secrets, and what the model reads of its content; if that is not all, the whole
        content is kept."""
        outcome = await self._without_secrets(call, outcome)
        content, limit = outcome.content, self.around.max_tool_result_chars
        hint = ""
        if len(content) > limit and self.around.tools.get(READER):
            hint = await self.around.outputs.keep(call.id, call.name, content)
        return outcome, cut(content, call.name, limit, hint)[0]

    async def _without_secrets(self, call: ToolUseBlock, outcome: Outcome) -> Outcome:
        """Return the outcome as the model and the front ends see it, after emitting what was held back of its live
        output."""
        live = self._live.pop(call.id, None)
        if live and (rest := await live.close()):
            await self.emit(ToolProgress(tool_id=call.id, content=rest))
        secrets = self.around.secrets
        content = await secrets.masked_result(call, self.around.tools.get(call.name), outcome.content)
        return replace(outcome, content=content, changes=await secrets.masked_changes(outcome.changes))
