"""The tool with which the model finds tools whose definitions are left out of its requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.errors import ToolError

MAX_FOUND = 8
"""Maximum number of tools that one search adds to the requests."""

MAX_LINE_CHARS = 200


def search_tool(on_demand: Sequence[Tool]) -> Tool:
    """Return the tool that finds these, whose description names their servers, and `editor` for the editor's tools."""
    servers = Counter(_source_of(each) for each in on_demand)
    listed = ", ".join(f"{name} ({number} tools)" for name, number in servers.items())

    async def search_tools(
        context: ToolContext,
        query: Annotated[str, Meta(description="Words for what the tool has to do, or a part of its name.")],
    ) -> str:
        found = context.find_tools(query, MAX_FOUND)
        if not found:
            raise ToolError(f"No tool fits {query!r}. The servers are: {listed}.")
        lines = [f"- {each.name}: {one_line(each.description, MAX_LINE_CHARS)}" for each in found]
        return "\n".join(["These tools can be called now:", *lines])

    search_tools.__doc__ = (
        f"Find tools of MCP servers or of the editor, which can be called once they are found. Servers: {listed}."
    )
    declare = tool(
        risk=ToolRisk.LOW, category=ToolCategory.MCP, kind="search", title="Find tools: {query}", read_only=True
    )
    return declare(search_tools)


def _source_of(tool: Tool) -> str:
    return "editor" if tool.category is ToolCategory.EDITOR else tool.name.split("__")[1]
