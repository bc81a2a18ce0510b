"""Files of a workspace in which other programs name their MCP servers: `.mcp.json` and `.vscode/mcp.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pygent_ls.data_files import read_json_with_comments

MCP_FILES: Mapping[Path, str] = {Path(".mcp.json"): "mcpServers", Path(".vscode", "mcp.json"): "servers"}
"""Each file, relative to the workspace folder, with the key of its table of servers."""

_KEYS = ("command", "args", "env", "cwd", "url", "headers")
"""Keys with the same name and meaning in `[mcp_servers.NAME]`."""


def servers_in(text: str, key: str, folder: Path) -> dict[str, object]:
    """Return the servers as `[mcp_servers]` has them. Raises ValueError or RecursionError.

    `${workspaceFolder}` is the folder. Keys that only the other program knows are left out.
    """
    given = read_json_with_comments(text)
    servers: Any = cast("Mapping[str, Any]", given).get(key, {}) if isinstance(given, Mapping) else None
    if not isinstance(servers, Mapping):
        raise ValueError(f"{key} is not an object")
    return {str(name): _table(each, folder) for name, each in cast("Mapping[str, Any]", servers).items()}


def _table(given: Any, folder: Path) -> object:
    if not isinstance(given, Mapping):
        return given
    table = cast("Mapping[str, Any]", given)
    found = {name: _filled(table[name], folder) for name in _KEYS if name in table}
    return {**found, "enabled": False} if table.get("disabled") is True else found


def _filled(value: Any, folder: Path) -> Any:
    match value:
        case str():
            return value.replace("${workspaceFolder}", str(folder))
        case list():
            return [_filled(each, folder) for each in cast("list[Any]", value)]
        case dict():
            return {name: _filled(each, folder) for name, each in cast("dict[str, Any]", value).items()}
        case _:
            return value
