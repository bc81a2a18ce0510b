"""Paths that a command line names and may change: a change there while it runs is attributed to the command."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from pygent_ls.agent.rules.globs import compiled
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.words import ANY

MAX_CHARS = 50_000
"""Maximum characters of a command line that are searched for names; longer ones are scripts that name what they
like."""

MAX_GLOBS = 50
"""Maximum patterns of a command line that paths are compared with."""

_WORD = re.compile(r"""'([^']+)'|"([^"]+)"|([^\s'"`<>|;&(){},=:]+)""")
_ENTERS = frozenset({"cd", "pushd", "-C", "--cwd", "--prefix", "--directory"})
"""Words before the name of a folder in which the rest of the line runs."""

_READERS = frozenset(
    {"cat", "tac", "nl", "head", "tail", "more", "bat", "batcat", "wc", "cut", "rev", "cmp", "comm", "diff"}
    | {"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "jq", "od", "hexdump", "strings", "file", "stat", "ls"}
    | {"du", "md5sum", "sha1sum", "sha256sum", "cksum", "echo", "printf", "test", "[", "[[", "realpath", "readlink"}
)
"""Programs that write to no file named in their words, whatever their options."""


class NamedPaths(Struct, frozen=True, kw_only=True):
    """Absolute paths and globs that a command line names. They are found as words, so there may be more than it
    changes; arguments of programs that only read are left out."""

    folder: Path
    """Folder in which the command runs."""
    paths: frozenset[Path] = frozenset()
    globs: tuple[str, ...] = ()

    def names(self, path: Path) -> bool:
        """Whether the line names exactly this path, or a pattern that matches it."""
        return path in self.paths or any(compiled(each).fullmatch(str(path)) for each in self.globs)

    def named_above(self, path: Path) -> Path | None:
        """Return the innermost named folder that contains the path; never one that the command runs in."""
        return next(
            (each for each in path.parents if each in self.paths and not self.folder.is_relative_to(each)), None
        )


def named_by(arguments: Mapping[str, Any], folder: Path) -> NamedPaths:
    """Return the paths named by the arguments of a call that runs a program in `folder`, or in its own `cwd` relative
    to that."""
    own = arguments.get("cwd")
    texts = [text for name, given in arguments.items() if name not in ("cwd", "description") for text in _texts(given)]
    return named_in(texts, _joined(folder, own) if isinstance(own, str) else folder)


def _texts(given: object) -> Iterator[str]:
    if isinstance(given, str):
        yield given
    elif isinstance(given, list):
        yield from (each for each in cast("list[object]", given) if isinstance(each, str))


def named_in(texts: Iterable[str], folder: Path) -> NamedPaths:
    """Return the paths that these texts name, in words with or without quotes, relative to `folder` or to a folder that
    the line enters with `cd`."""
    given = list(texts)
    words = list(_words(given))
    bases = [
        folder,
        *(_joined(folder, after) for word, after in pairwise(words) if word in _ENTERS),
    ]
    changing = Counter(map(_comparable, words)) - Counter(_words(_read_only(given)))
    words = [word for word in dict.fromkeys(words) if _comparable(word) in changing]
    globs = [word for word in words if re.search(r"[*?\[]", word)][:MAX_GLOBS]
    return NamedPaths(
        folder=folder,
        paths=frozenset(_joined(base, word) for base in dict.fromkeys(bases) for word in words),
        globs=tuple(str(_joined(base, word)) for base in dict.fromkeys(bases) for word in globs),
    )


def _read_only(texts: Iterable[str]) -> Iterator[str]:
    """Yield the words of the commands that only read, as they would stand in a line."""
    for line in map(read_line, texts):
        readers = (each for each in line.commands if line.is_parsed and each.name in _READERS)
        yield from (f"'{word}'" if re.search(r"\s", word) else word for each in readers for word in each.words)


def _comparable(word: str) -> str:
    """Return the word as `read_line` returns it, with every wildcard as `ANY`."""
    return re.sub(r"[*?]|\[[^]]{0,200}\]", ANY, word)


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for match in _WORD.finditer(text[:MAX_CHARS]):
            quoted = match[1] or match[2]
            if quoted:
                yield quoted
                yield from (inner[1] or inner[2] or inner[3] for inner in _WORD.finditer(quoted))
            else:
                yield match[3]


def _joined(base: Path, word: str) -> Path:
    return Path(os.path.normpath(base / (Path(word).expanduser() if word.startswith("~/") else word)))
