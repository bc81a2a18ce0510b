"""Bash builtins that run text passed to them: through an option, or by expanding the index of a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

EVALUATING = frozenset(
    {"test", "[", "read", "unset", "let", "mapfile", "readarray", "getopts", "wait", "printf", "declare", "typeset"}
    | {"local", "export", "readonly", "compgen", "complete"}
)
"""Builtins that expand text once more: `read 'a[$(x)]'`, `compgen -W '$(x)'`."""

_RUNNING = {"compgen": "C", "complete": "C", "mapfile": "C", "readarray": "C", "bind": "x", "hash": "p"}
"""Letter of the option whose value is a command line or a program, by builtin."""

_SETTING = frozenset({"env", "export", "declare", "typeset", "local", "readonly", "sudo", "doas"})
"""Commands whose words set variables."""

_STARTING = frozenset({"BASH_ENV", "ENV"})
"""Variables that name a file which a shell runs when it starts."""

_MODES = re.compile(r"-[A-Za-z]*[kHn].*|(history|histexpand|posix|keyword|noexec|expand_aliases|extglob)")
"""Words of `set` and `shopt` that change how bash reads the following text."""

NOTHING = ":"
"""Command that only expands its words."""

_SUBSTITUTION = re.compile(r"\$[({]|`")


def changes_reading(words: Sequence[str]) -> bool:
    """Whether the command changes how bash reads the rest of the text: aliases may contain quotes and operators."""
    match words[0]:
        case "alias":
            return any("=" in word for word in words[1:])
        case "set" | "shopt":
            return any(_MODES.fullmatch(word) for word in words[1:])
        case "history" | "fc":
            return len(words) > 1
        case "enable":
            return any(word.startswith("-f") for word in words[1:])
        case _:
            return False


def evaluated(words: Sequence[str]) -> Iterator[str]:
    """Yield the command lines that bash runs because of these words of a command."""
    name = words[0].rpartition("/")[2]
    if letter := _RUNNING.get(name):
        for at, word in enumerate(words[1:], 1):
            if found := re.fullmatch(rf"-[A-Za-z0-9]*?{letter}(.*)", word, re.DOTALL):
                value = found[1] or "".join(words[at + 1 : at + 2])
                yield value.partition(":")[2] if name == "bind" else value
    if name in ("alias", *_SETTING):
        for word in words[1:]:
            variable, equals, value = word.partition("=")
            yield from [value] if equals and name == "alias" else run_by_setting(variable, value)
    if name == "jobs" and "-x" in words[1:-1]:
        yield " ".join(words[words.index("-x") + 1 :])
    if name == "history" and "-s" in words[1:-1]:
        yield " ".join(words[words.index("-s") + 1 :])
    if name in EVALUATING:
        yield from (expanding(word) for word in words[1:] if holds_substitution(word))


def run_by_setting(variable: str, value: str) -> Iterator[str]:
    """Yield the command lines that run, at once or later, because a variable has this value."""
    variable = variable.removesuffix("+")
    if variable in _STARTING and value:
        yield '. "' + re.sub(r'["`$\\]', "", value) + '"'
    elif variable == "PROMPT_COMMAND" or re.match(r"BASH_(ALIASES|CMDS)\b", variable):
        yield value
    if holds_substitution(value):  # `PS4='$(x)'`, and numbers used in later arithmetic
        yield expanding(value)


def holds_substitution(text: str) -> bool:
    """Whether the expansion of a text may run something."""
    return _SUBSTITUTION.search(text) is not None


_QUOTE_OR_NEST = re.compile(r"\\.|\$?\(|[)`\"]", re.DOTALL)


def expanding(text: str) -> str:
    """Return a command line that runs what the expansion of a text runs, and nothing else."""
    depth, in_backquotes = 0, False

    def escaped(found: re.Match[str]) -> str:
        nonlocal depth, in_backquotes
        match found[0]:
            case "$(":
                depth += 1
            case "(" if depth:
                depth += 1
            case ")" if depth:
                depth -= 1
            case "`":
                in_backquotes = not in_backquotes
            case '"' if not depth and not in_backquotes:
                return r"\""
            case _:
                pass
        return found[0]

    return f'{NOTHING} "' + _QUOTE_OR_NEST.sub(escaped, text) + '"'
