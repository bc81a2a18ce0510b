"""Tool that shows the map of the workspace."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.tools.search.repository_map import DEFAULT_TOKENS, MAX_FOCUS, NOTHING, MapRequest, repository_map

MIN_TOKENS, MAX_TOKENS = 100, 9_000
"""Limits of the size of a map, which a tool's result has room for."""


@cache
def repo_map_tool(default_tokens: int = DEFAULT_TOKENS) -> Tool:
    """Return the tool with the default size from the settings."""

    @tool(
        risk=ToolRisk.LOW,
        category=ToolCategory.SEARCH,
        kind="search",
        title="Map {path} {focus}",
        read_only=True,
        ttl_s=30,
        timeout_s=150,
    )
    async def repo_map(
        context: ToolContext,
        path: Annotated[str, Meta(description="The folder or file to map (default: the workspace).")] = ".",
        focus: Annotated[
            tuple[str, ...],
            Meta(
                max_length=MAX_FOCUS,
                description="Names and paths that the task is about; what they refer to ranks higher.",
            ),
        ] = (),
        max_tokens: Annotated[int, Meta(ge=MIN_TOKENS, le=MAX_TOKENS, description="Maximum size of the map.")]
        | None = None,
    ) -> str:
        """Show the most important definitions of the workspace by file: those that other files refer to most.

        Each line is `line: signature`. Use it to find your way in code that you do not know; then read the files. The
        languages are those of find_definition. Unsaved changes are included.

        Raises:
            ToolError: the path does not exist.
        """
        request = MapRequest(path=path, focus=focus, max_tokens=max_tokens or default_tokens)
        return await repository_map(context, request) or NOTHING

    return repo_map
