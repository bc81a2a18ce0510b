"""Events of a tool call before it runs, and the facts that decide which calls may run in parallel."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from pygent_ls.agent.calls.batches import PlannedCall
from pygent_ls.agent.events import Location, ToolCall, ToolResult
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.tools.tool import MAX_PATHS, Tool, path_arguments
from pygent_ls.errors import ToolError


def tool_call(call: ToolUseBlock, around: RunContext) -> ToolCall:
    """Return the event that announces a call, before permission is requested."""
    tool = around.tools.get(call.name)
    return ToolCall(
        tool_id=call.id,
        tool_name=call.name,
        input=call.input,
        title=tool.title_for(call.input) if tool else call.name,
        kind=tool.kind if tool else "other",
        risk=tool.risk if tool else ToolRisk.LOW,
        read_only=tool.read_only if tool else False,
        locations=tuple(Location(path=path) for path in paths_of(call, tool, around)),
    )


def planned(call: ToolUseBlock, around: RunContext) -> PlannedCall:
    """Return the call and what decides whether it may run in parallel; an unknown tool counts as read-only."""
    tool = around.tools.get(call.name)
    return PlannedCall(
        call=call,
        read_only=tool.read_only if tool else True,
        paths=tuple(path.as_posix() for path in paths_of(call, tool, around)),
    )


def not_run(call: ToolUseBlock, content: str) -> ToolResult:
    """Return the result event of a call that was announced but has no result of its own."""
    return ToolResult(
        tool_id=call.id,
        tool_name=call.name,
        content=content,
        is_error=True,
        cached=False,
        truncated=False,
        duration_s=0.0,
    )


def paths_of(call: ToolUseBlock, tool: Tool | None, around: RunContext) -> list[Path]:
    """Return the paths that the arguments name, at most `MAX_PATHS`, without those outside the workspace. A call with
    too many paths, or one outside, is refused when it runs."""
    follow = tool is None or tool.kind not in ("delete", "move")
    found: list[Path] = []
    named = tool.paths_in(call.input) if tool else path_arguments(call.input)
    for path in islice(named, MAX_PATHS):
        try:
            found.append(around.workspace.resolve(path, follow=follow))
        except ToolError:
            continue
    return found
