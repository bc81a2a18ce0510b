"""Finds definitions of a name in source text with its syntax tree. The grammars are included in their wheels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LANGUAGES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys((".py", ".pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".c": ("tree_sitter_c", "language"),
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), ("tree_sitter_cpp", "language")),
    ".java": ("tree_sitter_java", "language"),
    **dict.fromkeys((".rb", ".rake"), ("tree_sitter_ruby", "language")),
    ".lua": ("tree_sitter_lua", "language"),
}
"""Module and name of its language function, by file suffix."""

_KINDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("function_definition", "function_declaration", "generator_function_declaration", "function_item"), "function"
    ),
    **dict.fromkeys(("function_signature", "function_signature_item", "declaration"), "declaration"),
    **dict.fromkeys(
        ("method_definition", "method_declaration", "method", "singleton_method", "constructor_declaration"), "method"
    ),
    "method_signature": "declaration",
    **dict.fromkeys(
        ("class_definition", "class_declaration", "abstract_class_declaration", "class_specifier", "class"), "class"
    ),
    **dict.fromkeys(
        ("struct_item", "struct_specifier", "union_item", "union_specifier", "record_declaration"), "struct"
    ),
    **dict.fromkeys(("enum_item", "enum_specifier", "enum_declaration"), "enum"),
    **dict.fromkeys(("enum_variant", "enumerator", "enum_constant"), "enum value"),
    **dict.fromkeys(("trait_item", "interface_declaration", "concept_definition"), "interface"),
    **dict.fromkeys(("type_spec", "type_alias", "type_item", "type_alias_declaration"), "type"),
    **dict.fromkeys(("type_definition", "alias_declaration", "annotation_type_declaration"), "type"),
    **dict.fromkeys(("mod_item", "module", "namespace_definition", "internal_module"), "module"),
    **dict.fromkeys(("macro_definition", "preproc_def", "preproc_function_def"), "macro"),
    **dict.fromkeys(("field_declaration", "field_definition", "public_field_definition"), "field"),
    **dict.fromkeys(("var_spec", "const_spec", "const_item", "static_item", "variable_declarator"), "variable"),
    **dict.fromkeys(("assignment", "assignment_statement", "assignment_expression", "init_declarator"), "variable"),
    **dict.fromkeys(("pair", "field"), "function"),
}

_ON_THE_WAY = frozenset(
    {
        *("pointer_declarator", "function_declarator", "array_declarator", "reference_declarator"),
        *("parenthesized_declarator", "qualified_identifier", "scope_resolution", "variable_list"),
        *("dot_index_expression", "method_index_expression", "member_expression"),
    }
)
"""Node types that may be between a name and the node that it names."""

_NAME_FIELDS = ("name", "declarator", "left", "field", "method", "property", "key")

_NEEDS_BODY = frozenset({"class_specifier", "struct_specifier", "union_specifier", "enum_specifier"})
_NEEDS_FUNCTION = frozenset({"pair", "field", "assignment_expression"})
_SCOPES = re.compile(r"function|method|lambda|arrow|closure|do_block|constructor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Definition of a name."""

    line: int
    """Line number, from 1."""
    kind: str
    text: str
    """Line without its indentation."""


def definitions_in(text: str, suffix: str, name: str) -> list[Definition]:
    """Return the definitions of a name in a text with a suffix from `LANGUAGES`; local variables are left out."""
    raw = text.encode("utf-8", "surrogatepass")
    lines = text.split("\n")
    root = _parser(suffix).parse(raw).root_node
    found: dict[int, Definition] = {}
    for match in re.finditer(rb"(?<![\w$])" + re.escape(name.encode()) + rb"(?![\w$])", raw):
        leaf = root.descendant_for_byte_range(match.start(), match.end())
        kind = _kind_of(leaf) if leaf is not None and leaf.start_byte == match.start() else None
        if leaf is not None and kind is not None:
            row = leaf.start_point[0]
            found.setdefault(row, Definition(line=row + 1, kind=kind, text=lines[row].strip()))
    return list(found.values())


@cache
def _parser(suffix: str) -> Parser:
    from tree_sitter import Language, Parser

    module, function = LANGUAGES[suffix]
    capsule: object = getattr(import_module(module), function)()
    return Parser(Language(capsule))


def _kind_of(leaf: Node) -> str | None:
    """Return the kind of node that the leaf names; None if it is only a reference."""
    child, node = leaf, leaf.parent
    while (
        node is not None and node.type in _ON_THE_WAY and (node.type == "variable_list" or _is_last_name(child, node))
    ):
        child, node = node, node.parent
    if node is None or node.type not in _KINDS or not _is_named_by(child, node):
        return None
    kind = _KINDS[node.type]
    if node.type in _NEEDS_BODY and node.child_by_field_name("body") is None:
        return None
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    is_function = value is not None and "function" in value.type
    if node.type in _NEEDS_FUNCTION and not is_function:
        return None
    if kind in ("variable", "declaration") and _is_local(node):
        return None
    if node.type == "declaration" and child.type != "function_declarator":
        return "variable"
    return "function" if kind == "variable" and is_function else kind


def _is_last_name(child: Node, node: Node) -> bool:
    """Return whether the child is the name proper: `b` in `a.b`, not `a`."""
    return any(node.child_by_field_name(each) == child for each in _NAME_FIELDS) or len(node.named_children) == 1


def _is_named_by(child: Node, node: Node) -> bool:
    if node.type == "assignment_statement":
        return child.type == "variable_list"
    fields = _NAME_FIELDS if node.type != "field" else ("name",)
    return any(child in node.children_by_field_name(each) for each in fields)


def _is_local(node: Node) -> bool:
    return any(_SCOPES.search(above.type) and "declarator" not in above.type for above in _above(node))


def _above(node: Node) -> Iterator[Node]:
    current = node.parent
    while current is not None:
        yield current
        current = current.parent
