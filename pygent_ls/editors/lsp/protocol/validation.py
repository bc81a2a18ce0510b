"""Validation of what clients send, with errors that name each invalid field.

msgspec validates. It does not accept `1.0` for 1, and it names only the first problem, without the values that would be
valid. A value that it refuses is therefore inspected once more, field by field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from msgspec import Meta, Struct, UnsetType, ValidationError, convert
from msgspec.structs import fields

from pygent_ls.editors.lsp.rpc.converter import MAX_PROBLEMS, listed, repaired

Value = TypeVar("Value", bound=Struct)

_fields_of = cache(fields)

Place = tuple[str | int, ...]
"""Names and indices on the way to a value."""


class FieldProblem(NamedTuple):
    """What is wrong with a value."""

    place: Place
    text: str


class InvalidValueError(Exception):
    """A value from a client does not have its type."""

    def __init__(self, problems: list[FieldProblem]) -> None:
        super().__init__(problems)
        self._problems = problems

    def described(self, whole: str) -> str:
        """Return each invalid field with its problem, in one line. `whole` names the value itself."""
        return listed(f"{'.'.join(map(str, each.place)) or whole}: {each.text}" for each in self._problems)


def valid(kind: type[Value], given: object) -> Value:
    """Return a value from a client as its type. Raises `InvalidValueError`."""
    try:
        return convert(given, kind)
    except (ValidationError, UnicodeEncodeError):  # the latter for half of a surrogate pair in a key
        inspection = _Inspection()
        mended = inspection.value(kind, repaired(given), ())
    try:
        if not inspection.problems:
            return convert(mended, kind)
    except ValidationError as error:
        inspection.problems.append(FieldProblem((), str(error)))
    raise InvalidValueError(inspection.problems)


_JSON: Mapping[Any, tuple[Any, str]] = {
    str: (str, "string"),
    int: (int, "integer"),
    float: ((int, float), "number"),
    bool: (bool, "boolean"),
    list: (list, "list"),
    dict: (dict, "dictionary"),
}
"""The Python types of what JSON has for a type, and their name."""


class _Inspection:
    """Collects the problems of a value.

    Each method returns the value with whole numbers in place of those like `1.0`: some clients write every number with
    a decimal point.
    """

    def __init__(self) -> None:
        self.problems: list[FieldProblem] = []

    def value(self, kind: Any, value: Any, place: Place) -> Any:
        if len(self.problems) > MAX_PROBLEMS:
            return value
        kind, meta = _parts(kind)
        origin = get_origin(kind)
        if origin in (Union, UnionType):
            return self._alternative(kind, meta, value, place)
        if _is_struct(kind):
            return self._struct(kind, value, place)
        value = _whole(kind, value)
        if problem := _problem(kind, meta, value):
            self.problems.append(FieldProblem(place, problem))
        elif origin is list and Any not in get_args(kind):
            return self._items(get_args(kind)[0], value, place)
        elif origin is dict and Any not in get_args(kind):
            return self._entries(get_args(kind), value, place)
        return value

    def _alternative(self, kind: Any, meta: Meta, value: Any, place: Place) -> Any:
        kinds = [each for each in get_args(kind) if each not in (NoneType, UnsetType)]
        if value is None and NoneType in get_args(kind):
            return None
        if len(kinds) == 1:
            return self.value(kinds[0], value, place)
        if all(map(_is_struct, kinds)):
            return self._tagged(kinds, value, place)
        for each in kinds:
            bare, of_kind = _parts(each)
            if _fits(bare, _whole(bare, value)):
                return self.value(each, value, (*place, *_extra(of_kind, "tag")))
        names = " or ".join(_name(_parts(each)[0]) for each in kinds)
        self.problems.append(FieldProblem(place, *_extra(meta, "problem") or [f"Input should be a valid {names}"]))
        return value

    def _tagged(self, kinds: list[type[Struct]], value: Any, place: Place) -> Any:
        """Inspect one of several structs, which its tag names."""
        by_tag = {each.__struct_config__.tag: each for each in kinds}
        key = kinds[0].__struct_config__.tag_field
        members = _members(value)
        if members is None:
            problem = "Input should be a valid dictionary"
        elif key not in members:
            problem = f"Unable to extract tag using discriminator '{key}'"
        elif not isinstance(tag := members[key], str) or tag not in by_tag:
            tags = ", ".join(map(repr, by_tag))
            problem = f"Input tag '{tag}' found using '{key}' does not match any of the expected tags: {tags}"
        else:
            return self._struct(by_tag[tag], value, (*place, tag))
        self.problems.append(FieldProblem(place, problem))
        return value

    def _struct(self, kind: type[Struct], value: Any, place: Place) -> Any:
        members = _members(value)
        if members is None:
            self.problems.append(FieldProblem(place, "Input should be a valid dictionary"))
            return value
        n_problems = len(self.problems)
        mended = {**members}
        for field in _fields_of(kind):
            name = field.encode_name
            if name in mended:
                mended[name] = self.value(field.type, mended[name], (*place, name))
            elif field.required:
                self.problems.append(FieldProblem((*place, name), "Field required"))
        if hasattr(kind, "__post_init__") and len(self.problems) == n_problems:
            try:
                convert(mended, kind)
            except ValidationError as error:
                self.problems.append(FieldProblem(place, f"Value error, {error}"))
        return mended

    def _items(self, kind: Any, value: list[Any], place: Place) -> list[Any]:
        """Inspect a list up to its first invalid item, because it may have a hundred thousand of them."""
        n_problems = len(self.problems)
        mended: list[Any] = []
        for index, each in enumerate(value):
            mended.append(self.value(kind, each, (*place, index)))
            if len(self.problems) > n_problems:
                break
        return mended

    def _entries(self, kinds: tuple[Any, ...], value: dict[str, Any], place: Place) -> dict[str, Any]:
        key_kind, kind = kinds
        for key in value:
            self.value(key_kind, key, (*place, key, "[key]"))
        return {key: self.value(kind, each, (*place, key)) for key, each in value.items()}


def _parts(kind: Any) -> tuple[Any, Meta]:
    """Return a type without its limits, and the limits."""
    return get_args(kind) if get_origin(kind) is Annotated else (kind, Meta())


def _members(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _extra(meta: Meta, name: str) -> list[str]:
    extra = meta.extra or {}
    return [extra[name]] if name in extra else []


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _whole(kind: Any, value: Any) -> Any:
    return int(value) if kind is int and isinstance(value, float) and value.is_integer() else value


def _name(kind: Any) -> str:
    return _JSON[get_origin(kind) or kind][1]


def _fits(kind: Any, value: Any) -> bool:
    """Return whether a value has a type, regardless of limits; to Python, a truth value is a number."""
    plain = get_origin(kind) or kind
    return isinstance(value, _JSON[plain][0]) and (plain is bool or not isinstance(value, bool))


def _problem(kind: Any, meta: Meta, value: Any) -> str:
    """Return what is wrong with a value, but for what it contains; empty if nothing is."""
    if kind is Any:
        return ""
    if get_origin(kind) is Literal:
        *others, last = map(repr, get_args(kind))
        known = f"{', '.join(others)} or {last}" if others else last
        return "" if isinstance(value, str) and value in get_args(kind) else f"Input should be {known}"
    if not _fits(kind, value):
        return next(iter(_extra(meta, "problem")), f"Input should be a valid {_name(kind)}")
    return next(_over_limits(meta, value), "")


def _over_limits(meta: Meta, value: Any) -> Iterator[str]:
    if isinstance(value, str | list):
        return _over_sizes(meta, cast("str | list[Any]", value))
    return _out_of_range(meta, value)


def _over_sizes(meta: Meta, value: str | list[Any]) -> Iterator[str]:
    what, unit = ("String", "character") if isinstance(value, str) else ("List", "item")
    if meta.min_length is not None and len(value) < meta.min_length:
        yield f"{what} should have at least {_counted(meta.min_length, unit)}"
    if meta.max_length is not None and len(value) > meta.max_length:
        yield f"{what} should have at most {_counted(meta.max_length, unit)}"
    if meta.pattern is not None:
        try:
            convert(value, Annotated[str, meta])
        except ValidationError:
            yield f"String should match pattern '{shown_pattern(meta)}'"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def _out_of_range(meta: Meta, value: Any) -> Iterator[str]:
    if meta.gt is not None and not value > meta.gt:
        yield f"Input should be greater than {meta.gt:g}"
    if meta.ge is not None and not value >= meta.ge:
        yield f"Input should be greater than or equal to {meta.ge:g}"
    if meta.le is not None and not value <= meta.le:
        yield f"Input should be less than or equal to {meta.le:g}"


def shown_pattern(meta: Meta) -> str:
    r"""Return the pattern as other languages write it: `\Z` is Python's."""
    return (meta.pattern or "").replace(r"\Z", "$")
