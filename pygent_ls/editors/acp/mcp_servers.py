"""MCP servers that a client gives a session, as settings. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from pygent_ls.errors import SessionError

_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]+")


def settings_of(servers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the setting `mcpServers`. Raises `SessionError` for a kind of server that `initialize` did not offer."""
    found: dict[str, Any] = {}
    for each in servers:
        name = shown = _UNUSABLE.sub("-", str(each.get("name"))).strip("-") or "server"
        others = count(2)
        while name in found:
            name = f"{shown}-{next(others)}"
        found[name] = _entry(each)
    return found


def _entry(server: Mapping[str, Any]) -> Mapping[str, Any]:
    match server:
        case {"type": "http", "url": str(url), "headers": [*headers]}:
            return {"url": url, "headers": _named(headers)}
        case {"command": str(command), "args": [*args], "env": [*env]}:
            return {"command": command, "args": args, "env": _named(env)}
        case _:
            raise SessionError(
                "mcpServers: only servers on standard input and output, and over HTTP, can be used.",
                kind="unusable_server",
            )


def _named(pairs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pairs}
