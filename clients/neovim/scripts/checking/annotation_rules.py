"""What can be wrong with annotations themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from clients.neovim.scripts.checking.annotations import KNOWN, Block, Tag, alias_of, classes_of, field_of, parameter_of
from clients.neovim.scripts.checking.library import Library
from clients.neovim.scripts.checking.source import Source, nodes_in, parameters_of, text_of, values_in
from clients.neovim.scripts.checking.type_text import Type, TypeTextError, names_in, parse_type, parse_types

Found = Iterator[tuple[int, str]]
"""Problems: the line, counted from 1, and what is wrong there."""

INLINE = re.compile(r"---@type (.+)|--\[\[@as (.+?)\]\]")


def block_problems(library: Library, block: Block) -> Found:
    """Report unknown tags, invalid types, and undeclared names."""
    generics = {name for tag in block.all("generic") for name in re.findall(r"(\w+)", tag.text.split(":")[0])}
    for tag in block.tags:
        if tag.name not in KNOWN:
            yield tag.line, f"`@{tag.name}` is no tag of LuaCATS"
            continue
        try:
            types = _types_of(tag)
        except TypeTextError as problem:
            yield tag.line, f"`@{tag.name} {tag.text}`: {problem}"
            continue
        yield from unknown_names(library, types, generics, tag.line)


def inline_problems(library: Library, source: Source) -> Found:
    """The same for `---@type` behind a statement, and for `--[[@as …]]`."""
    for node in nodes_in(source.tree):
        found = INLINE.fullmatch(text_of(node)) if node.type == "comment" else None
        if found is None:
            continue
        line = node.start_point.row + 1
        try:
            yield from unknown_names(library, parse_types(found[1] or found[2])[0], set(), line)
        except TypeTextError as problem:
            yield line, f"`{text_of(node)}`: {problem}"


def unknown_names(library: Library, types: tuple[Type, ...], generics: set[str], line: int) -> Found:
    """The names in types that nothing declares."""
    for name in {name for type_ in types for name in names_in(type_)} - generics:
        if not library.knows(name):
            yield line, f"no type is called `{name}`"


def _types_of(tag: Tag) -> tuple[Type, ...]:
    if tag.name == "param":
        return (parameter_of(tag).type,)
    if tag.name == "alias":
        return (alias_of(tag)[1],)
    if tag.name in ("return", "type"):
        return parse_types(tag.text)[0]
    if tag.name == "class":
        parents = [parse_type(parent)[0] for made in classes_of(Block(tags=(tag,))) for parent in made.parents]
        return tuple(parents)
    if tag.name == "field":
        return (field_of(tag),)
    return ()


def signature_problems(function: Node, block: Block, line: int) -> Found:
    """What a named function's annotations leave out, or say of parameters that it does not have."""
    names = [name for name in parameters_of(function) if not name.startswith("_")]
    declared = [tag.text.split()[0].rstrip("?") for tag in block.all("param") if tag.text]
    missing = [name for name in names if name not in declared]
    if missing:
        yield line, f"`@param` is missing for {', '.join(missing)}"
    for name in declared:
        if name not in parameters_of(function):
            yield line, f"`@param {name}` is of no parameter: there are {', '.join(names) or 'none'}"
    if not missing and [name for name in declared if name in names] != names:
        yield line, f"`@param` has another order than {', '.join(names)}"
    returned = [one for one in returns_in(function) if _gives_a_value(one)]
    if returned and not block.all("return"):
        yield line, f"`@return` is missing: line {returned[0].start_point.row + 1} returns a value"


def returns_in(function: Node) -> Iterator[Node]:
    """The `return` statements of a function, without those of functions in it."""
    waiting = [function.child_by_field_name("body")]
    while waiting:
        node = waiting.pop()
        if node is None or node.type in ("function_definition", "function_declaration"):
            continue
        if node.type == "return_statement":
            yield node
        waiting += reversed(node.children)


def _gives_a_value(statement: Node) -> bool:
    """Whether it is sure that it returns something: `return f()` also ends a function that returns nothing."""
    values = values_in(statement, "expression_list")
    return bool(values) and not (len(values) == 1 and values[0].type in ("function_call", "nil"))
