"""The tool with which the model reads a skill."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.skills import MAIN_FILE
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.AGENT,
    kind="read",
    title="Read the skill {name} {file}",
    read_only=True,
)
async def read_skill(
    context: ToolContext,
    name: Annotated[str, Meta(description="Name of the skill.")],
    file: Annotated[str, Meta(description="Path of a file in the folder of the skill.")] = MAIN_FILE,
) -> str:
    """Read the instructions of a skill, or another file of it."""
    if context.skills is None:
        raise ToolError("Skills are not available here.")
    skill, text = await context.skills.read(name, file)
    shown = await context.masks.text(text, str(skill.folder / file))
    return f"[{file} of the skill {name}; its other files are in {skill.folder}]\n{shown}"
