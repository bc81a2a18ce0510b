"""Documentation in the plugin's source: options, commands, functions, events, keys and highlight groups. The source is
parsed, not run, so that the help can be generated without Neovim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from clients.neovim.scripts.checking.annotations import Class, Tag, classes_of
from clients.neovim.scripts.checking.fitting import spelled
from clients.neovim.scripts.checking.source import (
    Source,
    arguments_of,
    nodes_in,
    parameters_of,
    read_source,
    string_of,
    text_of,
    values_in,
)
from clients.neovim.scripts.checking.type_text import parse_type


@dataclass(frozen=True)
class Option:
    """`chat.size`, its type and default as the source writes them, and what it is for."""

    name: str
    type: str
    default: str
    text: str


@dataclass(frozen=True)
class Subcommand:
    """`:Pygent ask {prompt}`."""

    name: str
    arguments: str
    text: str


@dataclass(frozen=True)
class ApiFunction:
    """A function of `require("pygent")`; parameters and results with their types and what they are."""

    name: str
    parameters: tuple[tuple[str, str, str], ...]
    returns: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Named:
    """A key, an event or a highlight group, and what it is; `more` is its mode, or what it is linked to."""

    name: str
    text: str
    more: str = ""


class HelpError(ValueError):
    """The source is not written so that help can be made of it; the message says where."""


def options_in(config: Path) -> list[Option]:
    """All options, in the order of `pygent.Config`, those of its tables behind it."""
    source = read_source(config)
    declared: dict[str, tuple[Class, list[Tag]]] = {}
    for block in source.blocks.values():
        for made in classes_of(block):
            declared[made.name] = (made, block.all("field"))
    defaults = dict(_defaults(source))
    return list(_options(declared, defaults, "pygent.Config", ""))


def _options(
    declared: dict[str, tuple[Class, list[Tag]]], defaults: dict[str, str], owner: str, path: str
) -> Iterator[Option]:
    _, fields = declared[owner]
    inner: list[tuple[str, str]] = []
    for tag in fields:
        name = tag.text.split()[0].rstrip("?")
        type_, behind = parse_type(tag.text.split(maxsplit=1)[1])
        text = " ".join([*tag.before, behind.strip()]).strip()
        nested = next((one for one in declared if re.search(rf"\b{re.escape(one)}\b(?!\.)", tag.text)), None)
        if nested:
            inner.append((nested, f"{path}{name}."))
        if not nested or "|" in spelled(type_):
            yield Option(path + name, spelled(type_), defaults.get(path + name, ""), text)
    for nested, prefix in inner:
        yield from _options(declared, defaults, nested, prefix)


def _defaults(source: Source) -> Iterator[tuple[str, str]]:
    for statement in source.tree.named_children:
        if statement.type == "assignment_statement" and text_of(statement).startswith("M.defaults ="):
            yield from _flat(values_in(statement, "expression_list")[0], "")


def _flat(table: Node, path: str) -> Iterator[tuple[str, str]]:
    for name, value in _fields(table):
        yield path + name, " ".join(text_of(value).split())
        if value.type == "table_constructor":
            yield from _flat(value, f"{path}{name}.")


def subcommands_in(commands: Path) -> list[Subcommand]:
    """The subcommands of `:Pygent`, sorted. Raises `HelpError`."""
    index = read_source(commands / "init.lua")
    modules: dict[str, str] = {}
    for statement in index.tree.named_children:
        if statement.type == "assignment_statement" and text_of(statement).startswith("M.modules ="):
            table = values_in(statement, "expression_list")[0]
            modules = {name: string_of(value) or "" for name, value in _fields(table)}
    return [_subcommand(name, commands / f"{modules[name].replace('.', '/')}.lua") for name in sorted(modules)]


def _subcommand(name: str, path: Path) -> Subcommand:
    source = read_source(path)
    for statement in source.tree.named_children:
        if statement.type != "assignment_statement":
            continue
        target, value = values_in(statement, "variable_list")[0], values_in(statement, "expression_list")[0]
        if text_of(target) in (f"M.{name}", f'M["{name}"]') and value.type == "table_constructor":
            fields = dict(_fields(value))
            summary = string_of(fields.get("summary"))
            if summary:
                return Subcommand(name, string_of(fields.get("arguments")) or "", summary)
    raise HelpError(f'{path} has no `M.{name} = {{ summary = "…" }}}}`')


def functions_in(module: Path) -> list[ApiFunction]:
    """The public functions of a module, in its order."""
    source = read_source(module)
    found: list[ApiFunction] = []
    for statement in source.tree.named_children:
        name = re.match(r"function M\.([a-z]\w*)", text_of(statement))
        if statement.type != "function_declaration" or name is None:
            continue
        block = source.before(statement)
        parameters = tuple(_parameter(tag) for tag in block.all("param"))
        returns = tuple(tag.text for tag in block.all("return"))
        text = " ".join(block.text)
        known = {one[0].rstrip("?") for one in parameters}
        if set(parameters_of(statement)) - known:
            raise HelpError(f"{module}: `{name[1]}` has parameters without `@param`")
        found.append(ApiFunction(name[1], parameters, returns, text))
    return found


def _parameter(tag: Tag) -> tuple[str, str, str]:
    name, rest = tag.text.split(maxsplit=1)
    type_, text = parse_type(rest)
    written = rest[: len(rest) - len(text)].strip() or spelled(type_)
    return name, written, text.strip()


def events_in(notifications: Path) -> list[Named]:
    """The patterns of `User` autocommands, with what is said behind each."""
    alias = re.search(r"---@alias pygent\.UserEvent\n((?:---\|.*\n)+)", notifications.read_text(encoding="utf-8"))
    if alias is None:
        raise HelpError(f"{notifications} has no alias `pygent.UserEvent`")
    return [Named(name, text) for name, text in re.findall(r'---\| "(\w+)" # (.+)', alias[1])]


def highlights_in(plugin: Path) -> list[Named]:
    """The highlight groups: each is a table with a `name`, a `link` and a `summary`."""
    return [
        Named(table["name"], table["summary"], table["link"])
        for table in _tables(plugin)
        if {"name", "link", "summary"} <= set(table)
    ]


def keys_in(folder: Path) -> list[Named]:
    """The keys that a part of the plugin maps, each with its modes, in the order of the source.

    They stand in tables with `lhs`, `modes` and `summary`, or in calls of `vim.keymap.set` with a `desc`.
    """
    found: dict[tuple[str, str], Named] = {}
    for source in _sources(folder):
        for one in (*_tabled(source), *_mapped(source)):
            found.setdefault((one.name, one.more), one)
    return list(found.values())


def _tabled(source: Source) -> Iterator[Named]:
    for node in nodes_in(source.tree):
        fields = dict(_fields(node)) if node.type == "table_constructor" else {}
        key, text, modes = (fields.get(name) for name in ("lhs", "summary", "modes"))
        if key and text and modes:
            yield Named(string_of(key) or "", string_of(text) or "", _letters(modes))


def _mapped(source: Source) -> Iterator[Named]:
    """`vim.keymap.set(MODE, KEY, …, { desc = … })`."""
    for node in nodes_in(source.tree):
        name = node.child_by_field_name("name") if node.type == "function_call" else None
        if name is None or text_of(name) != "vim.keymap.set":
            continue
        given = arguments_of(node)
        key, text = string_of(given[1]), string_of(dict(_fields(given[-1])).get("desc"))
        if key and text:
            yield Named(key, text.removeprefix("pygent: "), _letters(given[0]))


def _letters(modes: Node) -> str:
    """`nx` of `{ "n", "x" }`."""
    return "".join(re.findall(r"\w", text_of(modes)))


def _tables(folder: Path) -> Iterator[dict[str, str]]:
    """All tables of a folder's files, as far as their fields are literal strings."""
    for source in _sources(folder):
        for node in nodes_in(source.tree):
            if node.type == "table_constructor":
                fields = {name: string_of(value) for name, value in _fields(node)}
                yield {name: text for name, text in fields.items() if text is not None}


def _sources(folder: Path) -> Iterator[Source]:
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.lua")):
        yield read_source(path)


def _fields(table: Node) -> Iterator[tuple[str, Node]]:
    for one in table.named_children:
        name, value = one.child_by_field_name("name"), one.child_by_field_name("value")
        if one.type == "field" and name is not None and value is not None:
            yield string_of(name) or text_of(name), value
