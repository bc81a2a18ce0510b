"""Finds the symbols that a source text defines, and the names that it refers to, with its syntax tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pygent_ls.syntax.languages import LANGUAGES, language_of, parser_of

if TYPE_CHECKING:
    from tree_sitter import Node, Query

MAX_SIGNATURE_CHARS = 160
"""Maximum length of a displayed signature."""

MAX_HEADER_BYTES = 2_000
"""Maximum length of the part of a definition between its name and its body."""

_KINDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("function_definition", "function_declaration", "generator_function_declaration", "function_item"), "function"
    ),
    "local_function_statement": "function",
    **dict.fromkeys(("function_signature", "function_signature_item", "declaration"), "declaration"),
    **dict.fromkeys(("protocol_function_declaration", "val_declaration", "var_declaration"), "declaration"),
    **dict.fromkeys(
        ("method_definition", "method_declaration", "method", "singleton_method", "constructor_declaration"), "method"
    ),
    **dict.fromkeys(("method_signature", "abstract_method_signature"), "declaration"),
    **dict.fromkeys(
        ("class_definition", "class_declaration", "abstract_class_declaration", "class_specifier", "class"), "class"
    ),
    **dict.fromkeys(("object_declaration", "object_definition"), "class"),
    **dict.fromkeys(
        ("struct_item", "struct_specifier", "union_item", "union_specifier", "record_declaration"), "struct"
    ),
    "struct_declaration": "struct",
    **dict.fromkeys(("enum_item", "enum_specifier", "enum_declaration", "enum_definition"), "enum"),
    **dict.fromkeys(("enum_variant", "enumerator", "enum_constant", "enum_member_declaration"), "enum value"),
    **dict.fromkeys(("enum_entry", "enum_case", "simple_enum_case", "full_enum_case"), "enum value"),
    **dict.fromkeys(("trait_item", "interface_declaration", "concept_definition"), "interface"),
    **dict.fromkeys(("trait_declaration", "trait_definition", "protocol_declaration"), "interface"),
    **dict.fromkeys(("type_spec", "type_alias", "type_item", "type_alias_declaration"), "type"),
    **dict.fromkeys(("type_definition", "alias_declaration", "annotation_type_declaration"), "type"),
    **dict.fromkeys(("typealias_declaration", "delegate_declaration", "type_alias_statement"), "type"),
    **dict.fromkeys(("mod_item", "module", "namespace_definition", "internal_module"), "module"),
    **dict.fromkeys(("namespace_declaration", "file_scoped_namespace_declaration"), "module"),
    **dict.fromkeys(("macro_definition", "preproc_def", "preproc_function_def"), "macro"),
    **dict.fromkeys(("field_declaration", "field_definition", "public_field_definition"), "field"),
    **dict.fromkeys(("var_spec", "const_spec", "const_item", "static_item", "variable_declarator"), "variable"),
    **dict.fromkeys(("assignment", "assignment_statement", "assignment_expression", "init_declarator"), "variable"),
    **dict.fromkeys(("property_declaration", "property_element", "const_element"), "variable"),
    **dict.fromkeys(("val_definition", "var_definition", "variable_assignment"), "variable"),
    **dict.fromkeys(("pair", "field"), "function"),
}
"""Kinds of the nodes that define something."""

_ON_THE_WAY = frozenset(
    {
        *("pointer_declarator", "function_declarator", "array_declarator", "reference_declarator"),
        *("parenthesized_declarator", "qualified_identifier", "scope_resolution", "variable_list"),
        *("dot_index_expression", "method_index_expression", "member_expression"),
        *("variable_declaration", "variable_name", "pattern", "qualified_name", "namespace_name", "type"),
    }
)
"""Node types that may be between a node and its name."""

_NAME_FIELDS = ("name", "declarator", "left", "field", "method", "property", "key", "pattern", "bound_identifier")

_NEEDS_BODY = frozenset({"class_specifier", "struct_specifier", "union_specifier", "enum_specifier"})
_NEEDS_FUNCTION = frozenset({"pair", "field", "assignment_expression"})
_SCOPES = re.compile(r"function|method|lambda|arrow|closure|do_block|constructor")

_IDENTIFIERS = frozenset(
    {
        *("identifier", "type_identifier", "field_identifier", "property_identifier", "simple_identifier", "constant"),
        *("private_property_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"),
        *("shorthand_field_identifier", "namespace_identifier", "package_identifier", "operator_identifier"),
    }
)
"""Node types of names."""

_MORE_IDENTIFIERS: Mapping[str, frozenset[str]] = {
    "tree_sitter_php": frozenset({"name"}),
    "tree_sitter_bash": frozenset({"word", "variable_name"}),
}

_BODY = re.compile(r"(?:^|_)body$|_body_|^block$|^(?:enum_)?declaration_list$|^template_body$|^accessor_list$")
"""Types of child nodes that a signature ends before, where the grammar has no field `body`."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """Something that a source text defines: a function, a class, a type, a constant or the like."""

    name: str
    kind: str
    """`class`, `function`, `method`, `struct`, `enum`, `enum value`, `interface`, `type`, `module`, `macro`, `field`,
    `variable`, or `declaration` for a function without its body."""
    line: int
    """Line of its name, from 1."""
    header_end_line: int
    """Last line before its body, from 1: `signature_of` reads up to there."""
    end_line: int
    """Last line of its definition, from 1."""
    container: str = ""
    """Name of the symbol that it is in; empty at the top level."""
    depth: int = 0
    """Number of symbols that it is in."""


class Reference(NamedTuple):
    """Place where a source text names something, in a definition or elsewhere; not in comments and strings."""

    line: int
    """Line number, from 1."""
    column: int
    """Offset in the line in characters, from 0."""


def signature_of(lines: Sequence[str], symbol: Symbol) -> str:
    """Return a symbol's definition up to its body, in one line; `lines` are those of its text."""
    head = " ".join(lines[symbol.line - 1 : symbol.header_end_line])[: 4 * MAX_SIGNATURE_CHARS]
    text = " ".join(head.split()).removesuffix("{").rstrip()
    return text if len(text) <= MAX_SIGNATURE_CHARS else f"{text[: MAX_SIGNATURE_CHARS - 1]}…"


def symbols_in(text: str, suffix: str) -> list[Symbol]:
    """Return what a text with a suffix from `LANGUAGES` defines, in order; local variables are left out."""
    return list(_symbols(_ParsedText(text, suffix)))


def definitions_in(text: str, suffix: str, name: str) -> list[Symbol]:
    """Return the definitions of a name, at most one a line."""
    found: dict[int, Symbol] = {}
    for each in symbols_in(text, suffix):
        if each.name == name:
            found.setdefault(each.line, each)
    return list(found.values())


def references_in(text: str, suffix: str, name: str) -> list[Reference]:
    """Return the places that name something, definitions included, in order."""
    source, wanted = _ParsedText(text, suffix), name.encode("utf-8", "surrogatepass")
    found: list[Reference] = []
    for node in source.identifiers():
        if source.raw[node.start_byte : node.end_byte] == wanted:
            row, column = node.start_point
            start = source.raw[node.start_byte - column : node.start_byte].decode("utf-8", "replace")
            found.append(Reference(row + 1, len(start)))
    return sorted(set(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a text defines and refers to."""

    symbols: Sequence[Symbol]
    references: Mapping[str, int]
    """How often it names each name, its own definitions not counted."""
    imports: Sequence[str]
    """Words of the lines that import something, sorted: the names of modules and files are among them."""


def outline_of(text: str, suffix: str) -> Outline:
    """Return the symbols and references of a text with a suffix from `LANGUAGES`."""
    source = _ParsedText(text, suffix)
    symbols = list(_symbols(source))
    raw = source.raw
    counts = Counter(raw[node.start_byte : node.end_byte] for node in source.identifiers())
    counts.subtract(Counter(each.name.encode("utf-8", "surrogatepass") for each in symbols))
    references = {name.decode("utf-8", "replace"): count for name, count in counts.items() if count > 0}
    return Outline(symbols=symbols, references=references, imports=_imports(text))


def _imports(text: str) -> Sequence[str]:
    named = (found for pattern in _IMPORTS for found in pattern.findall(text))
    return sorted({word for found in named for word in _WORD.findall(found)})


_IMPORTS = (
    re.compile(
        r"^[ \t]{0,40}(?:pub )?(?:import|from|use|using|mod|source|include|require|include_once|require_once|"
        r"require_relative|#include|# include|\.)[ \t(\"'<]([^\n]{1,300})",
        re.MULTILINE,
    ),
    re.compile(r"\b(?:from|require|import)[ \t]?\(?([\"'][^\"'\n]{1,300})"),
    re.compile(r"^(?:import|from|export|use)\b[^\n({]{0,300}[({]([^)}]{1,2000})[)}]", re.MULTILINE),  # on several lines
    re.compile(r"^[ \t]{1,40}(?:[\w.]{1,40} )?\"([\w./-]{1,300})\"$", re.MULTILINE),  # in a list of imports of Go
)
"""Lines and expressions that import something, in all languages."""

_WORD = re.compile(r"[\w-]+")


class _ParsedText:
    """Source text with its tree."""

    def __init__(self, text: str, suffix: str) -> None:
        self.raw = text.encode("utf-8", "surrogatepass")
        self.grammar = LANGUAGES[suffix]
        self.root = parser_of(suffix).parse(self.raw).root_node
        self._suffix = suffix

    def nodes(self) -> Sequence[Node]:
        """Return the nodes that may define something or are a scope, each before those inside it."""
        found = self._captured(_DEFINITIONS)
        return sorted(found, key=lambda node: (node.start_byte, -node.end_byte))

    def identifiers(self) -> Sequence[Node]:
        """Return the nodes that are names."""
        return self._captured(_NAMES)

    def _captured(self, what: str) -> Sequence[Node]:
        from tree_sitter import QueryCursor

        query = _query(self._suffix, self.grammar, what)
        return QueryCursor(query).captures(self.root).get("node", [])


_DEFINITIONS = "definitions"
_NAMES = "names"


@cache
def _query(suffix: str, grammar: tuple[str, str], what: str) -> Query:
    from tree_sitter import Query

    language = language_of(suffix)
    ids = range(language.node_kind_count)
    kinds = {
        kind
        for each in ids
        if language.node_kind_is_named(each)
        and language.node_kind_is_visible(each)
        and (kind := language.node_kind_for_id(each))
    }
    if what == _DEFINITIONS:
        wanted = {kind for kind in kinds if kind in _KINDS or _is_scope(kind)}
    else:
        wanted = kinds & _identifiers(grammar[0]) - {"word"}
    patterns = [f"({kind})" for kind in sorted(wanted)]
    if what == _NAMES and "command_name" in kinds:  # of bash, where an argument is a word, too
        patterns += ["(command_name (word) @node)"]
        return Query(language, f"[{' '.join(patterns[:-1])}] @node {patterns[-1]}")
    return Query(language, f"[{' '.join(patterns)}] @node")


def _identifiers(module: str) -> frozenset[str]:
    return _IDENTIFIERS | _MORE_IDENTIFIERS.get(module, frozenset())


def _is_scope(kind: str) -> bool:
    return _SCOPES.search(kind) is not None and "declarator" not in kind


class _OpenScope(NamedTuple):
    """Node that contains what comes next."""

    end: int
    is_scope: bool
    name: str


def _symbols(source: _ParsedText) -> Iterator[Symbol]:
    identifiers = _identifiers(source.grammar[0])
    opened: list[_OpenScope] = []
    n_scopes = 0
    for node in source.nodes():
        while opened and opened[-1].end <= node.start_byte:
            n_scopes -= opened.pop().is_scope
        own = ""
        for child, leaf in _names(node, identifiers) if node.type in _KINDS else ():
            if (kind := _kind(node, child, is_local=n_scopes > 0)) is None:
                continue
            named = [each.name for each in opened if each.name]
            name = source.raw[leaf.start_byte : leaf.end_byte].decode("utf-8", "replace")
            own = own or name
            yield Symbol(
                name=name,
                kind=kind,
                line=leaf.start_point[0] + 1,
                end_line=node.end_point[0] + 1,
                header_end_line=_header_end(source.raw, node, leaf) + 1,
                container=named[-1] if named else "",
                depth=len(named),
            )
        is_scope = _is_scope(node.type)
        opened.append(_OpenScope(node.end_byte, is_scope, own))
        n_scopes += is_scope


def _names(node: Node, identifiers: frozenset[str]) -> Iterator[tuple[Node, Node]]:
    """Yield the names that a node gives, each with the node's child that it is in."""
    if node.type == "assignment_statement":  # of Lua: fields of its lists have the names of others
        children = [each for each in node.named_children if each.type == "variable_list"]
    else:
        fields = ("name",) if node.type == "field" else _NAME_FIELDS
        children = [child for field in fields for child in node.children_by_field_name(field)]
        if not children and node.type in _UNNAMED:
            children = [each for each in node.named_children if each.type in identifiers | _ON_THE_WAY][:1]
    for child in children:
        yield from ((child, leaf) for leaf in _leaves(child) if leaf.type in identifiers)


_UNNAMED = frozenset({"property_declaration", "enum_entry", "const_element", "type_alias"})
"""Nodes whose name has no field in some grammars."""


def _leaves(child: Node) -> Iterator[Node]:
    node: Node | None = child
    while node is not None and node.type in _ON_THE_WAY and node.named_child_count:
        if node.type == "variable_list":
            for each in node.named_children:
                yield from _leaves(each)
            return
        node = _last_name(node)
    if node is not None and not node.named_child_count:
        yield node


def _last_name(node: Node) -> Node | None:
    """Return the child that is the name proper: `b` in `a.b`."""
    for field in _NAME_FIELDS:
        if found := node.child_by_field_name(field):
            return found
    if node.type in ("namespace_name", "qualified_name"):
        return node.named_children[-1]
    return node.named_children[0] if node.named_child_count == 1 or node.type == "variable_declaration" else None


def _kind(node: Node, child: Node, *, is_local: bool) -> str | None:
    """Return the kind of what a node with a name defines; None if it defines nothing."""
    kind = _KINDS[node.type]
    if node.type in _NEEDS_BODY and node.child_by_field_name("body") is None:
        return None
    is_function = (value := _value(node)) is not None and "function" in value.type
    if node.type in _NEEDS_FUNCTION and not is_function:
        return None
    if kind in ("variable", "declaration") and is_local:
        return None
    if node.type == "declaration" and child.type != "function_declarator":
        return "variable"
    if node.type == "field_declaration" and child.type == "function_declarator":
        return "declaration"
    return "function" if kind == "variable" and is_function else kind


def _value(node: Node) -> Node | None:
    return node.child_by_field_name("value") or node.child_by_field_name("right")


def _header_end(raw: bytes, node: Node, name: Node) -> int:
    """Return the row in which a definition's text before its body ends; that of its name if it has none."""
    row = name.end_point[0]
    body = _body(node)
    if body is None or body.start_byte <= name.end_byte:
        return row
    head = raw[name.end_byte : min(body.start_byte, name.end_byte + MAX_HEADER_BYTES)]
    return row + head.rstrip().count(b"\n")


def _body(node: Node) -> Node | None:
    """Return the body of a definition, which its signature ends before."""
    if found := node.child_by_field_name("body"):
        return found
    value = _value(node)
    if value is not None and (found := value.child_by_field_name("body")):
        return found
    return next((each for each in node.named_children if _BODY.search(each.type)), None)
