"""Globs on paths: `*` and `?` stay within a folder, `**` crosses folders, `[x]` is the character itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

_TOKEN = re.compile(r"(?<![^/])\*\*/|\*\*|\*|\?|\[[^\]]\]|.", re.DOTALL)
_AHEAD: Mapping[str, str] = {"": "", "**": ".*?", "**/": "(?:[^/]*+/)*?"}


@cache
def glob_to_regex(pattern: str) -> str:
    """Return the glob as a regular expression, to be used with `fullmatch`.

    Whatever the pattern, matching a path takes no longer than the square of its length: the first place at which the
    text between two stars fits is as good as any other, so no other is tried (`(?>…)`).
    """
    blocks: list[tuple[str, list[str]]] = [("", [""])]
    for token in _TOKEN.findall(pattern):
        fixed = blocks[-1][1]
        match token:
            case "**/" | "**":
                blocks.append((token, [""]))
            case "*":
                fixed.append("")
            case "?":
                fixed[-1] += "[^/]"
            case _:
                fixed[-1] += re.escape(token[1] if len(token) > 1 else token)
    *before, (star, (first, *rest)) = blocks
    end = _pieces(rest[:-1]) + "".join(f"[^/]*{each}" for each in rest[-1:])
    return "(?s:" + "".join(map(_block, before)) + _AHEAD[star] + first + end + ")"


def _block(block: tuple[str, list[str]]) -> str:
    star, (first, *rest) = block
    return f"(?>{_AHEAD[star]}{first}{_pieces(rest)})"


def _pieces(pieces: Sequence[str]) -> str:
    return "".join(f"(?>[^/]*?{each})" for each in pieces)


def escape(path: str | Path) -> str:
    """Return a pattern that matches this path and no other."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


@lru_cache(maxsize=4_096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled glob, to be used with `fullmatch`; the cache of `re` itself holds no more than 512."""
    return re.compile(glob_to_regex(pattern))


def literal_prefix(pattern: str) -> Path:
    """Return the longest path that is, or contains, every match of the pattern."""
    literal: list[str] = []
    for token in _TOKEN.findall(pattern):
        if token in ("**/", "**", "*", "?"):
            return Path("".join(literal)).parent if not "".join(literal).endswith("/") else Path("".join(literal))
        literal.append(token[1] if len(token) > 1 else token)
    return Path("".join(literal))
