"""Check that a tree-sitter tree accounts for every byte of its text as bash would read it.

tree-sitter-bash skips some bytes as if they were blanks (`\\ `), and lets some words extend over the end of a line
(`>$`, `\\t`). Such a tree is well formed, but not what bash runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from pygent_ls.shell.strict_grammar import RESERVED

if TYPE_CHECKING:
    from tree_sitter import Node

_BLANKS = re.compile(rb"(?:[ \t]|\\\n)*")
_BLANKS_AND_LINES = re.compile(rb"(?:[ \t\n]|\\\n)*")
_BLANK_OR_DASH = re.compile(rb"[ \t]+-[ \t]*|(?:[ \t]|\\\n)*")
"""Also matches the `-` of `python - <<END`, which tree-sitter-bash drops and `parser` restores."""
_WORD = re.compile(rb"(?:\\[^\n]|\\\n|[^\\\s;&|<>()'\"])+", re.DOTALL)
_COMMENT = re.compile(rb"#[^\n]*")

_HOLDS_LINES = frozenset(
    {"program", "list", "pipeline", "compound_statement", "do_group", "subshell", "if_statement", "elif_clause"}
    | {"else_clause", "while_statement", "for_statement", "c_style_for_statement", "case_statement", "case_item"}
    | {"function_definition", "command_substitution", "process_substitution", "array", "heredoc_redirect"}
)
"""Nodes in which a line may end between two parts."""

_UNBROKEN = frozenset({"concatenation", "simple_expansion", "command_name", "word"})
"""Nodes without any text between their parts."""

_SEPARATES_WORDS = frozenset(
    {"command", "redirected_statement", "declaration_command", "unset_command", "file_redirect", "herestring_redirect"}
    | {"program", "list", "pipeline", "negated_command", "compound_statement", "do_group", "subshell", "array"}
    | {"if_statement", "elif_clause", "else_clause", "while_statement", "for_statement", "case_statement", "case_item"}
    | {"function_definition"}
)
"""Nodes whose parts are words, or operators beside words."""

_WORDS = frozenset(
    {"variable_assignment", "concatenation", "command_substitution", "process_substitution", "command", "word"}
    | {"string", "raw_string", "ansi_c_string", "expansion", "simple_expansion", "arithmetic_expansion"}
)
"""Nodes whose last byte always belongs to a word: `a=(b)`."""

_METACHARACTERS = frozenset(b" \t\n;&|<>()")

_DIGITS = re.compile(rb"(^|[\s;&|<>()])[0-9]+$")

_OWN_TEXT = frozenset(
    {"string", "raw_string", "ansi_c_string", "heredoc_body", "heredoc_content", "arithmetic_expansion", "expansion"}
)
"""Nodes whose parts are text, as is what lies between the parts; commands in them are read as usual."""

_COMMANDS = frozenset({"command_substitution", "process_substitution"})

_BEFORE_A_COMMENT = b" \t\n;&|()"

_RESERVED = frozenset(each.encode() for each in RESERVED - {"time", "coproc"})  # these two are read as prefixes

_OPERATORS = frozenset({"||", "&&", "(", ")", "<", ">", "|", "&", ";"})


def accounts_for(root: Node, source: bytes) -> bool:
    """Whether the bytes between leaves are blanks, or line ends where allowed, and each leaf matches its type."""
    if root.start_byte and not _BLANKS_AND_LINES.fullmatch(source, 0, root.start_byte):
        return False
    if not _BLANKS_AND_LINES.fullmatch(source, root.end_byte):
        return False
    waiting = [(root, False)]
    while waiting:
        node, is_text = waiting.pop()
        is_text = (is_text or node.type in _OWN_TEXT) and node.type not in _COMMANDS
        if node.is_missing or not (is_text or _is_sound(node, source)):
            return False
        if not is_text and not all(_is_gap(node, begin, end, source) for begin, end in _gaps(node)):
            return False
        if any(_is_joined(node, before, after, source) for before, after in pairwise(node.children)):
            return False
        waiting += [(child, is_text) for child in node.children]
    return True


def _is_joined(node: Node, before: Node, after: Node, source: bytes) -> bool:
    """Whether bash reads one word, or `0<<<a`, while the tree has two adjacent parts."""
    at = before.end_byte
    if node.type not in _SEPARATES_WORDS or at != after.start_byte or at == before.start_byte:
        return False
    if after.type.endswith("_redirect"):
        return _DIGITS.search(before.text or b"") is not None
    is_ended = source[at - 1] in _METACHARACTERS and before.type not in _WORDS
    return not is_ended and source[at] not in _METACHARACTERS


def _gaps(node: Node) -> Iterator[tuple[int, int]]:
    at = node.start_byte
    for child in node.children:
        yield at, child.start_byte
        at = child.end_byte
    if node.children:
        yield at, node.end_byte


def _is_gap(node: Node, begin: int, end: int, source: bytes) -> bool:
    if begin == end:
        return True
    if node.type in _UNBROKEN:
        return False
    may_end = node.type in _HOLDS_LINES or source.startswith(b"[[", node.start_byte)
    gap = _BLANKS_AND_LINES if may_end else _BLANK_OR_DASH if node.type == "redirected_statement" else _BLANKS
    return gap.fullmatch(source, begin, end) is not None


def _is_sound(node: Node, source: bytes) -> bool:
    match node.type:
        case "word" if not node.children:
            return _WORD.fullmatch(source, node.start_byte, node.end_byte) is not None
        case "comment":
            is_begun = node.start_byte == 0 or source[node.start_byte - 1 : node.start_byte] in _BEFORE_A_COMMENT
            return is_begun and _COMMENT.fullmatch(source, node.start_byte, node.end_byte) is not None
        case "command_name":
            return node.text not in _RESERVED
        case "test_command" if not source.startswith(b"[[", node.start_byte):
            return not any(each.type in _OPERATORS for each in _within(node))
        case _:
            return True


def _within(node: Node) -> Iterator[Node]:
    waiting = list(node.children)
    while waiting:
        each = waiting.pop()
        yield each
        if each.type not in _COMMANDS and each.type not in _OWN_TEXT:
            waiting += each.children
