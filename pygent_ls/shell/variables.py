"""Facts that are certain about a command line's variables and about the output of its commands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pygent_ls.shell.command_line import SimpleCommand
from pygent_ls.shell.grammar import parse
from pygent_ls.shell.words import ANY, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SETTERS = re.compile(
    r"\b(read|printf|mapfile|readarray|getopts|unset|declare|typeset|local|readonly|let|eval|source|trap|alias|coproc|IFS"
    r"|enable|function|wait)\b|\(\s*\)|\$'|(^|[\s;&|(])\.\s"
)
"""Constructs that may set a variable without naming it."""

_SPECIAL = re.compile(r"_|HOME|PWD|OLDPWD|PATH|REPLY|OPT\w+|(BASH|COMP|HIST|FUNC|PS|DIR|LC_|SHELL)\w*|LANG")
"""Variables that bash itself sets or reads."""

_NAME = re.compile(r"(?<![\w$])(?<!\$\{)([A-Za-z_]\w*)(=?)", re.ASCII)


def lasting_variables(text: str, commands: Sequence[SimpleCommand]) -> frozenset[str]:
    """Return the variables that a text is certain to set exactly once, and that nothing else in it can set.

    `commands` are those of the text. A second occurrence of a name may set it, in any of many ways.
    """
    bare = re.sub(r"[\\'\"]", "", text)
    if (
        _SETTERS.search(bare)
        or any(map(_has_braces, bare.split()))
        or any(ANY in command.words[0] for command in commands)
    ):
        return frozenset()
    parsed = parse(text.replace(ANY, " "))
    if parsed is None:
        return frozenset()
    found = [each.groups() for each in _NAME.finditer(bare)]
    counts = Counter(name for name, _ in found)
    once = {name for name, equals in found if equals and counts[name] == 1 and not _SPECIAL.fullmatch(name)}
    once -= set(re.findall(r"\$\{(\w+):?=", bare))
    return frozenset(once).intersection(_set_at_once(parsed[0].root_node))


def _set_at_once(root: Node) -> Iterator[str]:
    """Yield the variables that are set neither within another command nor in the background."""
    children = root.children
    for node, following in zip(children, [*children[1:], None], strict=True):  # `next_sibling` takes linear time
        if following is not None and following.type == "&":
            continue
        for each in node.children if node.type == "variable_assignments" else [node]:
            name = each.child_by_field_name("name") if each.type == "variable_assignment" else None
            if name is not None and name.type == "variable_name":
                yield text_of(name)


def printed_for_sure(words: Sequence[str]) -> str | None:
    """Return what `echo` or `printf` prints, if it prints its words unchanged; None otherwise."""
    name, *given = words
    if not given or any("\\" in word for word in given[1:]):
        return None
    match name, given:
        case "printf", ["%s" | "%s\\n", text]:
            return text
        case "printf", [text] if not re.search(r"[%\\]|^-", text):
            return text
        case "echo", [first, *_] if not re.search(r"\\|^-", first):
            return " ".join(given)
        case _:
            return None


def _has_braces(word: str) -> bool:
    """Whether bash may expand a word to several: `{a,b}`, `{1..3}`."""
    _, _, within = word.partition("{")
    return "," in within or ".." in within
