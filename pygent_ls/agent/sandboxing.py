"""Whether a call runs in the sandbox, and what the user is told and asked where it cannot."""

from __future__ import annotations

from dataclasses import dataclass

from pygent_ls.agent.tool import Tool
from pygent_ls.agent.workspace import Processes, SandboxState
from pygent_ls.errors import ToolError


@dataclass(slots=True)
class SandboxConsent:
    """A session's memory of a "for this session": commands may run although the sandbox cannot be set up."""

    given: bool = False


async def sandbox_for(tool: Tool, processes: Processes) -> SandboxState:
    """What holds for a call of this tool. Raises `ToolError` where the settings require a sandbox that is not there."""
    if not tool.sandboxed:
        return SandboxState(kind="off")
    state = await processes.sandbox()
    if state.required and state.kind != "on":
        raise ToolError(
            f"{tool.name} was not run: the settings require the sandbox, and there is none now. {state.reason} "
            "Go on without running programs, or tell the user."
        )
    return state


def note_on(state: SandboxState) -> str:
    """What a prompt says beside the command."""
    return " (not sandboxed)" if state.kind == "missing" else ""


def question_about(state: SandboxState, action: str) -> str:
    """What the user is asked before a call leaves a sandbox that failed."""
    return f"{action}\nThe sandbox cannot be set up: {state.reason}\nRun it without the sandbox?"
