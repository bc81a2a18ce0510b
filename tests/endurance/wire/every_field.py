"""Every member of the parameters of every method, in turn, with every extreme value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from pygent_ls.editors.lsp import method_names, standard
from pygent_ls.editors.lsp.protocol.schema import wire_schema
from tests.endurance.wire.checked_client import END_S, BrokenPromiseError
from tests.endurance.wire.machine import LSP_NOTIFICATIONS, LSP_REQUESTS, UNSENT, WireMachine
from tests.endurance.wire.schema_values import Schema

EXTREMES: Sequence[Any] = (
    *(None, True, 0, -1, 2**31, 2**63, 2**64, -(2**63), 10**300, 1.5, 1e308, float("inf"), float("-inf"), float("nan")),
    *("", "a", "\ud800", "\0", "x" * 3_000, "file:///%00", "file://[", "/", "..", "~", "\n", "1"),
    *([], [[]], {}, {"a": 1}, [None], ["\ud800"], {"\ud800": "\udfff"}, [float("inf")]),
)
"""Values in place of any other; `json` writes infinity and NaN as words, which the daemon reads."""

FEW: Sequence[Any] = (None, -1, 10**300, float("inf"), float("nan"), "\ud800", "\0", [], {})
"""Values for the arguments of commands, which are many and start turns."""

ARGUMENTS: Sequence[list[Any]] = (
    ["@uri", 1, 2],
    ["@uri", {"range": {"start": {"line": 1, "character": 0}}, "message": "m"}],
    ["a", {"sessionId": "@live"}],
)

OTHERS: Mapping[str, type[msgspec.Struct]] = {
    "textDocument/didOpen": standard.DidOpenTextDocumentParams,
    "textDocument/didChange": standard.DidChangeTextDocumentParams,
    "textDocument/didSave": standard.DidSaveTextDocumentParams,
    "textDocument/didClose": standard.DidCloseTextDocumentParams,
    "workspace/didChangeWorkspaceFolders": standard.DidChangeWorkspaceFoldersParams,
}
"""Notifications that the steps of the machine send by themselves."""

KNOWN = {"sessionId": "@live", "uri": "@uri", "model": "@script", "cwd": "@folder", "checkpointId": "@checkpoint"}
"""Texts for members of these names, as in `schema_values`."""


def problems() -> Iterator[str]:
    """What the daemon did that it must not do, with the message that made it."""
    machine = WireMachine()
    try:
        machine.begin([], None, {})
        for method, params, is_request in _messages():
            yield from _problems_of(machine, method, machine.filled(params), is_request=is_request)
    finally:
        machine.client.kill()


def _problems_of(machine: WireMachine, method: str, params: Any, *, is_request: bool) -> Iterator[str]:
    client = machine.client
    try:
        if is_request:
            key = client.begin(method, params)
            client.probe()
            client.tell("$/cancelRequest", {"id": json.loads(key)})
            client.pump(lambda: key not in client.open_requests, END_S, method)
        else:
            client.tell(method, params)
            client.probe()
    except BrokenPromiseError as error:
        yield f"{method} {json.dumps(params)[:500]}: {error}"
        client.errors = ""
        client.open_requests.clear()
    if method in ("pygent/session/delete", "pygent/session/close"):
        machine.new_session()


def _messages() -> Iterator[tuple[str, Any, bool]]:
    """Method, parameters, and whether it is a request."""
    wire, defs = wire_schema(), wire_schema()["$defs"]
    schemas = [(name, each["params"], defs, True) for name, each in wire["requests"].items() if name not in UNSENT]
    schemas += [(name, wire["clientNotifications"][name], defs, False) for name in method_names.NOTIFICATIONS]
    for kinds, is_request in ((LSP_REQUESTS, True), ({**LSP_NOTIFICATIONS, **OTHERS}, False)):
        for name, kind in kinds.items():
            own = msgspec.json.schema(kind)
            schemas.append((name, own, own["$defs"], is_request))
    for name, schema, known, is_request in schemas:
        for whole in (True, False):
            for params in _with_extremes(_example(schema, known, whole=whole), EXTREMES):
                yield name, params, is_request
    for command in method_names.COMMANDS:
        for given in ARGUMENTS:
            for arguments in _with_extremes(given, FEW):
                yield "workspace/executeCommand", {"command": command, "arguments": arguments}, True


def _example(schema: Schema, defs: Schema, name: str = "", depth: int = 0, *, whole: bool) -> Any:
    """A valid value, with all members that are not too deep if `whole`, else with those that are required."""
    match schema:
        case {"$ref": place}:
            return _example(defs[place.rpartition("/")[2]], defs, name, depth, whole=whole)
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]} | {"type": [first, *_]}:
            one: Schema = cast("Schema", first) if isinstance(first, dict) else {**schema, "type": first}
            return _example(one, defs, name, depth, whole=whole)
        case {"const": value} | {"enum": [value, *_]}:
            return value
        case {"type": "object"}:
            wanted = schema.get("properties", {}) if whole and depth < 4 else schema.get("required", ())
            inner = schema.get("properties", {})
            return {key: _example(inner[key], defs, key, depth + 1, whole=whole) for key in wanted}
        case {"type": "array"}:
            return [_example(schema.get("items", {}), defs, name, depth + 1, whole=whole)]
        case _:
            plain = {
                "string": KNOWN.get(name, "a"),
                "integer": schema.get("minimum", 0),
                "number": 1.0,
                "boolean": False,
            }
            return plain.get(schema.get("type", ""))


def _with_extremes(value: Any, extremes: Sequence[Any]) -> Iterator[Any]:
    """The value with each extreme in place of it, and of each of its members."""
    yield from extremes
    match value:
        case dict():
            given = cast("dict[str, Any]", value)
            for key, each in given.items():
                yield from ({**given, key: inner} for inner in _with_extremes(each, extremes))
        case list():
            items = cast("list[Any]", value)
            for at, each in enumerate(items):
                yield from ([*items[:at], inner, *items[at + 1 :]] for inner in _with_extremes(each, extremes))
        case _:
            return
