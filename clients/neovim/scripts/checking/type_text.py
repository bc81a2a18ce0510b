"""The types that annotations write: `string|nil`, `pygent.Event[]`, `fun(path: string): boolean`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """A class, an alias or a type of Lua's own, with its type arguments."""

    name: str
    arguments: tuple[Type, ...] = ()


@dataclass(frozen=True)
class Literal:
    """One value: a string's own text, or a number or boolean as it is written."""

    text: str
    kind: str = "string"


@dataclass(frozen=True)
class Array:
    """`T[]`."""

    item: Type


@dataclass(frozen=True)
class Field:
    """A field of a table that is written in place, or a parameter; without a type of its own it is `any`."""

    name: str
    type: Type
    optional: bool = False


@dataclass(frozen=True)
class Record:
    """`{ name: T, [K]: V }`; `open` if it has keys without a name."""

    fields: tuple[Field, ...]
    open: bool = False


@dataclass(frozen=True)
class Function:
    """`fun(…): …`. `returns` stays None without known ones."""

    parameters: tuple[Field, ...]
    returns: tuple[Type, ...] | None = ()


@dataclass(frozen=True)
class Union:
    """`A|B`, of more than one member; `nil` is one of them where a value may be missing."""

    members: tuple[Type, ...]


Type = Named | Literal | Array | Record | Function | Union

ANY = Named("any")
NIL = Named("nil")

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'[^']*'|"[^"]*")|(?P<dots>\.\.\.)|(?P<number>-?\d+(?:\.\d+)?)|(?P<generic>`[\w.*-]+`)"""
    r"""|(?P<name>[A-Za-z_][\w]*(?:[.-][\w]+|\.\*)*)|(?P<sign>\[\]|[|?()<>{}\[\],:]))"""
)


class TypeTextError(ValueError):
    """Raised for an invalid type; the message contains the position."""


def parse_type(text: str) -> tuple[Type, str]:
    """The type at the beginning of a text, and what follows it. Raises `TypeTextError`."""
    reader = _Reader(text)
    found = reader.type()
    return found, text[reader.position :]


def parse_types(text: str) -> tuple[tuple[Type, ...], str]:
    """The types at the beginning of a text, with commas between them, and what follows."""
    first, rest = parse_type(text)
    found = [first]
    while rest.lstrip().startswith(","):
        following, rest = parse_type(rest.lstrip()[1:])
        found.append(following)
    return tuple(found), rest


def optional(type_: Type) -> Type:
    """The same, or nil."""
    return union((type_, NIL))


def union(members: tuple[Type, ...]) -> Type:
    """One type of several, each once."""
    flat: dict[Type, None] = {}
    for member in members:
        for one in member.members if isinstance(member, Union) else (member,):
            flat[one] = None
    return next(iter(flat)) if len(flat) == 1 else Union(tuple(flat))


def names_in(type_: Type) -> Iterator[str]:
    """The names that a type is made of."""
    if isinstance(type_, Named):
        yield type_.name
    for part in parts_of(type_):
        yield from names_in(part)


def parts_of(type_: Type) -> tuple[Type, ...]:
    """The types that a type is directly made of."""
    match type_:
        case Named(_, arguments):
            return arguments
        case Array(item):
            return (item,)
        case Record(fields):
            return tuple(field.type for field in fields)
        case Function(parameters, returns):
            return (*(field.type for field in parameters), *(returns or ()))
        case Union(members):
            return members
        case Literal():
            return ()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def type(self) -> Type:
        members = [self._postfix()]
        while self._take("|"):
            members.append(self._postfix())
        return union(tuple(members))

    def _postfix(self) -> Type:
        found = self._primary()
        while True:
            if self._take("[]", adjacent=True):
                found = Array(found)
            elif self._take("?", adjacent=True):
                found = optional(found)
            else:
                return found

    def _primary(self) -> Type:
        kind, token = self._next()
        match kind:
            case "string":
                return Literal(token[1:-1])
            case "number":
                return Literal(token, "number")
            case "dots":
                return ANY
            case "generic":
                return ANY
            case "name":
                return self._named(token)
            case _:
                return self._bracketed(token)

    def _named(self, name: str) -> Type:
        if name in ("true", "false"):
            return Literal(name, "boolean")
        if name == "async" and self._peek()[1] == "fun":
            return self._primary()
        if name == "fun" and self._take("("):
            return self._function()
        if self._take("<", adjacent=True):
            return Named(name, self._list(">"))
        if self.text.startswith("...", self.position):
            self.position += 3
        return Named(name)

    def _bracketed(self, sign: str) -> Type:
        if sign == "(":
            found = self.type()
            self._expect(")")
            return found
        if sign == "[":
            return Named("table", self._list("]"))
        if sign == "{":
            return self._record()
        raise TypeTextError(f"no type begins with `{sign}`")

    def _list(self, end: str) -> tuple[Type, ...]:
        found = [self.type()]
        while self._take(","):
            found.append(self.type())
        self._expect(end)
        return tuple(found)

    def _record(self) -> Type:
        fields: list[Field] = []
        keyed = False
        while not self._take("}"):
            if self._take("["):
                key = self.type()
                self._expect("]")
                mark = self._take("?")
                self._expect(":")
                value = self.type()
                if isinstance(key, Literal):
                    fields.append(Field(key.text, optional(value) if mark else value, mark))
                else:
                    keyed = True
            else:
                fields.append(self._field())
            self._take(",")
        return Record(tuple(fields), open=keyed)

    def _field(self) -> Field:
        _, name = self._next()
        mark = self._take("?")
        type_ = self.type() if self._take(":") else ANY
        return Field(name, optional(type_) if mark else type_, mark or type_ == ANY)

    def _function(self) -> Function:
        parameters: list[Field] = []
        while not self._take(")"):
            parameters.append(self._field())
            self._take(",")
        if not self._take(":"):
            return Function(tuple(parameters))
        returns = [self._returned()]
        while self._is_type_after_comma():
            self._take(",")
            returns.append(self.type())
        return Function(tuple(parameters), tuple(returns))

    def _returned(self) -> Type:
        named = re.match(r"\s*\w+\??:", self.text[self.position :])
        self.position += named.end() if named else 0
        return self.type()

    def _is_type_after_comma(self) -> bool:
        """Whether a comma goes on with what a function returns, and not with the parameter after the function."""
        return re.match(r"\s*,\s*(?!\w+\??:|\.\.\.)", self.text[self.position :]) is not None

    def _peek(self) -> tuple[str, str]:
        found = _TOKEN.match(self.text, self.position)
        return (found.lastgroup or "", found[found.lastgroup or 0]) if found else ("", "")

    def _next(self) -> tuple[str, str]:
        found = _TOKEN.match(self.text, self.position)
        if found is None or found.lastgroup is None:
            rest = self.text[self.position :].strip()
            raise TypeTextError(f"a type is missing before `{rest}`" if rest else "a type is missing at the end")
        self.position = found.end()
        return found.lastgroup, found[found.lastgroup]

    def _take(self, sign: str, *, adjacent: bool = False) -> bool:
        found = re.compile(("" if adjacent else r"\s*") + re.escape(sign)).match(self.text, self.position)
        if found is None:
            return False
        self.position = found.end()
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise TypeTextError(f"`{sign}` is missing before `{self.text[self.position :].strip()}`")
