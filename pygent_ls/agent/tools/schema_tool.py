"""Tools of other programs, whose arguments a JSON Schema describes in place of a Python signature."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from pygent_ls.agent.kinds import ToolCategory
from pygent_ls.agent.ports.model import ToolDefinition
from pygent_ls.agent.tools.tool import Tool

_REFUSED_AT_TOP = frozenset({"$schema", "$id", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"})
"""Keywords that providers refuse at the top of a tool's schema."""


class SchemaTool(Tool, frozen=True, kw_only=True):
    """Tool whose program validates the arguments itself. The braces in its `title` name only `{arguments}`, which
    stands for all of them as JSON."""

    stays_in_workspace: bool = False
    schema: Mapping[str, Any]
    """Schema of the arguments, as the program declares it."""

    @cached_property
    def definition(self) -> ToolDefinition:
        """Definition that the model is given: always an object, without keywords that providers refuse."""
        kept = {key: value for key, value in self.schema.items() if key not in _REFUSED_AT_TOP}
        properties = kept.get("properties")
        kept |= {"type": "object", "properties": properties if isinstance(properties, Mapping) else {}}
        return ToolDefinition(name=self.name, description=self.description, schema=kept)

    def validate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as they are."""
        return dict(given)

    def _named(self, given: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        return [("arguments", json.dumps(given, ensure_ascii=False) if given else "")]


def source_of(tool: Tool) -> str:
    """Return where a tool comes from: `editor`, `mcp:SERVER`, `own` for the user's files and packages, or `pygent`."""
    if tool.category is ToolCategory.EDITOR:
        return "editor"
    if tool.name.startswith("mcp__"):
        return f"mcp:{tool.name.split('__')[1]}"
    return "own" if isinstance(tool, SchemaTool) else "pygent"
