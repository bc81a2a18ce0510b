"""Values that a JSON Schema allows, nearly allows, or does not allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from hypothesis import strategies as st

Schema = Mapping[str, Any]

NAMES: Mapping[str, Sequence[str]] = {
    "sessionId": ("@live", "@live", "@live", "@live", "@gone", "unknown", ""),
    "turnId": ("@turn", "@turn", "@turn", "t", ""),
    "questionId": ("q1", "q2"),
    "checkpointId": ("@checkpoint", "@checkpoint", "c"),
    "uri": ("@uri", "@uri", "@uri", "file:///no/such.txt", "untitled:a", "file://[", "", "http://x/y", "file:///%00"),
    "activeUri": ("@uri", "untitled:a", ""),
    "model": ("@script", "@script", "scripted:/no/such", "offline/rules", "nonsense", ""),
    "agent": ("default", "nobody", ""),
    "cwd": ("@folder", "relative", "/no/such"),
    "worktree": ("w", "../w", ""),
    "rule": ("shell(git:*)", "nonsense(", "edit_file"),
    "name": ("n", "a/b", "", "\ud800", "x" * 300),
    "workDoneToken": ("w1", "w2"),
    "partialResultToken": ("p1", "p2"),
    "command": ("pygent.ask", "pygent.newSession", "pygent.cancel", "pygent.undo", "pygent.setMode", "pygent.nothing"),
    "prompt": ("go", "/help", "/undo", "/nothing", "@a.txt @diff @x", "\ud800", "\0", "/btw why", "/clear", "/compact"),
    "question": ("why", "\ud800"),
}
"""Texts for members of these names. What begins with `@` stands for a name that the daemon gave or that exists."""

TEXTS = st.sampled_from(
    ["", "a", "é", "😀", "\ud800", "\0", "a\r\nb", "x" * 300, "jsonrpc", "null", "1", "../..", "@live"]
)
NUMBERS = st.sampled_from([0, 1, -1, 7, 2**31 - 1, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**300, 1.0, 1.5, 1e308])

JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.sampled_from(sorted(NAMES)), inner, max_size=3)
    ),
    max_leaves=8,
)
"""Any value, with extremes."""


def params_of(schema: Schema, defs: Schema) -> st.SearchStrategy[Any]:
    """Parameters for a method: most valid, many nearly, some not at all."""
    valid = values_of(schema, defs)
    return st.one_of(valid, valid, damaged(valid), damaged(valid), JSON)


def values_of(schema: Schema, defs: Schema, name: str = "", depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that the schema allows; the patterns of texts are not followed."""
    match schema:
        case {"$ref": str() as place}:
            return values_of(defs[place.rpartition("/")[2]], defs, name, depth)
        case {"anyOf": kinds} | {"oneOf": kinds}:
            return st.one_of([values_of(each, defs, name, depth) for each in kinds])
        case {"type": [*names]}:
            typed = [{**schema, "type": each} for each in names]
            return st.one_of([values_of(each, defs, name, depth) for each in typed])
        case {"type": "object"}:
            return _objects(schema, defs, depth)
        case {"type": "array"}:
            items = values_of(schema.get("items", {}), defs, name, depth + 1)
            return st.lists(items, min_size=schema.get("minItems", 0), max_size=0 if depth > 4 else 2)
        case {"const": value}:
            return st.just(value)
        case {"enum": choices}:
            return st.sampled_from(choices)
        case _:
            return _plain(schema, name)


def _plain(schema: Schema, name: str) -> st.SearchStrategy[Any]:
    plain: Mapping[str, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(NAMES[name]) if name in NAMES else TEXTS,
        "integer": st.integers(schema.get("minimum", -1), schema.get("maximum", 2**31 - 1)),
        "number": st.floats(0, 1_000, allow_nan=False),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return plain.get(schema.get("type", ""), JSON)


def _objects(schema: Schema, defs: Schema, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    required = frozenset(schema.get("required", ()))
    needed = {key: values_of(each, defs, key, depth + 1) for key, each in properties.items() if key in required}
    others = {} if depth > 4 else {key: each for key, each in properties.items() if key not in required}
    optional = {key: values_of(each, defs, key, depth + 1) for key, each in others.items()}
    return st.fixed_dictionaries(needed, optional=optional)


@st.composite
def damaged(draw: st.DrawFn, valid: st.SearchStrategy[Any]) -> Any:
    """A value with one member, at any depth, left out, replaced, or added."""
    return _damaged(draw, draw(valid))


def _damaged(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, dict) and value:
        given = cast("dict[str, Any]", value)
        key = draw(st.sampled_from(sorted(given)))
        match draw(st.sampled_from(["within", "within", "left out", "replaced", "added"])):
            case "within":
                return {**given, key: _damaged(draw, given[key])}
            case "left out":
                return {name: each for name, each in given.items() if name != key}
            case "replaced":
                return {**given, key: draw(JSON)}
            case _:
                return {**given, draw(TEXTS): draw(JSON)}
    if isinstance(value, list) and value:
        items = cast("list[Any]", value)
        at = draw(st.integers(0, len(items) - 1))
        return [*items[:at], _damaged(draw, items[at]), *items[at + 1 :]]
    return draw(JSON)
