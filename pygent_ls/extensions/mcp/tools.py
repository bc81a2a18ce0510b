"""Tools of MCP servers as the model is offered them, and their results as it reads them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pygent_ls.agent.context.images import picture_from_base64
from pygent_ls.agent.display_text import on_one_line, visible
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.messages import ImageBlock
from pygent_ls.agent.tools.schema_tool import SchemaTool
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.errors import ToolError

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents, ToolAnnotations
    from mcp_types import Tool as McpTool

PREFIX = "mcp__"

MAX_NAME_CHARS = 64
"""Maximum length of a tool's name that all providers accept."""

MAX_DESCRIPTION_CHARS = 2_000
"""Maximum length of a description that the model is given: about 500 tokens, as in Claude Code."""

MAX_SCHEMA_CHARS = 20_000
"""Maximum length of a tool's schema as JSON, which each request contains: about 5,000 tokens."""

MAX_IMAGES = 10
"""Maximum number of images in one result: they stay in all further requests of the session."""

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
        text, images = model_text(result.content, result.structured_content)
        context.images += images
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


def model_text(content: Sequence[ContentBlock], structured: Any = None) -> tuple[str, list[ImageBlock]]:
    """Return what the model reads of a server's content, and the images. A structured result that no text repeats is
    shown as JSON."""
    images: list[ImageBlock] = []
    parts = [_text_of(each, images) for each in content]
    if structured is not None and not _repeats(parts, structured):
        parts.append(json.dumps(structured, ensure_ascii=False, indent=2))
    return "\n".join(parts), images


def _repeats(parts: Sequence[str], structured: Any) -> bool:
    """Whether the texts contain all of a structured result. Many servers wrap what is not an object as `result`."""
    told = [_value(each) for each in parts]
    results: list[Any] = [structured]
    if isinstance(structured, dict) and (members := cast("dict[str, Any]", structured)).keys() == {"result"}:
        results.append(members["result"])
    return any(each in told or each in parts or each in (told, parts) for each in results)


def _value(text: str) -> Any:
    """Return the value that a text is as JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _text_of(block: ContentBlock, images: list[ImageBlock]) -> str:
    """Return the text of a block; add it to the images if it is one."""
    match block.type:
        case "text":
            return block.text
        case "image":
            return _image(block.mime_type, block.data, images)
        case "audio":
            return f"[audio: {block.mime_type}, {len(block.data) * 3 // 4:,} bytes, which cannot be shown here]"
        case "resource_link":
            return f"[resource: {block.uri}{f' ({block.description})' if block.description else ''}]"
        case "resource":
            return text_of_resource(block.resource, images)


def text_of_resource(resource: TextResourceContents | BlobResourceContents, images: list[ImageBlock]) -> str:
    """Return the text of a resource; add it to the images if it is one."""
    from mcp_types import TextResourceContents

    if isinstance(resource, TextResourceContents):
        return resource.text
    if (resource.mime_type or "").startswith("image/"):
        return _image(resource.mime_type or "", resource.blob, images)
    n_bytes = len(resource.blob) * 3 // 4
    return f"[{resource.uri}: {resource.mime_type or 'binary data'}, {n_bytes:,} bytes, which cannot be shown here]"


def _image(mime_type: str, data: str, images: list[ImageBlock]) -> str:
    if len(images) >= MAX_IMAGES:
        return f"[image: {mime_type}, left out: a result may have {MAX_IMAGES} images]"
    try:
        images.append(picture_from_base64(data, "The image"))
    except ToolError as error:
        return f"[image: {mime_type}, which cannot be shown. {error}]"
    return f"[image: {mime_type}, see below]"
