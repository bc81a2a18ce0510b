"""Values of a shell command's words before anything runs: quotes removed, known variables substituted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from pygent_ls.shell.bash_builtins import expanding, holds_substitution

if TYPE_CHECKING:
    from tree_sitter import Node

ANY = "\x00"
"""Placeholder in a word for what is known only at run time: variables, globs, the output of commands."""

HOME = "\x02"
"""Placeholder for the user's home folder: `~`, `$HOME`."""

GAP = "\x1f"
"""Marks the places at which the shell would split one written word into several."""

_DEFAULT_OPERATORS = frozenset({":-", "-", ":=", "=", ":+", "+"})


_UNQUOTED = frozenset({"simple_expansion", "expansion", "command_substitution"})
"""Unquoted expansions, which yield no word if their value is empty."""


class Scope(Struct, kw_only=True):
    """Context in which the words of a line are read."""

    variables: dict[str, str]
    """Variables that the line itself has set, as far as known."""
    back: dict[int, str]
    """The characters that stand-ins in the text replace."""
    run: Callable[[Node], str]
    """Records the commands of a substitution; returns what it would print, or `ANY`."""
    read: Callable[[str], None]
    """Records the commands in a text that the grammar did not parse as commands."""
    is_wary: bool
    """Whether only certain values count as known, and likely ones do not."""
    give_up: Callable[[], None]
    """Called for syntax that the grammar is known to read differently from bash."""


def words_of(node: Node, scope: Scope) -> list[str]:
    """Return the words that one written word becomes; several, or none, if the shell splits it."""
    value = _value(node, scope, is_first=True).translate(scope.back)
    while node.type == "command_name" and node.child_count == 1:
        node = node.children[0]
    is_unquoted = all(each.type in _UNQUOTED for each in (node.children if node.type == "concatenation" else [node]))
    return [part for part in value.split(GAP) if part] or ([] if is_unquoted else [""])


def text_of(node: Node) -> str:
    """Return the node's own text."""
    return (node.text or b"").decode("utf-8", "replace")


def _value(node: Node, scope: Scope, *, is_first: bool = False, is_quoted: bool = False) -> str:
    match node.type:
        case "word" | "heredoc_content":
            return _unquoted(text_of(node), scope, is_first=is_first)
        case "number" | "variable_name":
            return text_of(node)
        case "raw_string" | "ansi_c_string" | "string":
            return _quoted(node, scope)
        case "concatenation" | "command_name":
            return _joined(node, scope, is_first=is_first)
        case "simple_expansion" | "expansion" | "command_substitution":
            value = scope.run(node) if node.type == "command_substitution" else _expanded(node, scope)
            return value if is_quoted else re.sub(r"\s+", GAP, re.sub(r"[*?\[]", ANY, value))
        case _:
            return _unknown(node, scope)


def _quoted(node: Node, scope: Scope) -> str:
    if node.type == "raw_string":
        return text_of(node)[1:-1]
    if node.type == "ansi_c_string":
        return decode_ansi_c(text_of(node)[2:-1])
    return _string(node, scope)


def _unknown(node: Node, scope: Scope) -> str:
    if node.type == "$":  # a dollar that the grammar could not place: bash reads `$IFS/` differently
        scope.give_up()
    scope.run(node)
    return ANY


def _joined(node: Node, scope: Scope, *, is_first: bool) -> str:
    text = text_of(node)
    if node.type == "concatenation" and "${" not in text and re.search(r"(?m)^[^{\n]*+\{.*(,|\.\.)", text):
        scope.run(node)
        return ANY
    return "".join(_values(node.children, scope, is_first=is_first))


def _values(parts: Sequence[Node], scope: Scope, *, is_first: bool) -> Iterator[str]:
    """Yield the values of the parts of a word; the grammar splits `[a-z]*` into several."""
    for is_word, group in groupby(parts, key=lambda each: each.type == "word"):
        if is_word:
            yield _unquoted("".join(text_of(each) for each in group), scope, is_first=is_first)
        else:
            yield from (_value(each, scope) for each in group)
        is_first = False


_TOKEN = re.compile(r"\\(.?)|\[[^\]]*\]|[*?\[]|[^\\*?\[]+", re.DOTALL)


def _unquoted(text: str, scope: Scope, *, is_first: bool) -> str:
    if re.search(r",|\.\.", text[text.find("{") + 1 : text.rfind("}") + 1]) and "{" in text:
        return ANY
    if backquoted(text, scope.read):
        return ANY
    home = ""
    if is_first and text.startswith("~"):
        user, slash, rest = text[1:].partition("/")
        home, text = (ANY if user else HOME), slash + rest
    return home + "".join(_unescaped(found) for found in _TOKEN.finditer(text))


def backquoted(text: str, read: Callable[[str], None]) -> bool:
    """Record the commands in backquotes, which the grammar leaves as text in some places; return whether any exist."""
    found = re.findall(r"(?<!\\)`((?:[^`\\]|\\.)*)`", text, re.DOTALL)
    for each in found:
        read(re.sub(r"\\([`\\$])", r"\1", each))
    return bool(found)


def _unescaped(found: re.Match[str]) -> str:
    token = found[0]
    if token[0] == "\\":
        return "" if found[1] == "\n" else found[1]
    return ANY if token[0] in "*?[" else token


def _string(node: Node, scope: Scope) -> str:
    """Return the value of a text in double quotes; what lies between the grammar's nodes is text too."""
    source, begin = node.text or b"", node.start_byte
    parts: list[str] = []
    position = node.children[0].end_byte if node.children else begin
    for child in node.children[1:]:
        parts.append(_within_quotes(source[position - begin : child.start_byte - begin].decode("utf-8", "replace")))
        position = child.end_byte
        if child.type == "string_content":
            parts.append(_within_quotes(text_of(child)))
        elif child.type != '"':
            lead = text_of(child)
            parts.append(lead[: len(lead) - len(lead.lstrip())] + _value(child, scope, is_quoted=True))
    return "".join(parts)


def _within_quotes(text: str) -> str:
    return re.sub(r"\\([$`\"\\\n])", lambda found: "" if found[1] == "\n" else found[1], text)


def _expanded(node: Node, scope: Scope) -> str:
    parts = [child for child in node.children if child.type not in ("$", "${", "}")]
    name = next((text_of(child) for child in parts if child.type == "variable_name"), "")
    known = {"HOME": HOME, "IFS": " ", "PWD": ".", **scope.variables}.get(name)
    if len(parts) == 1 and name:
        return ANY if known is None else known
    default = [child for child in parts if child.is_named and child.type != "variable_name"]
    values = "".join(_value(child, scope, is_quoted=True) for child in default)
    for child in default:
        if not child.children and holds_substitution(text_of(child)):  # a pattern is one text to the grammar
            scope.read(expanding(text_of(child)))
    if text_of(parts[0]) == "!" if parts else True:
        return ANY
    if not any(text_of(child) in _DEFAULT_OPERATORS for child in parts):
        return ANY if scope.is_wary or known is None else known
    return known or (ANY if scope.is_wary else values) or ANY


_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "?": "?", **dict.fromkeys("abeEfrv", ANY)}
_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x(?:([0-9A-Fa-f]{1,2})|\{([0-9A-Fa-f]+)\}?)|[uU]([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL
)


def decode_ansi_c(text: str) -> str:
    """Return the text between `$'` and `'` with its escapes decoded as in bash; `ANY` replaces all but plain ASCII."""

    def character(found: re.Match[str]) -> str:
        octal, short, braced, long, control, other = found.groups()
        if other or control:
            return ANY if control else _ESCAPES.get(other, found[0])
        code = int(octal, 8) & 0xFF if octal else int(short or braced or long, 16) & (-1 if long else 0xFF)
        return "" if code == 0 else chr(code) if 0x1F < code < 0x7F or code in b"\t\n" else ANY

    parts: list[str] = []
    at = 0
    for found in _ESCAPE.finditer(text):
        parts.append(text[at : found.start()])
        at = found.end()
        if not (value := character(found)):
            return "".join(parts)  # the text ends at a NUL
        parts.append(value)
    return "".join(parts) + text[at:]
