"""Tools that read, write to and end background commands, which `shell` starts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.processes import BackgroundState
from pygent_ls.agent.tools.tool import ToolContext, tool

MAX_WAIT_S = 600.0
"""Maximum wait of a call for a command: ten minutes."""

ShellId = Annotated[str, Meta(min_length=1, description="The shell_id that shell returned.")]


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SHELL,
    kind="read",
    title="Read {shell_id}",
    read_only=True,
    timeout_s=None,
    polls=True,
)
async def shell_output(
    context: ToolContext,
    shell_id: ShellId,
    wait_s: Annotated[float, Meta(ge=0, le=MAX_WAIT_S, description="Seconds to wait for the command to end.")] = 0,
) -> str:
    """Return the output of a background command since it was last read, and whether the command still runs.

    Raises:
        ToolError: the command does not exist.
    """
    return _told(await context.processes.background.read(context.session_id, shell_id, wait_s))


@tool(risk=ToolRisk.HIGH, category=ToolCategory.SHELL, kind="execute", title="Write to {shell_id}: {text}")
async def shell_input(
    context: ToolContext,
    shell_id: ShellId,
    text: Annotated[str, Meta(min_length=1, description="The text; to send a line, end it with a line feed.")],
) -> str:
    """Write to the standard input of a background command.

    Raises:
        ToolError: the command does not exist, has ended, or does not read.
    """
    await context.processes.background.write(context.session_id, shell_id, text)
    return f"Wrote {len(text)} characters to {shell_id}."


@tool(risk=ToolRisk.LOW, category=ToolCategory.SHELL, kind="execute", title="End {shell_id}")
async def shell_kill(context: ToolContext, shell_id: ShellId) -> str:
    """Stop a background command and all processes that it started, and return its unread output.

    Raises:
        ToolError: the command does not exist.
    """
    return _told(await context.processes.background.end(context.session_id, shell_id))


def _told(state: BackgroundState) -> str:
    output = state.output.rstrip("\n") or "(nothing new)"
    if state.exit_code is None:
        ending = "still running"
    elif state.exit_code < 0:
        ending = f"ended by signal {-state.exit_code}"
    else:
        ending = f"exit code {state.exit_code}"
    left_out = f"; {state.omitted_chars} characters in the middle were left out" if state.omitted_chars else ""
    held = f"; an unfinished line of {state.held_chars} characters is not shown yet" if state.held_chars else ""
    return f"{output}\n[{ending}{left_out}{held}]"
