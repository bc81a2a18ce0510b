"""Programs of awk that print and count and do nothing else, by a grammar narrower than that of any awk."""

from __future__ import annotations

import re

_KEYWORDS = frozenset({"BEGIN", "END", "print", "printf", "if", "else", "while", "for", "in", "do", "next", "exit"}) | {
    "break",
    "continue",
    "delete",
}
_FUNCTIONS = frozenset(
    {"length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "tolower", "toupper", "int", "sqrt"}
    | {"log", "exp", "sin", "cos", "atan2", "rand", "srand", "strftime", "systime", "gensub", "asort", "asorti"}
)
_OUTSIDE = frozenset({"getline", "system", "close", "fflush", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "func"}) | {
    "function",
    "return",
    "nextfile",
}
"""Words that reach files, programs and the environment, or that make the grammar wider than this one."""

_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+)
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<number>\d+(?:\.\d+)?|\.\d+)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<operator>\+\+|--|&&|\|\||[=!<>+*%^-]=|!~|[-{}()\[\];,\n$+*%^!<>=~?:])""",
    re.VERBOSE,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[\^?[^/\]\\\n\[]+\])+/")
_BEFORE_A_REGEX = frozenset({"", "(", ",", "{", "}", ";", "\n", "!", "~", "!~", "&&", "||"})


def is_plain(program: str) -> bool:
    """Whether a program of awk reads no file of its own, writes no file and runs nothing, in any awk."""
    position, depth, before, prints = 0, 0, "", False
    divides = False
    while position < len(program):
        found = _REGEX.match(program, position) if before in _BEFORE_A_REGEX else None
        kind = "regex"
        if divides and re.compile(r"/(?!=)").match(program, position):
            position, before, divides = position + 1, "/", False
            continue
        if found is None:
            found = _TOKEN.match(program, position)
            kind = "" if found is None else str(found.lastgroup)
        if found is None:
            return False
        token, position = found[0], found.end()
        if kind == "blank":
            continue
        if token in "{};\n" and not (token == ";" and depth):
            if depth:
                return False
            prints = False
        elif token in ("(", ")"):
            depth += 1 if token == "(" else -1
        elif token in ("print", "printf"):
            prints = True
        if depth < 0 or (prints and not depth and token in (">", ">=")):
            return False
        if token in _OUTSIDE or (kind == "word" and _calls_unknown(token, program, position)):
            return False
        divides = kind == "number" or (kind == "word" and token not in _KEYWORDS and token not in _FUNCTIONS)
        before = token if kind != "regex" else "/"
    return depth == 0


def _calls_unknown(word: str, program: str, position: int) -> bool:
    called = re.compile(r"[ \t]*\(").match(program, position) is not None
    return called and word not in _KEYWORDS and word not in _FUNCTIONS
