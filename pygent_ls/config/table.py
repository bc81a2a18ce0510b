"""Base of the tables of settings: what their fields accept, and how raw values are converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import Meta

from pygent_ls.errors import SettingError

MOST = 1_000_000_000
"""Maximum of any count: higher values make no difference, and huge numbers could not be written out."""

Words = tuple[str, ...]
"""A list; comma-separated text stands for one, too."""

Given = TypeVar("Given", bound="Table")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Settings that are validated together. Its repr has no values, of which some are secret."""

    checks: ClassVar[Mapping[str, Callable[[Any], object]]] = {}
    """Functions that raise ValueError for a wrong value, by field."""

    def __post_init__(self) -> None:
        """Run the checks. Raises ValueError."""
        for name, check in self.checks.items():
            try:
                check(getattr(self, name))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None

    def fields(self) -> dict[str, Any]:
        """Return the value of each field."""
        return msgspec.structs.asdict(self)

    def changed(self: Given, **values: object) -> Given:
        """Return a table with other values."""
        return msgspec.structs.replace(self, **values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(msgspec.to_builtins(self))})"


def about(description: str, *, expected: str = "", **limits: float) -> Meta:
    """Describe a field, and limit it: `ge`, `gt`, `le` of a number, `min_length`. `expected` is what it accepts, if its
    type does not say that."""
    return Meta(description=description, extra={"expected": expected}, **cast("Any", limits))


class Field(NamedTuple):
    """Definition of a field."""

    kind: Any
    """Its type, without None."""
    meta: Meta
    default: object
    """None if it is required, too."""
    is_required: bool

    @property
    def description(self) -> str:
        return self.meta.description or ""

    @property
    def expected(self) -> str:
        """What it accepts, in words that follow "expected"."""
        if said := cast("str", (self.meta.extra or {}).get("expected")):
            return said
        if get_origin(self.kind) is Literal:
            return "one of " + ", ".join(get_args(self.kind))
        kinds = {int: "a whole number", float: "a number", bool: "true or false", str: "text", dict: "a table"}
        kind = kinds.get(get_origin(self.kind) or self.kind, "a list of text")
        least, above, most = self.meta.ge, self.meta.gt, self.meta.le
        if above is not None:
            return f"{kind} above {above:g}"
        if self.meta.min_length:
            return f"{kind} that is not empty"
        if least is None:
            return kind
        return f"{kind}, {least:g} or more" if most == MOST else f"{kind} from {least:g} to {most:g}"


@cache
def fields_of(table: type[Table]) -> Mapping[str, Field]:
    """Return the fields of a table that describe themselves, in order."""
    found: dict[str, Field] = {}
    for each in msgspec.structs.fields(table):
        for kind in (each.type, *get_args(each.type)):  # the type, or one of those that it may be
            if get_origin(kind) is Annotated:
                default = each.default_factory() if callable(each.default_factory) else each.default
                bare, meta = get_args(kind)
                found[each.name] = Field(bare, meta, None if each.required else default, each.required)
    return found


def words(given: object) -> object:
    """Convert a list (files, editors) or comma-separated text (environment, command line)."""
    if isinstance(given, str):
        return tuple(part for each in given.split(",") if (part := each.strip()))
    return tuple(cast("Sequence[object]", given)) if isinstance(given, list) else given


def whole(raw: object) -> object:
    """Convert `50.0` to 50: JSON has a single number type, and some editors write integers this way."""
    return int(raw) if isinstance(raw, float) and raw.is_integer() else raw


def converted(table: type[Given], raw: Mapping[str, object], *, is_text: bool = False) -> Given:
    """Return a table of valid values. With `is_text`, text may stand for a number or a truth value.

    Raises `SettingError` that names the first wrong field and what it accepts, and never its value.
    """
    fields = fields_of(table)
    given: dict[str, object] = {}
    for name, value in raw.items():
        given[name] = whole(value)
        if isinstance(value, str) and name in fields:
            kind = fields[name].kind
            given[name] = words(value) if get_origin(kind) is tuple else _from_text(value, kind) if is_text else value
    try:
        msgspec.json.encode(given)  # text with half of a character, and numbers of any length, could not be stored
        return msgspec.convert(given, table)
    except (msgspec.ValidationError, OverflowError, RecursionError, ValueError) as error:
        raise SettingError(_what_is_wrong(str(error), given, table)) from None


_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}


def _from_text(value: str, kind: object) -> object:
    if kind is bool:
        return _TRUTH.get(value.strip().lower(), value)
    for number in {int: (int, float), float: (float,)}.get(cast("type", kind), ()):
        try:
            return whole(number(value))
        except ValueError:
            pass
    return value


def _what_is_wrong(said: str, given: Mapping[str, object], table: type[Table]) -> str:
    fields = fields_of(table)
    if unknown := [name for name in given if name not in table.__struct_fields__]:
        return f"unknown key {unknown[0]}; known keys: {', '.join(table.__struct_fields__)}"
    if missing := [name for name, each in fields.items() if each.is_required and name not in given]:
        return f"{missing[0]} is missing"
    _, is_in_field, path = said.rpartition(" - at `$.")
    name = path.rstrip("`").partition(".")[0].partition("[")[0]
    return f"{name}: expected {fields[name].expected}" if is_in_field and name in fields else said
