"""Read-only access to the workspace, as tools have it, for what the user names in a prompt."""

from __future__ import annotations

from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.tool import ToolContext


async def _report(_: str) -> None:
    """Drop the report."""


def looking_around(services: SessionServices) -> ToolContext:
    """Return the context of a read-only tool call in this session."""
    return ToolContext(
        tool_id="",
        session_id=services.memory.session_id,
        workspace=services.environment.workspace,
        processes=services.environment.processes,
        working_directory=services.environment.working_directory,
        reads=services.memory.reads,
        masks=services.memory.secrets.masks,
        report=_report,
        reading=services.memory.permissions.reading(),
        symbols=services.environment.symbols,
        sandboxed=False,
    )
