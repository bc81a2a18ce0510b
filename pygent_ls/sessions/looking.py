"""Looking around in the workspace as a tool does that only reads, for what the user names in a prompt."""

from __future__ import annotations

from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.tool import ToolContext


async def _report(_: str) -> None:
    """Nobody watches."""


def looking_around(around: Surroundings) -> ToolContext:
    """What such a tool is given in this session."""
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
