"""Context in which the daemon itself calls tools that only read, with the session's rules and masks."""

from __future__ import annotations

from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.tool import ToolContext


async def _discard(_: str) -> None:
    return


def reading_context(services: SessionServices) -> ToolContext:
    """Return the context of one call."""
    return ToolContext(
        tool_id="",
        session_id=services.memory.session_id,
        workspace=services.environment.workspace,
        processes=services.environment.processes,
        working_directory=services.environment.working_directory,
        reads=services.memory.reads,
        masks=services.memory.secrets.masks,
        report=_discard,
        reading=services.memory.permissions.reading(),
        sandboxed=False,
    )
