"""Published formats of keys and tokens, read from patterns.toml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from msgspec import Struct

PLAIN = r"(?<!\\[nrt])(?<!\\u[0-9A-Fa-f]{4})(?<!%[0-9A-Fa-f]{2})(?<![\[;]\dm)(?<![\[;]\d\dm)"
"""Condition that the characters before an offset are not an escape sequence: of a string (`\\n`, `\\u003d`), of a URL
(`%3D`), or the end of one that colours the output of a terminal (`[32m`)."""


class SecretPattern(Struct, frozen=True, kw_only=True, dict=True):
    """Format of a key or token; the comment at the top of patterns.toml describes the fields."""

    id: str
    provider: str
    url: str
    regex: str
    prefixes: Sequence[str] = ()
    keywords: Sequence[str] = ()
    unless: Sequence[str] = ()
    examples: Sequence[str]
    counter_examples: Sequence[str]

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The compiled `regex`, kept: Python's own cache is shared with the patterns of rules and searches."""
        return re.compile(self.regex)


@cache
def secret_patterns() -> Sequence[SecretPattern]:
    """Return all patterns, in the order of the file. The file is read on first use."""
    import pkgutil
    import tomllib

    data = pkgutil.get_data("pygent_ls.secrets", "patterns.toml") or b""
    entries: list[dict[str, Any]] = tomllib.loads(data.decode())["pattern"]
    for entry in entries:
        entry["regex"] = entry["regex"].replace("{plain}", PLAIN)
        entry["examples"] = ["".join(parts) for parts in entry["examples"]]
    return tuple(SecretPattern(**entry) for entry in entries)


@cache
def key_prefix() -> re.Pattern[str]:
    """Return the expression for the public prefix of any provider's key, which reveals only the kind of key."""
    prefixes = {prefix for each in secret_patterns() for prefix in each.prefixes}
    return re.compile("|".join(re.escape(each) for each in sorted(prefixes, key=len, reverse=True)))
