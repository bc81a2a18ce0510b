"""An MCP server for tests, made with the SDK: it adds, dies, fails, counts slowly, grows a tool, and has
resources and a prompt.

Options: `--noisy` writes a banner to standard output first, `--flood` writes text without end,
`--http` serves on a free port of loopback, which is the first line of output, `--many` has 200 more tools. `PID_FILE`
names a file for its process id.
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import sys
from pathlib import Path
from typing import Any, Literal

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp_types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ImageContent,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from pydantic import BaseModel

server = MCPServer("toy")

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
"""A picture of one pixel."""

MANY = 200
"""Number of tools that `--many` adds."""


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"the sum is {a + b}"


@server.tool()
def die() -> str:
    """End the server."""
    sys.stderr.write("out of cheese\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(why)


@server.tool(annotations=ToolAnnotations(destructive_hint=False))
async def count(to: int, ctx: Context[Any, Any]) -> str:
    """Count, with progress; at 3 it waits to be cancelled, and writes that it was."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
    if to == 3:
        try:
            await asyncio.Event().wait()
        finally:
            Path(os.environ["PID_FILE"]).with_name("cancelled").write_text("yes")
    return "counted"


class Order(BaseModel):
    """What the shop has to know."""

    fruit: Literal["plum", "pear"]
    amount: int
    wrap: bool
    note: str = "none"


@server.tool()
async def order(ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Order fruit; the user is asked for the details."""
    if ctx.input_responses is None:
        form = ElicitRequestFormParams(message="What do you want?", requested_schema=Order.model_json_schema())
        return InputRequiredResult(input_requests={"order": ElicitRequest(params=form)})
    return ctx.input_responses["order"].model_dump_json(exclude_none=True)


@server.tool()
async def think(ctx: Context[Any, Any]) -> str | InputRequiredResult:
    """Ask the model of the client."""
    if ctx.input_responses is None:
        asked = SamplingMessage(role="user", content=TextContent(text="Which fruit?"))
        params = CreateMessageRequestParams(messages=[asked], max_tokens=50, system_prompt="Be brief.")
        return InputRequiredResult(input_requests={"fruit": CreateMessageRequest(params=params)})
    return ctx.input_responses["fruit"].model_dump_json(exclude_none=True)


@server.resource("toy://fruit/plum", description="All about plums", mime_type="text/plain")
def plum() -> str:
    """Tell about plums."""
    return "Plums are blue."


@server.resource("toy://dot", mime_type="image/png")
def dot() -> bytes:
    """Give the picture."""
    return base64.b64decode(DOT)


@server.resource("toy://fruit/{name}", description="All about any fruit")
def fruit(name: str) -> str:
    """Tell about a fruit."""
    return f"A {name} is a fruit."


@server.prompt(description="Review a fruit")
def review(fruit: str, tone: str = "kind") -> list[Message]:
    """Ask for a review."""
    seen = UserMessage(content=ImageContent(data=DOT, mime_type="image/png"))
    return [UserMessage(content=f"Review the {fruit} in a {tone} tone."), seen]


@server.tool()
def mutter(text: str) -> str:
    """Write to the log."""
    sys.stderr.write(f"{text}\nand more")
    sys.stderr.flush()
    return "said"


@server.tool()
async def grow(ctx: Context[Any, Any], what: Literal["tool", "prompt", "resource"] = "tool") -> str:
    """Add a tool, a prompt or a resource to the server."""
    match what:
        case "tool":
            server.add_tool(lambda: "grown", name="grown", description="A new tool.")
            await ctx.notify_tools_changed()
        case "prompt":
            server.prompt(name="grown")(lambda: "grown")
            await ctx.notify_prompts_changed()
        case "resource":
            server.resource("toy://grown", name="grown")(lambda: "grown")
            await ctx.notify_resources_changed()
    return f"there is a new {what}"


@server.tool(structured_output=False)
def look() -> CallToolResult:
    """Look at a picture, and at one that is broken."""
    dot = ImageContent(data=DOT, mime_type="image/png")
    return CallToolResult(content=[dot, ImageContent(data="aGVsbG8=", mime_type="image/png"), TextContent(text="plum")])


@server.tool()
def whoami(ctx: Context[Any, Any]) -> str:
    """Show the key that the request was sent with."""
    return (ctx.headers or {}).get("x-key", "")


def say(text: str) -> None:
    """Write a line to standard output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve."""
    if "PID_FILE" in os.environ:
        with Path(os.environ["PID_FILE"]).open("a") as file:
            file.write(f"{os.getpid()}\n")
    for number in range(MANY if "--many" in sys.argv else 0):

        def pick(fruit: str, count: int = 1, ripe: bool = True) -> str:
            return f"{count} of {fruit}"

        description = f"Pick fruit from tree number {number}, which stands in the garden behind the house. " * 5
        server.add_tool(pick, name=f"pick_from_tree_{number}", description=description)
    if "--noisy" in sys.argv:
        say('a banner that is no message\n{"also": "none"}')
    while "--flood" in sys.argv:
        say("debug " * 1000)
    if "--http" in sys.argv:
        listening = socket.create_server(("127.0.0.1", 0))
        say(str(listening.getsockname()[1]))
        app = server.streamable_http_app(host="127.0.0.1")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
    else:
        server.run()


if __name__ == "__main__":
    main()
