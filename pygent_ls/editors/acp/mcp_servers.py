"""MCP servers that a client gives a session, as settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from acp.schema import HttpMcpServer, McpServerStdio

from pygent_ls.errors import SessionError

_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]+")


def settings_of(servers: Sequence[object]) -> Mapping[str, Any]:
    """Return the setting `mcpServers`. Raises `SessionError` for a kind of server that `initialize` did not offer."""
    table: dict[str, Any] = {}
    for server in servers:
        match server:
            case McpServerStdio():
                found: dict[str, Any] = {
                    "command": server.command,
                    "args": list(server.args),
                    "env": {each.name: each.value for each in server.env},
                }
            case HttpMcpServer():
                found = {"url": server.url, "headers": {each.name: each.value for each in server.headers}}
            case _:
                raise SessionError(
                    "mcpServers: only servers on standard input and output, and over HTTP, can be used.",
                    kind="unusable_server",
                )
        table[_UNUSABLE.sub("-", server.name).strip("-") or "server"] = found
    return table
