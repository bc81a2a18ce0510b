"""LuaCATS types of the wire protocol, generated from the daemon's JSON Schema.

No library is used, because the names differ from the schema's: the daemon's types of outgoing values end in `Out`, an
LSP range has two definitions, and the names of the event types do not all end in `Event`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

HEADER = """\
---@meta
-- Generated from docs/protocol.schema.json by `make docs`: change the daemon, not this file.
-- The client decodes `null` as `nil`, except for items of arrays.
"""

RENAMED = {"ModeOut": "SessionMode", "ChangeOut": "FileChange"}
"""Definitions whose own name is unclear outside the daemon."""

OF_THE_EDITOR = {"RangeOut", "WireRange", "PositionOut", "WirePosition"}
"""Definitions for which Neovim has types that its functions take: `lsp.Range` and `lsp.Position`."""

UNIONS = (
    ("Event", "An event of a turn, identified by `type`.", "EventsOut", "events"),
    ("Item", "An item of a conversation, identified by `type`.", "PutOut", "item"),
    (
        "PromptAttachment",
        "An attachment of a prompt: its location, without its content.",
        "PromptItemOut",
        "attachments",
    ),
    ("ToolStatus", "State of a tool call.", "ToolItemOut", "status"),
    ("ContentBlock", "A part of a prompt.", "TurnStartParams", "prompt"),
    ("MessageBlock", "A part of a message.", "MessageOut", "content"),
    ("Mode", "Permission mode.", "ModeOut", "mode"),
    ("StopReason", "Why a turn ended.", "FinishedOut", "stopReason"),
    ("ToolKind", "Kind of tool.", "ToolCallOut", "kind"),
    ("Risk", "Risk of a tool call.", "ToolCallOut", "risk"),
    ("ChangeKind", "How a file changed.", "ChangeOut", "kind"),
    ("PermissionAnswer", "Outcome of a permission request.", "PermissionOptionOut", "kind"),
    ("ErrorType", "Kind of error of a model call.", "TurnErrorOut", "type"),
    ("ExportFormat", "Format of a session export.", "SessionExportParams", "format"),
)
"""Unions that the schema repeats at each use: the name, its description, and a definition and field that use it."""

ADDED = {
    "TextItemOut": ("parts string[] the pieces as they came, in place of `text`; what replaces them is another table",),
    "ThinkingItemOut": ("parts string[] as those of a text",),
    "ToolItemOut": (
        "output_parts string[] the last pieces, in place of `output`",
        "output_bytes integer of all pieces that are kept",
        "children pygent.Item[] what a subagent did",
    ),
    "EndItemOut": ("untold? integer[] how many more rejected changes of each file the model is not told of yet",),
    "TurnOut": ("is_taken_back? boolean the user went back to before it: the model knows nothing of it",),
}
"""Fields that `lua/pygent/conversation/` adds to values of the wire, in place of those that it removes."""

PLAIN = {
    "string": "string",
    "boolean": "boolean",
    "integer": "integer",
    "number": "number",
    "null": "nil",
}


def wire_types(wire: Schema) -> str:
    """The text of `protocol.lua`. Raises `ValueError` for a schema without a Lua equivalent."""
    bare = _Names(_definition_names(wire), {})
    unions = [(name, text, bare.type_of(_union_at(wire, *place))) for name, text, *place in UNIONS]
    names = _Names(bare.definitions, {members: f"pygent.{name}" for name, _, members in unions})
    parts = [
        HEADER,
        *(_alias(name, text, members.split("|")) for name, text, members in unions),
        *_definitions(wire, names),
        _alias("Method", "Methods of the requests to the daemon.", [json.dumps(method) for method in wire["requests"]]),
        _exchanges("Requests", "Requests of the editor to the daemon, with their results.", wire["requests"], names),
        _exchanges(
            "ClientRequests", "Requests of the daemon to the editor, with their results.", wire["clientRequests"], names
        ),
        _notices("Notifications", "Notifications of the daemon.", wire["notifications"], names),
        _notices("ClientNotifications", "Notifications of the editor.", wire["clientNotifications"], names),
        _notices("CommandResults", "Results of the commands of `workspace/executeCommand`.", wire["commands"], names),
        _version(wire["protocolVersion"]),
    ]
    return "\n".join(parts)


def _version(number: int) -> str:
    return (
        "---@class pygent.protocol\n"
        "---@field VERSION integer The protocol version of these types.\n"
        f"return {{ VERSION = {number} }}\n"
    )


@dataclass(frozen=True)
class _Names:
    """Readable names: of definitions by their schema name, of unions by their text."""

    definitions: Mapping[str, str]
    unions: Mapping[str, str]

    def type_of(self, schema: Schema) -> str:
        if "$ref" in schema:
            return self.definitions[_last_part(schema["$ref"])]
        if "const" in schema:
            return json.dumps(schema["const"])
        alternatives = schema.get("anyOf") or schema.get("oneOf") or ()
        if "enum" in schema or alternatives:
            parts = [json.dumps(value) for value in schema.get("enum", ())] or [
                self.type_of(one) for one in alternatives
            ]
            union = "|".join(dict.fromkeys(parts))
            return self.unions.get(union, union)
        return self._plain(schema)

    def _plain(self, schema: Schema) -> str:
        kind = schema.get("type")
        if kind is None:
            return "any"
        if kind == "array":
            item = self.type_of(schema.get("items", {}))
            return f"({item})[]" if "|" in item else f"{item}[]"
        if kind == "object" and "properties" not in schema:
            values = schema.get("additionalProperties")
            return f"table<string, {'any' if values in (None, True) else self.type_of(values)}>"
        if kind not in PLAIN:
            raise ValueError(f"no Lua type is known for {schema}")
        return PLAIN[kind]

    def field_type(self, schema: Schema) -> tuple[str, bool]:
        """The type of a field without `nil`, and whether the field is nullable."""
        alternatives = schema.get("anyOf", ())
        if {"type": "null"} not in alternatives:
            return self.type_of(schema), False
        rest = [one for one in alternatives if one != {"type": "null"}]
        return self.type_of(rest[0] if len(rest) == 1 else {"anyOf": rest}), True


def _last_part(ref: str) -> str:
    return ref.rpartition("/")[2]


def _union_within(schema: Schema) -> Schema:
    """The outermost union of a field's schema: `A | B` for `string | (A | B)[]`."""
    alternatives = schema.get("anyOf") or schema.get("oneOf") or ()
    inner = schema.get("items") or next(
        (one for one in alternatives if one.get("type") == "array" or "enum" in one), None
    )
    return schema if inner is None else _union_within(inner)


def _union_at(wire: Schema, definition: str, field: str) -> Schema:
    schema = wire["$defs"].get(definition, {}).get("properties", {}).get(field)
    if schema is None:
        raise ValueError(f"the schema has no {definition}.{field}: correct UNIONS in scripts/wire_types.py")
    return _union_within(schema)


def _definition_names(wire: Schema) -> dict[str, str]:
    """`SessionOut` becomes `pygent.Session`; members of the event union end in `Event`."""
    events = {_last_part(member["$ref"]) for member in _union_at(wire, "EventsOut", "events")["anyOf"]}
    names: dict[str, str] = {}
    for name in wire["$defs"]:
        bare = RENAMED.get(name) or re.sub("^Wire", "", name.removesuffix("Out"))
        if name in events and not bare.endswith("Event"):
            bare += "Event"
        names[name] = f"lsp.{bare}" if name in OF_THE_EDITOR else f"pygent.{bare}"
    return names


def _definitions(wire: Schema, names: _Names) -> Iterator[str]:
    """All definitions, each name once. Raises `ValueError` if two types get the same name."""
    known: dict[str, str] = {f"pygent.{name}": "" for name, *_ in UNIONS}
    items = {_last_part(member["$ref"]) for member in _union_at(wire, "PutOut", "item")["anyOf"]}
    for original, schema in wire["$defs"].items():
        name = names.definitions[original]
        if original in OF_THE_EDITOR:
            continue
        added = list(ADDED.get(original, ()))
        if original in items:
            added.append("parent? pygent.ToolItem the call whose subagent it belongs to")
        source = _definition(name, schema, names) + "".join(f"---@field {each}\n" for each in added)
        if known.setdefault(name, source) != source:
            raise ValueError(
                f"two types of the schema would be called {name}: correct RENAMED in scripts/wire_types.py"
            )
        yield source


def _definition(name: str, schema: Schema, names: _Names) -> str:
    if schema.get("type") != "object" or "additionalProperties" in schema:
        return f"{_comment(schema)}---@alias {name} {names.type_of(schema)}\n"
    required = set(schema.get("required", ()))
    lines = [f"{_comment(schema)}---@class {name}\n"]
    for field, field_schema in schema.get("properties", {}).items():
        type_text, nullable = names.field_type(field_schema)
        mark = "?" if nullable or field not in required else ""
        text = " ".join(field_schema.get("description", "").split())
        lines.append(f"---@field {field}{mark} {type_text} {text}".rstrip() + "\n")
    return "".join(lines)


def _alias(name: str, text: str, members: list[str]) -> str:
    return f"--- {text}\n---@alias pygent.{name}\n" + "".join(f"---| {member}\n" for member in members)


def _comment(schema: Schema) -> str:
    lines = schema.get("description", "").splitlines()
    return "".join(f"--- {line}".rstrip() + "\n" for line in lines)


def _exchanges(name: str, text: str, methods: Mapping[str, Schema], names: _Names) -> str:
    fields = (
        f'---@field ["{method}"] {{ params: {names.type_of(one["params"])}, result: {names.type_of(one["result"])} }}\n'
        for method, one in methods.items()
    )
    return f"--- {text}\n---@class pygent.{name}\n" + "".join(fields)


def _notices(name: str, text: str, methods: Mapping[str, Schema], names: _Names) -> str:
    fields: list[str] = []
    for key, schema in methods.items():
        method, params = key.split(" ")[0], names.type_of(schema)
        # The schema has only the value of a `$/progress`; LSP defines the parameters around it.
        shape = f"{{ token: string|integer, value: {params} }}" if method == "$/progress" else params
        fields.append(f'---@field ["{method}"] {shape}\n')
    return f"--- {text}\n---@class pygent.{name}\n" + "".join(fields)
