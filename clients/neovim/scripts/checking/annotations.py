"""The comments before a statement that say something of its types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from clients.neovim.scripts.checking.type_text import (
    ANY,
    NIL,
    Field,
    Function,
    Type,
    TypeTextError,
    Union,
    optional,
    parse_type,
    parse_types,
    union,
)

KNOWN = frozenset(
    {
        "alias",
        "as",
        "async",
        "brief",
        "cast",
        "class",
        "deprecated",
        "diagnostic",
        "enum",
        "field",
        "generic",
        "inlinedoc",
        "meta",
        "mod",
        "nodoc",
        "note",
        "operator",
        "overload",
        "package",
        "param",
        "private",
        "proposed",
        "protected",
        "return",
        "returns",
        "see",
        "since",
        "toc",
        "type",
    }
)
"""Tags of LuaCATS, and those of Neovim's own help generator."""


@dataclass(frozen=True)
class Tag:
    """One `---@name text`, its line, counted from 1, and the lines of text between it and the tag before it."""

    name: str
    text: str
    line: int
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """Comments that stand together: their text, and their tags."""

    text: tuple[str, ...] = ()
    tags: tuple[Tag, ...] = ()
    last_line: int = 0

    def all(self, name: str) -> list[Tag]:
        """The tags of a name, in their order."""
        return [tag for tag in self.tags if tag.name == name]


@dataclass
class Class:
    """A class as it is declared; an `open` one may have fields that have no name."""

    name: str
    parents: list[str] = field(default_factory=list[str])
    fields: dict[str, Type] = field(default_factory=dict[str, Type])
    optional: set[str] = field(default_factory=set[str])
    text: dict[str, str] = field(default_factory=dict[str, str])
    open: bool = False
    item: Type | None = None


def comment_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """All blocks of a file: comments of three dashes on lines without code, that no other line parts."""
    text: list[str] = []
    tags: list[Tag] = []
    n_told = 0
    for number, line in enumerate([*lines, ""], 1):
        comment = re.match(r"\s*---(?!-)\s?(.*)", line)
        if comment is None:
            if text or tags:
                yield Block(tuple(text), tuple(tags), number - 1)
            text, tags, n_told = [], [], 0
        elif tag := re.match(r"\s*@([\w-]+)\s*(.*)", comment[1]):
            tags.append(Tag(tag[1], tag[2].strip(), number, tuple(text[n_told:])))
            n_told = len(text)
        elif alternative := re.match(r"\s*\|\s*(.*)", comment[1]):
            if tags:  # of the alias above
                last = tags[-1]
                bare = re.sub(r"\s+#.*", "", alternative[1]).lstrip(">+ ")
                tags[-1] = Tag(last.name, f"{last.text} | {bare}", last.line, last.before)
        else:
            text.append(comment[1].rstrip())


def classes_of(block: Block) -> Iterator[Class]:
    """The classes that a block declares, with those of their fields that can be read."""
    current: Class | None = None
    for tag in block.tags:
        if tag.name == "class":
            if current:
                yield current
            current = _class(tag)
        elif tag.name == "field" and current:
            with suppress(TypeTextError):  # told as a problem of the annotation
                _add_field(current, tag.text)
        elif tag.name == "operator" and current:
            current.open = True
    if current:
        yield current


def alias_of(tag: Tag) -> tuple[str, Type]:
    """The name and the type of an `@alias`. Raises `TypeTextError`."""
    found = re.match(r"([\w.-]+)(?:<[^>]*>)?\s*\|?\s*(.*)", tag.text)
    if found is None or not found[2]:
        raise TypeTextError(f"`@alias {tag.text}` has no type")
    return found[1], parse_type(found[2])[0]


def signature_of(block: Block, parameters: Sequence[str]) -> Function:
    """What a function takes and returns, by its annotations; what they leave out is `any`. Raises `TypeTextError`."""
    generics = {name for tag in block.all("generic") for name in re.findall(r"(\w+)", tag.text.split(":")[0])}
    declared = {one.name: one for one in map(parameter_of, block.all("param"))}
    fields = [declared.get(name, Field(name, ANY, name == "...")) for name in parameters]
    returned = returns_of(block)
    if generics or block.all("overload"):
        fields = [Field(one.name, ANY, optional=True) for one in fields]
        returned = None
    return Function(tuple(fields), returned)


def parameter_of(tag: Tag) -> Field:
    """The name and type of a `@param`. Raises `TypeTextError`."""
    found = re.match(r"(\w+|\.\.\.)(\?)?\s+(.*)", tag.text)
    if found is None:
        raise TypeTextError(f"`@param {tag.text}` has no type")
    type_, _ = parse_type(found[3])
    if found[2]:
        type_ = optional(type_)
    return Field(found[1], type_, found[1] == "..." or _takes_nil(type_))


def returns_of(block: Block) -> tuple[Type, ...]:
    """What the `@return` tags say, one by one. Raises `TypeTextError`."""
    found: list[Type] = []
    for tag in [*block.all("return"), *block.all("returns")]:
        if tag.text.startswith("#"):
            raise TypeTextError("`@return` has no type")
        found += parse_types(tag.text)[0]
    return tuple(found)


def _class(tag: Tag) -> Class:
    found = re.match(r"(?:\([^)]*\)\s*)?([\w.*-]+)(?:<[^>]*>)?\s*(?::\s*(.*))?", tag.text)
    if found is None:
        raise TypeTextError(f"`@class {tag.text}` has no name")
    made = Class(found[1])
    for parent in re.split(r",\s*(?![^<{]*[>}])", found[2] or ""):
        name = re.match(r"[\w.-]+", parent.strip())
        if name and name[0] not in ("table",):
            made.parents.append(name[0])
        elif parent.strip():
            made.open = True
    return made


def field_of(tag: Tag) -> Type:
    """The type of an `@field`. Raises `TypeTextError`."""
    owner = Class("")
    _add_field(owner, tag.text)
    return owner.item or next(iter(owner.fields.values()))


def _add_field(owner: Class, text: str) -> None:
    text = re.sub(r"^(private|protected|public|package)\s+", "", text)
    if keyed := re.match(r"""\[\s*(?:'([^']*)'|"([^"]*)")\s*\](\?)?\s*(.*)""", text):
        name, mark, rest = keyed[1] or keyed[2], keyed[3], keyed[4]
    elif text.startswith("["):
        owner.open = True
        _, rest = parse_type(text[1:])
        owner.item = parse_type(rest.lstrip().removeprefix("]"))[0]
        return
    elif plain := re.match(r"([\w]+)(\?)?\s+(.*)", text):
        name, mark, rest = plain[1], plain[2], plain[3]
    else:
        raise TypeTextError(f"`@field {text}` has no type")
    type_, description = parse_type(rest)
    type_ = optional(type_) if mark else type_
    known = owner.fields.get(name)
    owner.fields[name] = union((known, type_)) if known else type_
    owner.text[name] = description.strip().removeprefix("#").strip()
    if _takes_nil(type_):
        owner.optional.add(name)


def _takes_nil(type_: Type) -> bool:
    members = type_.members if isinstance(type_, Union) else (type_,)
    return NIL in members or ANY in members
