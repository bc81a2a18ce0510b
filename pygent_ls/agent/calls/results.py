"""Results of tool calls: masked, truncated if too long, and kept for the history."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.calls.call_record import CallRecord
from pygent_ls.agent.context.untrusted_text import OWN_WORDS
from pygent_ls.agent.edits.commit import to_its_end
from pygent_ls.agent.events import ToolProgress, ToolResult
from pygent_ls.agent.messages import ToolResultBlock
from pygent_ls.agent.ports.output_store import READER
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.truncation import cut


class Outcome(Struct, frozen=True, kw_only=True):
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


async def finalize(context: RunContext, record: CallRecord, outcome: Outcome, duration_s: float) -> ToolResult:
    """Set the result that the model will read, even if the turn is cancelled meanwhile; return the event to emit."""
    call = record.call
    outcome, content = await to_its_end(_shown(context, record, outcome))
    record.result = ToolResultBlock(
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
        truncated=content is not outcome.content,
        duration_s=duration_s,
        changes=outcome.changes,
        exit_code=outcome.exit_code,
    )


async def _shown(context: RunContext, record: CallRecord, outcome: Outcome) -> tuple[Outcome, str]:
    """Return the outcome without secrets, and what the model reads of its content; if that is not all, the whole
    content is kept. What was held back of the live output is emitted."""
    call, secrets = record.call, context.memory.secrets
    if record.live and (rest := await record.live.close()):
        await context.emit(ToolProgress(tool_id=call.id, content=rest))
    content = await secrets.masked_result(call, record.tool, outcome.content)
    outcome = replace(outcome, content=content, changes=await secrets.masked_changes(outcome.changes))
    limit, hint = context.environment.max_tool_result_chars, ""
    if len(content) > limit and context.tools.get(READER):
        hint = await context.memory.outputs.keep(call.id, call.name, content)
    return outcome, cut(content, call.name, limit, hint)[0]
