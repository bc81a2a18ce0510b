"""What names stand for: the plugin's own classes, aliases and modules, and those of Neovim's runtime."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from clients.neovim.scripts.checking.annotations import Block, Class, alias_of, classes_of, comment_blocks, signature_of
from clients.neovim.scripts.checking.source import Source, nodes_in, parameters_of, text_of, values_in
from clients.neovim.scripts.checking.type_text import (
    ANY,
    NIL,
    Array,
    Field,
    Function,
    Named,
    Record,
    Type,
    TypeTextError,
    Union,
    parse_type,
    union,
)

PLAIN = frozenset(
    {
        "any",
        "nil",
        "string",
        "number",
        "integer",
        "boolean",
        "table",
        "function",
        "thread",
        "userdata",
        "unknown",
        "self",
        "osdate",
        "osdateparam",
    }
)
"""Types of Lua's own, and the two that annotations add."""


@dataclass
class Library:
    """All that annotations may name, and that code may call."""

    classes: dict[str, Class] = field(default_factory=dict[str, Class])
    aliases: dict[str, Type] = field(default_factory=dict[str, Type])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    """Functions of Neovim, by their whole name: `vim.api.nvim_buf_set_lines`."""
    modules: dict[str, str] = field(default_factory=dict[str, str])
    """The class of what `require` returns for a module of the plugin; empty without one."""

    def knows(self, name: str) -> bool:
        """Whether a type of that name is there; `uv.…` are those of luv, which Neovim's runtime does not describe."""
        return name in PLAIN or name in self.classes or name in self.aliases or name.startswith("uv.")

    def expanded(self, type_: Type, depth: int = 0) -> Type:
        """A type without aliases at its top."""
        if depth > 20:
            return ANY
        if isinstance(type_, Named) and type_.name in self.aliases:
            return self.expanded(self.aliases[type_.name], depth + 1)
        if isinstance(type_, Union):
            return union(tuple(self.expanded(one, depth + 1) for one in type_.members))
        return type_

    def alternatives(self, type_: Type) -> list[Type]:
        """What a value may be, other than nil."""
        whole = self.expanded(type_)
        return [one for one in (whole.members if isinstance(whole, Union) else (whole,)) if one != NIL]

    def field(self, type_: Type, name: str) -> Type | None:
        """Return the type of a field; None if the field is known not to exist."""
        found = [self._field_of(one, name) for one in self.alternatives(type_)]
        present = tuple(one for one in found if one is not None)
        if not found or (present and ANY in present):
            return ANY
        return union(present) if present else None

    def _field_of(self, type_: Type, name: str) -> Type | None:
        match type_:
            case Named("table", (_, value)):
                return value
            case Record(fields, is_open):
                return next((one.type for one in fields if one.name == name), ANY if is_open else None)
            case Named(class_name) if class_name in self.classes:
                return self.class_field(class_name, name)
            case _:
                return ANY

    def class_field(self, class_name: str, name: str) -> Type | None:
        """The type of a field of a class or of those that it is made from."""
        for one in self.ancestry(class_name):
            known = self.classes.get(one)
            if known is None or name in known.fields:
                return ANY if known is None else known.fields[name]
            if known.open:
                return known.item or ANY
        return None

    def ancestry(self, class_name: str) -> Iterator[str]:
        """A class, its parents, and theirs; also those that nothing is known of."""
        seen: set[str] = set()
        waiting = [class_name]
        while waiting:
            name = waiting.pop(0)
            if name in seen:
                continue
            seen.add(name)
            yield name
            if name in self.classes:
                waiting += self.classes[name].parents

    def item(self, type_: Type) -> Type:
        """The type of what an index gets."""
        found: list[Type] = []
        for one in self.alternatives(type_):
            match one:
                case Array(item) | Named("table", (_, item)):
                    found.append(item)
                case Named(name) if name in self.classes and self.classes[name].item:
                    found.append(self.classes[name].item or ANY)
                case _:
                    return ANY
        return union(tuple(found)) if found else ANY

    def declare(self, block: Block) -> None:
        """Read the classes and aliases that a block declares; invalid types are left out."""
        for made in classes_of(block):
            known = self.classes.setdefault(made.name, made)
            if known is not made:
                known.fields.update(made.fields)
                known.text.update(made.text)
                known.optional |= made.optional
                known.parents += made.parents
                known.open = known.open or made.open
        for tag in block.tags:
            if tag.name in ("alias", "enum"):
                with suppress(TypeTextError):
                    name, type_ = alias_of(tag) if tag.name == "alias" else (tag.text.split()[-1], ANY)
                    self.aliases[name] = type_


def load_runtime(library: Library, runtime: Path) -> None:
    """Read what the Lua files of Neovim's runtime declare; a file that cannot be read is left out."""
    for path in sorted(runtime.glob("lua/vim/**/*.lua")):
        lines = path.read_text(encoding="utf-8").split("\n")
        module = ".".join(path.relative_to(runtime / "lua").with_suffix("").parts).removesuffix(".init")
        returned = re.findall(r"^return (\w+)$", "\n".join(lines[-3:]), re.MULTILINE)
        root = returned[0] if returned else ""
        bound: dict[str, str] = {}
        for block in comment_blocks(lines):
            library.declare(block)
            following = lines[block.last_line] if block.last_line < len(lines) else ""
            if block.all("class") and (local := re.match(r"local (\w+) =", following)):
                bound[local[1]] = block.all("class")[-1].text.split(":")[0].split()[-1]
            _declare_function(library, block, following, (root, module), bound)


TOO_NARROW = frozenset({"vim.fn.appendbufline"})
"""Functions of Neovim that take more than its annotations say: here a list of lines."""

ANYTHING = Function((Field("...", ANY, optional=True),), None)
"""What is known of a function that is declared in more than one way."""

_FUNCTION = re.compile(r"function ([\w.]+)([.:])(\w+)\(([^)]*)\)|([\w.]+)\.(\w+) = function\(([^)]*)\)")


def _declare_function(library: Library, block: Block, line: str, home: tuple[str, str], bound: dict[str, str]) -> None:
    found = _FUNCTION.match(line)
    if found is None:
        return
    owner, sign, name = found[1] or found[5], found[2] or ".", found[3] or found[6]
    parameters = re.findall(r"[\w.]+", found[4] or found[7] or "")
    try:
        signature = signature_of(block, parameters)
    except TypeTextError:
        return
    if sign == ":":
        signature = with_self(signature)
    if owner in bound and bound[owner] in library.classes:
        library.classes[bound[owner]].fields.setdefault(name, signature)
    first, _, rest = owner.partition(".")
    whole = ".".join(part for part in (home[1] if first == home[0] != "vim" else first, rest, name) if part)
    if whole.startswith("vim."):
        known = library.functions.get(whole, signature)
        library.functions[whole] = signature if known == signature and whole not in TOO_NARROW else ANYTHING


def with_self(signature: Function) -> Function:
    """A method as a function of its object, too."""
    return Function((Field("self", ANY, optional=True), *signature.parameters), signature.returns)


def declare_module(library: Library, source: Source, module: str) -> dict[str, str]:
    """Take what a file of the plugin declares. Returns the class of each local table that has one, by its name."""
    for block in source.blocks.values():
        library.declare(block)
    bound = _bound_tables(library, source, module)
    for statement in source.tree.named_children:
        target = _target(statement)
        if target is None:
            continue
        owner, sign, name, value = target
        if owner in bound and not name.startswith("__"):
            found = _declared_type(source, statement, value, is_method=sign == ":")
            library.classes[bound[owner]].fields.setdefault(name, found)
    return bound


def _bound_tables(library: Library, source: Source, module: str) -> dict[str, str]:
    bound: dict[str, str] = {}
    for statement in source.tree.named_children:
        if statement.type == "variable_declaration":
            declared = source.before(statement).all("class")
            name = re.match(r"local (\w+) = \{", text_of(statement))
            if name and declared:
                bound[name[1]] = re.split(r"[\s:]", re.sub(r"^\([^)]*\)\s*", "", declared[-1].text))[0]
    returned = _returned(source)
    if returned and returned.type == "identifier":
        made = bound.setdefault(text_of(returned), f"require:{module}")
        library.classes.setdefault(made, Class(made))
        library.modules[module] = made
    else:
        library.modules[module] = ""
    return {name: made for name, made in bound.items() if made in library.classes}


def _returned(source: Source) -> Node | None:
    last = [one for one in source.tree.named_children if one.type == "return_statement"]
    values = values_in(last[-1], "expression_list") if last else []
    return values[0] if values else None


def _target(statement: Node) -> tuple[str, str, str, Node] | None:
    """Return table, operator, name, and function or value of `function M.name()` and `M.name = value`."""
    if statement.type == "function_declaration":
        target, value = statement.child_by_field_name("name"), statement
    elif statement.type == "assignment_statement":
        targets, values = values_in(statement, "variable_list"), values_in(statement, "expression_list")
        target, value = (targets[0], values[0]) if len(targets) == 1 and values else (None, statement)
    else:
        return None
    parts = re.fullmatch(r"(\w+)([.:])(\w+)", text_of(target)) if target else None
    return (parts[1], parts[2], parts[3], value) if parts else None


def _declared_type(source: Source, statement: Node, value: Node, *, is_method: bool) -> Type:
    block = source.before(statement)
    try:
        if value.type in ("function_declaration", "function_definition") and not block.all("type"):
            signature = signature_of(block, parameters_of(value))
            return with_self(signature) if is_method else signature
        declared = block.all("type")
        return parse_type(declared[0].text)[0] if declared else ANY
    except TypeTextError:
        return ANY


def modules_of(plugin: Path) -> Iterator[tuple[str, Path]]:
    """The plugin's modules, as `require` names them, and their files."""
    for path in sorted(plugin.glob("lua/**/*.lua")):
        yield ".".join(path.relative_to(plugin / "lua").with_suffix("").parts).removesuffix(".init"), path


def locals_assigned_again(source: Source) -> set[str]:
    """Names of variables that some statement gives another value: nothing is said of what they hold."""
    found: set[str] = set()
    for node in nodes_in(source.tree):
        if node.type == "assignment_statement" and node.parent and node.parent.type != "variable_declaration":
            found |= {text_of(one) for one in values_in(node, "variable_list") if one.type == "identifier"}
    return found
