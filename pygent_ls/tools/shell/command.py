"""Tool that runs commands."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.shell.portability import is_portable

MAX_TIMEOUT_S = 3_600.0
"""Maximum time limit of a call: an hour."""

MAX_OUTPUT_CHARS = 200_000
"""Maximum length kept of a command's output, head and tail. The model is shown a part of it and can read the rest
later.
"""

LONG_S = 1.0
"""Minimum duration that is reported."""


@cache
def shell_tool(default_timeout_s: float, place: str = "") -> Tool:
    """Return the `shell` tool; commands without their own limit are ended after `default_timeout_s`. They run on this
    machine, or at a `place` such as `in the container NAME`."""

    @tool(
        risk=ToolRisk.HIGH,
        category=ToolCategory.SHELL,
        kind="execute",
        title="{cd}{command}",
        timeout_s=None,
        runs_programs=True,
        sandboxed=True,
        runs_commands=True,
    )
    async def shell(
        context: ToolContext,
        command: Annotated[str, Meta(min_length=1, description="The command line.")],
        cwd: Annotated[str, Meta(description="The folder to run it in (default: the session's own).")] = "",
        timeout_s: Annotated[
            float,
            Meta(gt=0, le=MAX_TIMEOUT_S, description="Time limit in seconds, if the command needs longer than usual."),
        ]
        | None = None,
        *,
        background: Annotated[bool, Meta(description="Run in the background, and return a shell_id at once.")] = False,
        description: Annotated[
            str, Meta(description="Purpose of the command in five to ten words, for the user.")
        ] = "",
    ) -> str:
        """Run a command in bash and return its output and exit code.

        Run servers, watchers and long-running commands with `background`: read them with shell_output, write to them
        with shell_input, stop them with shell_kill. A background command has no time limit, and ends with the session.

        There is no terminal and no standard input: pass flags that answer questions, such as --yes. Processes that the
        command leaves behind are ended with it. To read, search or change files, use the tools for that instead of cat,
        grep or sed.

        Raises:
            ToolError: the shell or the folder does not exist.
        """
        limit_s = timeout_s or default_timeout_s
        spec = ProcessSpec(
            argv=(*_shell(context, command), command),
            cwd=_folder(context, cwd),
            timeout_s=limit_s,
            max_output_chars=MAX_OUTPUT_CHARS,
            sandboxed=context.sandboxed,
            was_allowed=True,
        )
        if background:
            shell_id = await context.commands.background.start(
                context.session_id, spec, context.masks.live(context.shows_lines_of)
            )
            return f"Started in the background as {shell_id}. Read its output with shell_output."
        result = await context.run_command(spec)
        context.exit_code = result.exit_code
        return _told(result, limit_s)

    limit = f"It is stopped after {default_timeout_s:g} s unless timeout_s says otherwise."
    where = (
        f"\n\nCommands run {place}, not on this machine: programs, files outside the workspace and absolute paths are "
        "those of that place, where the workspace has another path. Name files in commands by relative paths; `cwd` is "
        "a folder of the workspace as other tools name it."
    )
    return replace(shell, description=f"{shell.description}\n\n{limit}{where if place else ''}")


def _shell(context: ToolContext, command: str) -> tuple[str, ...]:
    """Return the shell that interprets the command as the analysis did. Raises `ToolError`."""
    if program := context.commands.find("bash"):
        return program, "-c"
    if program := context.commands.find("sh"):
        if is_portable(command):
            return program, "-c"
        raise ToolError(
            "bash is not installed where commands run, and sh would read this command differently. Write it for POSIX "
            "sh."
        )
    raise ToolError("Neither bash nor sh is installed on this machine, so commands cannot be run.")


def _folder(context: ToolContext, cwd: str) -> Path:
    """Return the working directory; the session's by default."""
    return context.workspace.resolve(cwd) if cwd else context.working_directory


def _told(result: ProcessResult, limit_s: float) -> str:
    """Format the output, then how the command ended: the end survives if the middle of a long result is cut."""
    output = result.stdout.rstrip("\n") or "(no output)"
    facts = [_ending(result, limit_s)]
    if result.duration_s >= LONG_S and not result.timed_out:
        facts.append(f"{result.duration_s:.1f} s")
    if result.omitted_chars:
        facts.append(
            f"{result.omitted_chars} characters in the middle of the output were left out: write it to a file, or "
            "filter it with head, tail or grep"
        )
    return f"{output}\n[{'; '.join(facts)}]"


def _ending(result: ProcessResult, limit_s: float) -> str:
    if result.timed_out:
        return (
            f"timed out: stopped after {limit_s:g} s, before it was done; set timeout_s if it needs longer, and "
            "do not start commands that never end"
        )
    if result.exit_code < 0:
        return f"ended by signal {-result.exit_code}"
    return f"exit code {result.exit_code}"
