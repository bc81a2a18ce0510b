"""Read-only access to the workspace, as tools have it, for what the user names in a prompt."""

from __future__ import annotations

from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.tools.tool import ToolContext


async def _report(_: str) -> None:
    """Drop the report."""


def looking_around(around: RunContext) -> ToolContext:
    """Return the context of a read-only tool call in this session."""
    return ToolContext(
        tool_id="",
        session_id=around.session_id,
        workspace=around.workspace,
        processes=around.processes,
        working_directory=around.working_directory,
        reads=around.reads,
        masks=around.secrets.masks,
        report=_report,
        reading=around.permissions.reading(),
        sandboxed=False,
    )
