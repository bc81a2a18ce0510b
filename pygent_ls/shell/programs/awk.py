"""Check for awk programs that only print and count, by a grammar narrower than that of any awk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_KEYWORDS = frozenset({"BEGIN", "END", "print", "printf", "if", "else", "while", "for", "in", "do", "next", "exit"}) | {
    "break",
    "continue",
    "delete",
}
_FUNCTIONS = frozenset(
    {"length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "tolower", "toupper", "int", "sqrt"}
    | {"log", "exp", "sin", "cos", "atan2", "rand", "srand", "strftime", "systime", "gensub", "asort", "asorti"}
)
_OUTSIDE = frozenset(
    {"getline", "system", "close", "fflush", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "ARGV", "ARGC"}
) | {"func", "function", "return", "nextfile"}
"""Words that reach files, programs and the environment, or that exceed this grammar."""

_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+)
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<number>\d+(?:\.\d+)?|\.\d+)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<operator>\+\+|--|&&|\|\||[=!<>+*%^-]=|!~|[-{}()\[\];,\n$+*%^!<>=~?:])""",
    re.VERBOSE,
)
_GOES_ON = frozenset({",", "&&", "||", "\n", "?", ":", "do", "else"})
"""Tokens after which a statement continues on the next line."""

_REGEX = re.compile(r"(?P<regex>/(?:[^/\\\n\[]|\\[^\n]|\[\^?[^/\]\\\n\[]+\])+/)")
_DIVISION = re.compile(r"[ \t]*(?P<division>/)(?!=)")
_BEFORE_A_REGEX = frozenset({"", "(", ",", "{", "}", ";", "\n", "!", "~", "!~", "&&", "||"})


def is_plain(program: str) -> bool:
    """Whether an awk program reads no file of its own, writes no file and runs nothing, in any awk."""
    tokens = _tokens(program)
    return tokens is not None and not _writes(tokens) and not any(_reaches_out(*each) for each in pairwise(tokens))


def _tokens(program: str) -> list[str] | None:
    """Return the tokens, `/` for a pattern, `""` for a string, and an empty one last; None if any is unknown."""
    tokens: list[str] = []
    position, before, is_operand = 0, "", False
    while position < len(program):
        regex = _REGEX.match(program, position) if before in _BEFORE_A_REGEX else None
        found = (
            regex or (_DIVISION if is_operand else _TOKEN).match(program, position) or _TOKEN.match(program, position)
        )
        if found is None:
            return None
        position = found.end()
        kind = found.lastgroup
        if kind == "blank":
            continue
        before = {"regex": "/", "string": '""'}.get(str(kind), found[0])
        is_operand = kind == "number" or (kind == "word" and before not in _KEYWORDS | _FUNCTIONS)
        tokens.append(before)
    return [*tokens, ""]


def _writes(tokens: Sequence[str]) -> bool:
    """Whether `>` after `print` may name a file, or the brackets are unbalanced."""
    depth, prints = 0, False
    for before, each in pairwise(["", *tokens]):
        if each in ("(", ")"):
            depth += 1 if each == "(" else -1
        elif each in ("print", "printf"):
            prints = True
        elif each in ("{", "}") or (each == "\n" and before not in _GOES_ON) or (each == ";" and not depth):
            if depth:
                return True
            prints = False
        if depth < 0 or (prints and not depth and each in (">", ">=")):
            return True
    return depth != 0


def _reaches_out(word: str, following: str) -> bool:
    is_call = following == "(" and re.fullmatch(r"\w+", word) is not None and not word[0].isdigit()
    return word in _OUTSIDE or (is_call and word not in _KEYWORDS and word not in _FUNCTIONS)
