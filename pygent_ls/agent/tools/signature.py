"""Arguments of a tool, from the signature of its function: their JSON Schema, and their validation."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct

MAX_WHOLE_FLOAT = 2.0**63
"""Bound of a float that stands for a whole number, such as 3.0."""


MAX_PROBLEMS = 100
"""Number of problems after which the rest of a list is not looked at: each takes some microseconds."""


class ArgumentObject(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Object inside the arguments, such as one edit of several. The model is told its docstring."""

    text_field: ClassVar[str] = ""
    """Field that text in place of the object stands for; none if empty."""


class _ArgumentKind(Struct, frozen=True):
    """Type of an argument or a part of one. `bare` is the type without limits and null."""

    hint: Any
    bare: Any
    meta: Sequence[Meta]
    may_be_null: bool

    def limit(self, name: str) -> Any:
        """Return a limit by its name in `Meta`; None if it has no such limit."""
        return next((found for each in self.meta if (found := getattr(each, name)) is not None), None)

    @property
    def item(self) -> _ArgumentKind | None:
        """Kind of the items of a list; None for another kind."""
        return _kind_of(get_args(self.bare)[0]) if _origin(self) in (list, tuple) else None


class _Argument(Struct, frozen=True):
    kind: _ArgumentKind
    default: object
    is_required: bool


class ToolSignature:
    """Arguments of a function whose first parameter is the context. Each hint is a type that JSON has, a `Literal`, a
    list or tuple, or an `ArgumentObject`, or one of these and None; `Annotated[…, Meta(…)]` describes and limits it."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    @cached_property
    def _fields(self) -> Mapping[str, _Argument]:
        hints = get_type_hints(self._function, include_extras=True)
        parameters = list(inspect.signature(self._function).parameters.values())[1:]
        return {
            each.name: _Argument(_kind_of(hints[each.name]), each.default, each.default is inspect.Parameter.empty)
            for each in parameters
        }

    @property
    def names(self) -> Sequence[str]:
        """Names of the arguments, in order."""
        return list(self._fields)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments. Raises TypeError for a type that has no place in one."""
        definitions: dict[str, Any] = {}
        schema = _object_schema(self._fields, definitions)
        return {"$defs": definitions, **schema} if definitions else schema

    def convert(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        """Return the arguments with their types and defaults, and what is wrong: one problem per invalid field.

        A value of another type stands for what it clearly means: `"5"` and `5.0` for 5, `"true"`, `"yes"` and 1 for
        true, true for 1.
        """
        problems: list[str] = []
        values = _members(given, self._fields, "", problems)
        defaults = {name: each.default for name, each in self._fields.items() if not each.is_required}
        return {name: {**defaults, **values}.get(name) for name in self._fields}, problems


def _kind_of(hint: Any) -> _ArgumentKind:
    """Return the kind that a type hint describes. Raises TypeError for one that is not supported."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metas = get_args(hint)
        if foreign := [each for each in metas if not isinstance(each, Meta)]:
            raise TypeError(f"an argument of a tool is described by msgspec.Meta, not {type(foreign[0]).__name__}")
        kind = _kind_of(inner)
        return _ArgumentKind(hint, kind.bare, (*metas, *kind.meta), kind.may_be_null)
    if origin in (Union, UnionType):
        members = [each for each in get_args(hint) if each is not NoneType]
        if len(members) > 1:
            raise TypeError(f"an argument of a tool has one type, and may be None: {hint}")
        kind = _kind_of(members[0])
        return _ArgumentKind(hint, kind.bare, kind.meta, may_be_null=True)
    return _ArgumentKind(hint, hint, (), may_be_null=False)


@cache
def _fields_of(table: type[ArgumentObject]) -> Mapping[str, _Argument]:
    return {
        each.name: _Argument(_kind_of(each.type), each.default, each.default is NODEFAULT)
        for each in msgspec.structs.fields(table)
    }


def _origin(kind: _ArgumentKind) -> Any:
    return get_origin(kind.bare) or kind.bare


def _is_object(kind: _ArgumentKind) -> bool:
    return isinstance(kind.bare, type) and issubclass(kind.bare, ArgumentObject)


# The schema

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}

_NUMBER = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_LIMITS: Mapping[str, Mapping[str, str]] = {
    "integer": _NUMBER,
    "number": _NUMBER,
    "string": {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
}


def _schema_of(kind: _ArgumentKind, definitions: dict[str, Any]) -> dict[str, Any]:
    schema = _schema_of_type(kind, definitions)
    for name, keyword in _LIMITS.get(schema.get("type", ""), {}).items():
        if (limit := kind.limit(name)) is not None:
            schema[keyword] = limit
    if kind.may_be_null:
        schema = {"anyOf": [dict(sorted(schema.items())), {"type": "null"}]}
    if description := kind.limit("description"):
        schema["description"] = description
    return schema


def _schema_of_type(kind: _ArgumentKind, definitions: dict[str, Any]) -> dict[str, Any]:
    origin = _origin(kind)
    if origin is Literal:
        options = get_args(kind.bare)
        types = {_TYPES[type(each)] for each in options}
        return {"enum": list(options)} | ({"type": types.pop()} if len(types) == 1 else {})
    if origin in _TYPES:
        return {"type": _TYPES[origin]}
    if origin is dict:
        return {"additionalProperties": True, "type": "object"}
    if (item := kind.item) is not None:
        return {"items": dict(sorted(_schema_of(item, definitions).items())), "type": "array"}
    if _is_object(kind):
        name = kind.bare.__name__
        if name not in definitions:
            inner = _object_schema(_fields_of(kind.bare), definitions)
            inner["description"] = inspect.getdoc(kind.bare)
            definitions[name] = dict(sorted(inner.items()))
        return {"$ref": f"#/$defs/{name}"}
    raise TypeError(f"an argument of a tool cannot be {kind.bare}")


def _object_schema(fields: Mapping[str, _Argument], definitions: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, each in fields.items():
        schema = _schema_of(each.kind, definitions)
        if not each.is_required:
            default = each.default
            schema["default"] = list(cast("tuple[Any, ...]", default)) if isinstance(default, tuple) else default
        properties[name] = dict(sorted(schema.items()))
    required = [name for name, each in fields.items() if each.is_required]
    return {
        "additionalProperties": False,
        "properties": properties,
        **({"required": required} if required else {}),
        "type": "object",
    }


# The validation

_INVALID = (msgspec.ValidationError, ValueError, OverflowError)
"""What msgspec raises for an invalid value; ValueError for half of a surrogate pair."""


def _members(
    given: Mapping[str, Any], fields: Mapping[str, _Argument], place: str, problems: list[str]
) -> dict[str, object]:
    """Return the valid members of an object, and add what is wrong with the others."""
    values: dict[str, object] = {}
    for name, each in fields.items():
        if name in given:
            values[name] = _converted(given[name], each.kind, f"{place}{name}", problems)
        elif each.is_required:
            problems.append(f"`{place}{name}` is missing")
    problems += (f"`{place}{name}` is not an argument" for name in given if name not in fields)
    return values


def _converted(given: Any, kind: _ArgumentKind, place: str, problems: list[str]) -> object:
    """Return the value with its type. What is valid as it is stays as it is; otherwise each part is converted alone."""
    try:
        return msgspec.convert(given, kind.hint)
    except _INVALID:
        pass
    if _is_object(kind) and isinstance(given, str) and kind.bare.text_field:
        given = {kind.bare.text_field: given}
    n_before = len(problems)
    if _is_object(kind) and isinstance(given, Mapping):
        members = _members(cast("Mapping[str, Any]", given), _fields_of(kind.bare), f"{place}.", problems)
        return None if len(problems) > n_before else kind.bare(**members)
    if (item := kind.item) is not None and isinstance(given, list) and _fits(cast("list[Any]", given), kind):
        items: list[object] = []
        for at, each in enumerate(cast("list[Any]", given)):
            items.append(_converted(each, item, f"{place}.{at}", problems))
            if len(problems) >= n_before + MAX_PROBLEMS:
                break
        return None if len(problems) > n_before else _origin(kind)(items)
    try:
        return msgspec.convert(_meant(given, kind), kind.hint)
    except _INVALID:
        problems.append(f"`{place}`: expected {_expected(kind)}{_but_given(given, kind)}")
        return None


def _fits(given: Sequence[Any], kind: _ArgumentKind) -> bool:
    return (kind.limit("min_length") or 0) <= len(given) <= (kind.limit("max_length") or math.inf)


_WHOLE = re.compile(r"\s*+([+-]?[0-9]++(?:_[0-9]++)*+)(?:\.0++)?+\s*+")

_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}


def _meant(given: Any, kind: _ArgumentKind) -> Any:
    """Return what a value of another type stands for; the value itself if that is not clear."""
    origin = _origin(kind)
    if isinstance(given, str):
        return _from_text(given, origin)
    if not isinstance(given, (bool, int, float)):
        return given
    if origin is Literal:
        return next((each for each in get_args(kind.bare) if each == given), given)
    if origin is bool:
        return bool(given) if given in (0, 1) else given
    if origin is int:
        return int(given) if abs(given) < MAX_WHOLE_FLOAT and given == int(given) else given
    return float(given) if origin is float and isinstance(given, bool) else given


def _from_text(given: str, origin: Any) -> Any:
    try:
        if origin is bool:
            return _TRUTH.get(given.lower(), given)
        if origin is int and (whole := _WHOLE.fullmatch(given)):
            return int(whole[1])
        if origin is float and given.isascii() and math.isfinite(number := float(given)):
            return number
    except ValueError:
        pass
    return given


# What is wrong

_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text", list: "a list", tuple: "a list"}


def _expected(kind: _ArgumentKind) -> str:
    """Return what an argument accepts, in words that follow "expected"."""
    origin = _origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(str(each) for each in get_args(kind.bare))
    name = _NAMES.get(origin, "an object")
    least, above, most, below = map(kind.limit, ("ge", "gt", "le", "lt"))
    bounds = [
        *([f"at least {least:g}"] if least is not None else []),
        *([f"above {above:g}"] if above is not None else []),
        *([f"at most {most:g}"] if most is not None else []),
        *([f"below {below:g}"] if below is not None else []),
    ]
    shortest, longest = kind.limit("min_length"), kind.limit("max_length")
    unit = "characters" if origin is str else "items"
    if shortest:
        bounds.append("not empty" if shortest == 1 else f"at least {shortest:,} {unit}")
    if longest is not None:
        bounds.append(f"at most {longest:,} {unit}")
    return f"{name}, {' and '.join(bounds)}" if bounds else name


def _but_given(given: Any, kind: _ArgumentKind) -> str:
    """Return what was given instead. Text is not quoted: it may be long."""
    match given:
        case str() if _origin(kind) is str:
            return f", not {len(given):,} characters"
        case str():
            return "" if _origin(kind) is Literal else ", not text"
        case list():
            n_items = len(cast("list[Any]", given))
            return f", not {n_items:,} items" if kind.item is not None else ", not a list"
        case dict():
            return ", not an object"
        case _:
            return f", not {json.dumps(given, default=str)}"
