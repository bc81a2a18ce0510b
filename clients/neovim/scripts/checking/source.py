"""A Lua file: its tree, and the annotations before each statement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import tree_sitter_lua
from tree_sitter import Language, Node, Parser

from clients.neovim.scripts.checking.annotations import Block, comment_blocks

NOTHING = Block()


@dataclass(frozen=True)
class Source:
    """A file as `path` says it, and the comment blocks of it by the line that follows each, counted from 1."""

    path: Path
    text: str
    tree: Node
    blocks: dict[int, Block]
    casts: dict[int, str] = field(default_factory=dict[int, str])
    """What `--[[@as TYPE]]` says, by the byte where the expression before it ends."""

    def before(self, node: Node) -> Block:
        """The annotations of a statement."""
        return self.blocks.get(line_of(node), NOTHING)

    def behind(self, node: Node) -> str | None:
        """The text of a `---@type` that stands behind a statement on its last line."""
        line = self.text.split("\n")[node.end_point.row]
        _, mark, text = line.partition("---@type ")
        return text if mark else None


def read_source(path: Path, text: str | None = None) -> Source:
    """Read a file, or take `text` as what stands in it."""
    text = path.read_text(encoding="utf-8") if text is None else text
    tree = _parser().parse(text.encode()).root_node
    blocks = {block.last_line + 1: block for block in comment_blocks(text.split("\n"))}
    return Source(path, text, tree, blocks, dict(_casts(text.encode(), tree)))


def line_of(node: Node) -> int:
    """The line where a node begins, counted from 1."""
    return node.start_point.row + 1


def text_of(node: Node) -> str:
    """The code of a node."""
    return (node.text or b"").decode()


def nodes_in(node: Node) -> Iterator[Node]:
    """A node, and all within it, in the order of the text."""
    yield node
    for child in node.children:
        yield from nodes_in(child)


def string_of(node: Node | None) -> str | None:
    """The value of a literal string without escapes; None for anything else."""
    if node is None or node.type != "string":
        return None
    content = node.child_by_field_name("content")
    return text_of(content) if content else ""


def parameters_of(function: Node) -> list[str]:
    """The names between the brackets of a function."""
    found = function.child_by_field_name("parameters")
    return [text_of(one) for one in found.named_children if one.type != "comment"] if found else []


def arguments_of(call: Node) -> list[Node]:
    """What a call is given."""
    found = call.child_by_field_name("arguments")
    return [one for one in found.named_children if one.type != "comment"] if found else []


def values_in(node: Node, kind: str) -> list[Node]:
    """The parts of the list of that kind that stands directly in a node, such as its `expression_list`."""
    for child in node.named_children:
        if child.type == kind:
            return [one for one in child.named_children if one.type != "comment"]
    return []


def required_module(node: Node | None) -> str | None:
    """`pygent.chat` of `require("pygent.chat")`."""
    if node is None or node.type != "function_call":
        return None
    name, given = node.child_by_field_name("name"), arguments_of(node)
    return string_of(given[0]) if name and text_of(name) == "require" and len(given) == 1 else None


def _casts(code: bytes, tree: Node) -> Iterator[tuple[int, str]]:
    for node in nodes_in(tree):
        if node.type == "comment" and text_of(node).startswith("--[[@as "):
            yield len(code[: node.start_byte].rstrip()), text_of(node)[8:].removesuffix("]]").strip()


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_lua.language()))
