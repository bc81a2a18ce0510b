"""The tool with which the model keeps notes about the workspace."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError


@tool(risk=ToolRisk.MEDIUM, category=ToolCategory.AGENT, kind="edit", title="Notes: + {note} − {replaces}")
async def remember(
    context: ToolContext,
    note: Annotated[str, Meta(description="The note: one fact, in one or two sentences. Empty to remove one.")],
    replaces: Annotated[str, Meta(description="Whole text of the note that it replaces or that is removed.")] = "",
) -> str:
    """Keep a note about this workspace for later sessions, such as how its tests are run or what the user wants to be
    done always. Use it if the user asks you to remember something, or for a fact that took long to find and that the
    project's own files do not say."""
    if context.notes is None:
        raise ToolError("Notes are not available here.")
    if await context.masks.text(note) != note:
        raise ToolError("A note must not contain a secret. Name the place where it is kept instead.")
    await context.notes.change(note, replaces)
    return f"The notes are saved in {context.notes.path}, where the user can change them."
