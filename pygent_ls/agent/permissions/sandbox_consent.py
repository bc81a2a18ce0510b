"""Whether a call runs in the sandbox, and what the user is told and asked if it cannot."""

from __future__ import annotations

from msgspec import Struct

from pygent_ls.agent.kinds import ToolCategory
from pygent_ls.agent.ports.processes import Processes, SandboxState
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import ToolError


class SandboxConsent(Struct):
    """Session's record of the answer "for this session": commands may run although the sandbox cannot be set up."""

    given: bool = False


async def sandbox_for(tool: Tool, processes: Processes) -> SandboxState:
    """Return the sandbox state for a call of this tool, whose commands run in `processes`. Raises `ToolError` if the
    settings require a sandbox that is not available, or if nothing can run there."""
    if not tool.sandboxed and not tool.command_argument:
        return SandboxState(kind="off")
    state = await processes.sandbox()
    if tool.command_argument:
        if state.required:
            raise ToolError(f"{tool.name} was not run: it runs outside of the sandbox, which the settings require.")
        return SandboxState(kind="off")
    if state.required and state.place:
        raise ToolError(
            f"{tool.name} was not run: the settings require the sandbox, and commands run {state.place}, outside of it."
        )
    if state.required and state.kind != "on":
        raise ToolError(
            f"{tool.name} was not run: the settings require the sandbox, which is not available. {state.reason} "
            "Continue without running programs, or tell the user."
        )
    return state


def confinement_of(tool: Tool, state: SandboxState) -> str:
    """Describe the confinement of a call to the user; empty if it runs no program and uses no network."""
    if tool.sandboxed:
        if state.place:
            return f"{state.place}, not in the sandbox"
        if state.kind != "on":
            return "not sandboxed"
        weakness = f"; {state.reason[0].lower()}{state.reason[1:].rstrip('.')}" if state.reason else ""
        return f"sandboxed, {'with' if state.has_network else 'no'} network{weakness}"
    if tool.category in (ToolCategory.SHELL, ToolCategory.MCP, ToolCategory.EDITOR) or tool.runs_programs:
        return "not sandboxed"
    return "uses the network" if tool.category is ToolCategory.WEB else ""


def question_about(state: SandboxState, action: str) -> str:
    """Return the question for the user before a call runs without a sandbox that failed."""
    return f"{action}\nThe sandbox cannot be set up: {state.reason}\nRun it without the sandbox?"
