"""Resources of MCP servers: attached by the user with `@SERVER:URI`, and read by the model with tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pygent_ls.agent.display_text import on_one_line
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.messages import ImageBlock
from pygent_ls.agent.ports.resources import Resource, ResourceContent, ServerResources
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.tools import text_of_resource

if TYPE_CHECKING:
    from mcp_types import ReadResourceResult, ResourceTemplate
    from mcp_types import Resource as McpResource

MAX_DESCRIPTION_CHARS = 200

MAX_LISTED = 200
"""Maximum number of resources in one list for the model."""


def resources_of(server: str, listed: Sequence[McpResource]) -> list[Resource]:
    """Return a server's resources."""
    return [_resource(server, each.uri, each) for each in listed]


def templates_of(server: str, listed: Sequence[ResourceTemplate]) -> list[Resource]:
    """Return a server's templates, whose addresses have placeholders."""
    return [_resource(server, each.uri_template, each) for each in listed]


def _resource(server: str, uri: str, listed: McpResource | ResourceTemplate) -> Resource:
    described = listed.description or listed.title or listed.name
    return Resource(server=server, uri=uri, description=on_one_line(described)[:MAX_DESCRIPTION_CHARS])


def content_of(result: ReadResourceResult) -> ResourceContent:
    """Return the content as the model reads it."""
    images: list[ImageBlock] = []
    texts = [text_of_resource(each, images) for each in result.contents]
    return ResourceContent(text="\n".join(texts), images=tuple(images))


def resource_tools(resources: ServerResources, templates: Sequence[Resource]) -> list[Tool]:
    """Return the tools with which the model lists and reads resources. `templates` are addresses with placeholders."""

    @tool(
        risk=ToolRisk.MEDIUM,
        category=ToolCategory.MCP,
        kind="search",
        title="List resources of MCP servers: {query}",
        read_only=True,
    )
    async def list_mcp_resources(context: ToolContext, query: str = "") -> str:
        """List the resources of MCP servers whose names or descriptions contain the query; all without one."""
        del context
        lines = [
            f"{each.mention}: {each.description}"
            for each in (*resources.listed, *templates)
            if query.lower() in f"{each.mention} {each.description}".lower()
        ]
        more = [f"[{len(lines) - MAX_LISTED} more: use a query]"] if len(lines) > MAX_LISTED else []
        return "\n".join([*lines[:MAX_LISTED], *more]) or "No resources match."

    @tool(
        risk=ToolRisk.MEDIUM,
        category=ToolCategory.MCP,
        kind="read",
        title="Read {resource}",
        read_only=True,
        timeout_s=None,
    )
    async def read_mcp_resource(context: ToolContext, resource: str) -> str:
        """Read a resource of an MCP server, named as `list_mcp_resources` lists it: `SERVER:URI`."""
        content = await resources.read(resource)
        if content is None:
            raise ToolError(f"{resource!r} names no connected MCP server. Write `SERVER:URI`.")
        context.images += content.images
        return content.text

    return [list_mcp_resources, read_mcp_resource]
