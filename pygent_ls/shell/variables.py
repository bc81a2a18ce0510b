"""What is sure about the variables of a command line, and about what its commands print."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pygent_ls.shell.grammar import parse
from pygent_ls.shell.line import SimpleCommand
from pygent_ls.shell.words import ANY, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SETTERS = re.compile(
    r"\b(read|printf|mapfile|readarray|getopts|unset|declare|typeset|local|readonly|let|eval|source|trap|alias|coproc|IFS"
    r"|enable|function|wait)\b|\(\s*\)|\$'|(^|[\s;&|(])\.\s"
)
"""What may set a variable whose name stands nowhere."""

_SPECIAL = re.compile(r"_|HOME|PWD|OLDPWD|PATH|REPLY|OPT\w+|(BASH|COMP|HIST|FUNC|PS|DIR|LC_|SHELL)\w*|LANG")
"""Variables that bash sets or reads by itself."""

_NAME = re.compile(r"(?<![\w$])(?<!\$\{)([A-Za-z_]\w*)(=?)", re.ASCII)


def lasting_variables(text: str, commands: Sequence[SimpleCommand]) -> frozenset[str]:
    """The variables that a text sets once, whatever else happens, and that nothing else in it can set.

    `commands` are those of the text. A name that stands in it a second time may be set there, in any of many ways.
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
    """The variables that are set by no part of another command, and not in the background."""
    for node in root.children:
        following = node.next_sibling
        if following is not None and following.type == "&":
            continue
        for each in node.children if node.type == "variable_assignments" else [node]:
            name = each.child_by_field_name("name") if each.type == "variable_assignment" else None
            if name is not None and name.type == "variable_name":
                yield text_of(name)


def printed_for_sure(words: Sequence[str]) -> str | None:
    """What `echo` or `printf` prints, if that is its words as they are; None for all else."""
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
    """Whether bash may make several words of one: `{a,b}`, `{1..3}`."""
    _, _, within = word.partition("{")
    return "," in within or ".." in within
