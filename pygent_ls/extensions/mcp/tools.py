"""Tools of MCP servers as the model is offered them, and their results as it reads them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pygent_ls.agent.display_text import on_one_line, visible
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.tools.schema_tool import SchemaTool
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.errors import ToolError

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock, ToolAnnotations
    from mcp_types import Tool as McpTool

PREFIX = "mcp__"

MAX_NAME_CHARS = 64
"""Maximum length of a tool's name that all providers accept."""

MAX_DESCRIPTION_CHARS = 2_000
"""Maximum length of a description that the model is given: about 500 tokens, as in Claude Code."""

MAX_SCHEMA_CHARS = 20_000
"""Maximum length of a tool's schema as JSON, which each request contains: about 5,000 tokens."""

CallTool = Callable[[str, Mapping[str, Any], Callable[[str], Awaitable[None]]], Awaitable["CallToolResult"]]
"""Calls the server's tool of that name. Raises `ToolError`."""


def tools_of(server: str, listed: Sequence[McpTool], call: CallTool) -> tuple[list[Tool], list[str]]:
    """Return a server's tools by its name in the settings, and a line about each tool that cannot be offered."""
    found: dict[str, Tool] = {}
    problems: list[str] = []
    for each in listed:
        name = tool_name(server, each.name)
        if name in found:
            problems.append(f"{on_one_line(each.name)} is left out: another tool has the same name.")
        elif len(json.dumps(each.input_schema)) > MAX_SCHEMA_CHARS:
            problems.append(f"{on_one_line(each.name)} is left out: its schema is longer than {MAX_SCHEMA_CHARS:,}.")
        else:
            found[name] = _tool(server, name, each, call)
    return list(found.values()), problems


def tool_name(server: str, tool: str) -> str:
    """Return `mcp__SERVER__TOOL`, with a digest in place of the end of a name that is too long."""
    name = PREFIX + "__".join(re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in (server, tool))
    if len(name) <= MAX_NAME_CHARS:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME_CHARS - 9]}_{digest}"


def _tool(server: str, name: str, listed: McpTool, call: CallTool) -> Tool:
    async def run(context: ToolContext, /, **arguments: Any) -> str:
        result = await call(listed.name, arguments, context.report)
        text = text_of_result(result)
        if result.is_error:
            raise ToolError(text or "The server reports an error without a message.")
        return text

    description = visible((listed.description or listed.title or "").strip())
    if len(description) > MAX_DESCRIPTION_CHARS:
        description = f"{description[:MAX_DESCRIPTION_CHARS]}…"
    shown = re.sub(r"[{}]", "", on_one_line(f"{server}: {listed.name}"))
    return SchemaTool(
        name=name,
        description=description,
        risk=_risk(listed.annotations),
        category=ToolCategory.MCP,
        kind="other",
        run=run,
        title=f"{shown} {{arguments}}",
        read_only=_reads_only(listed.annotations),
        timeout_s=None,
        schema=listed.input_schema,
    )


def _reads_only(hints: ToolAnnotations | None) -> bool:
    return hints is not None and hints.read_only_hint is True


def _risk(hints: ToolAnnotations | None) -> ToolRisk:
    """Return the risk by the server's own hints. They are not proven, so no call passes without a rule; a tool that
    declares nothing may destroy, as the specification says."""
    is_harmless = _reads_only(hints) or (hints is not None and hints.destructive_hint is False)
    return ToolRisk.MEDIUM if is_harmless else ToolRisk.HIGH


def text_of_result(result: CallToolResult) -> str:
    """Return the text of a result. A structured result that no text repeats is shown as JSON."""
    parts = [_text_of(each) for each in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False, indent=2)]
    return "\n".join(parts)


def _text_of(block: ContentBlock) -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            n_bytes = len(block.data) * 3 // 4
            return f"[{block.type}: {block.mime_type}, {n_bytes:,} bytes, which cannot be shown here]"
        case "resource_link":
            return f"[resource: {block.uri}{f' ({block.description})' if block.description else ''}]"
        case "resource":
            inside = block.resource
            text = getattr(inside, "text", None)
            return text if isinstance(text, str) else f"[resource: {inside.uri}, {inside.mime_type or 'binary'}]"
