"""Agents that a program or the command line defines, as entries of the setting `agents`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pygent_ls.agent.kinds import Mode
from pygent_ls.errors import SettingError
from pygent_ls.tools.catalog import check_tool

MODES_OF_CLAUDE: Mapping[str, Mode] = {"acceptEdits": "accept_edits", "bypassPermissions": "bypass"}
"""Permission modes, by the names that programs for Claude Code use."""

_FIELDS: Mapping[str, str] = {
    "description": "description",
    "prompt": "prompt",
    "tools": "tools",
    "disallowedTools": "disallowed_tools",
    "model": "model",
    "maxTurns": "max_iterations",
    "permissionMode": "mode",
    "effort": "effort",
}
"""Fields of an agent definition, with the names of the settings that they set. The names of the settings are accepted,
too."""


def agent_tables(given: object, known_tools: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return the settings tables by agent name. Raises `SettingError` that describes the problem. Types and modes are
    validated later, with the settings."""
    if not isinstance(given, Mapping):
        raise SettingError("expected an object that maps names to agents")
    return {
        str(name): _table(f"{name}", raw, known_tools) for name, raw in cast("Mapping[object, object]", given).items()
    }


def _table(name: str, raw: object, known_tools: Sequence[str]) -> dict[str, object]:
    if not isinstance(raw, Mapping):
        raise SettingError(f"{name}: expected an object")
    table: dict[str, object] = {}
    for key, value in cast("Mapping[str, Any]", raw).items():
        if value is None or (key, value) == ("model", "inherit"):
            continue
        field = _FIELDS.get(key, key)
        if field not in _FIELDS.values():
            raise SettingError(f"{name}: {key!r} is not supported; use {', '.join(_FIELDS)}")
        table[field] = MODES_OF_CLAUDE.get(str(value), value) if field == "mode" else value
    for field in ("tools", "disallowed_tools"):
        named = table.get(field)
        if isinstance(named, str):
            named = table[field] = [each.strip() for each in named.split(",") if each.strip()]
        for tool in cast("list[object]", named) if isinstance(named, list) else ():
            check_tool(f"{name}.{field}", str(tool), known_tools)
    return table
