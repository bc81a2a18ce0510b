"""The daemon with tools that behave badly: one writes to all that may be taken for the wire. Run as a program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.tools.tool import ToolContext, ToolRegistry, tool
from pygent_ls.app.application import Agent
from pygent_ls.app.blueprint import read_settings
from pygent_ls.config.settings import Settings
from pygent_ls.editors.lsp.daemon.stdio_server import serve
from pygent_ls.editors.ports import Blueprint, FrontEnd

HELD = b"held\n"
"""Written to standard error by a tool that will not come back."""


@tool(risk=ToolRisk.LOW, category=ToolCategory.SHELL, kind="other", title="Chatter")
async def chatter(context: ToolContext) -> str:
    """Print, write and let a child write; then say what the child could read."""
    print("printed by a tool", flush=True)  # noqa: T201
    sys.stdout.write("Content-Length: 2\r\n\r\n{}")
    os.write(1, b"Content-Length: 99\r\n\r\nwritten to descriptor 1\n")
    command = ["sh", "-c", "echo from a child; echo to its errors >&2; wc -c"]
    read = subprocess.run(command, stderr=subprocess.STDOUT, stdout=None, check=True)  # noqa: ASYNC221
    return f"{context.tool_id}: {read.returncode}"


@tool(risk=ToolRisk.LOW, category=ToolCategory.SHELL, kind="other", title="Snooze", timeout_s=None)
async def snooze(context: ToolContext) -> str:
    """Leave a thread behind that never ends."""
    os.write(2, HELD)
    await asyncio.to_thread(threading.Event().wait, 300.0)
    return context.tool_id


@tool(risk=ToolRisk.LOW, category=ToolCategory.SHELL, kind="other", title="Hog", timeout_s=None)
async def hog(context: ToolContext) -> str:
    """Hold the event loop itself."""
    os.write(2, HELD)
    threading.Event().wait(300.0)
    return context.tool_id


class ChattyAgent(Agent):
    """The agent with those tools."""

    def _tools(self, settings: Settings, found: set[str] | None = None) -> ToolRegistry:
        """All that are offered, and these."""
        return ToolRegistry([*super()._tools(settings, found).list_all(), chatter, snooze, hog])


class ChattyBlueprint:
    """The settings as they are, for another agent."""

    def __init__(self, options: Mapping[str, Any], folders: Sequence[Path]) -> None:
        self._read = read_settings(options, folders)

    @property
    def completes(self) -> bool:
        """Implement `Blueprint`."""
        return False

    @property
    def model(self) -> str:
        """Implement `Blueprint`."""
        return self._read.model

    @property
    def problems(self) -> Sequence[str]:
        """Implement `Blueprint`."""
        return self._read.problems

    def build(self, front_end: FrontEnd) -> Agent:
        """Implement `Blueprint`."""
        return ChattyAgent(self._read, front_end)


def read(options: Any, folders: Sequence[Path]) -> Blueprint:
    """A `ReadSettings`."""
    return ChattyBlueprint(options, folders)


if __name__ == "__main__":
    os._exit(serve(read))
