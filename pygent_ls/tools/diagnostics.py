"""Tool that lists the editor's diagnostics."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.context.editor_text import masked_problems, problems_text
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.rules.read_rules import left_out
from pygent_ls.agent.tools.tool import ToolContext, is_withheld, tool


@tool(risk=ToolRisk.LOW, category=ToolCategory.SEARCH, kind="read", title="Look at the problems {path}", read_only=True)
async def diagnostics(
    context: ToolContext,
    path: Annotated[str, Meta(description="A file, or a folder to include all files below it.")] | None = None,
) -> str:
    """List the errors and warnings that the user's editor shows, from compilers, linters and language servers.

    It lists only what the editor has reported, and runs nothing. After an edit, give the editor's checkers a moment, or
    run the project's own checks with run_tests or shell.

    Raises:
        ToolError: the path is outside the workspace.
    """
    scope = None if path is None else context.workspace.resolve(path)
    told = await context.editor.problems()
    if told is None:
        return context.editor.why_silent
    below = [file for file in told if scope is None or scope in (file.path, *file.path.parents)]
    found = [file for file in below if not is_withheld(context, file.path)]
    if scope is not None and not below:
        return (
            f"The editor has reported nothing about {context.workspace.shown(scope)}: there may be no problems, "
            "or it was not checked. To be sure, call run_tests or run a linter with shell."
        )
    return "\n".join(
        [
            problems_text(await masked_problems(found, context.masks.text), context.workspace.shown),
            *left_out(len(below) - len(found)),
        ]
    )
