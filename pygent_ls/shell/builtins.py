"""Parts of bash that run text which they are given: by an option, or by expanding what stands in a name's index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

EVALUATING = frozenset(
    {"test", "[", "read", "unset", "let", "mapfile", "readarray", "getopts", "wait", "printf", "declare", "typeset"}
    | {"local", "export", "readonly", "compgen", "complete"}
)
"""Those that expand text once more: `read 'a[$(x)]'`, `compgen -W '$(x)'`."""

_RUNNING = {"compgen": "-C", "complete": "-C", "mapfile": "-C", "readarray": "-C", "bind": "-x"}
"""Those with an option whose value is a command line."""

NOTHING = ":"
"""Does nothing with its words but expand them."""

_SUBSTITUTION = re.compile(r"\$[({]|`")


def evaluated(words: Sequence[str]) -> Iterator[str]:
    """The command lines that bash runs because of these words of a command."""
    name = words[0]
    for option, value in pairwise(words[1:]):
        if option == _RUNNING.get(name):
            yield value.partition(":")[2] if name == "bind" else value
    if name == "alias":
        yield from (word.partition("=")[2] for word in words[1:] if "=" in word)
    if name == "jobs" and "-x" in words[1:-1]:
        yield " ".join(words[words.index("-x") + 1 :])
    if name == "hash" and "-p" in words[1:-1]:
        yield words[words.index("-p") + 1]
    if name in EVALUATING:
        yield from (expanding(word) for word in words[1:] if holds_substitution(word))


def holds_substitution(text: str) -> bool:
    """Whether a text that is expanded may run something."""
    return _SUBSTITUTION.search(text) is not None


def expanding(text: str) -> str:
    """A command line that runs what the expansion of a text runs, and nothing else."""
    return f'{NOTHING} "' + re.sub(r'(?<!\\)"', r"\"", text) + '"'
