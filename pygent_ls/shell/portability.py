"""Check that every POSIX shell reads a text as bash does; only such texts run on a machine without bash."""

from __future__ import annotations

import re

_OF_BASH = re.compile(
    r"""\$['"\[]|\$\{[!#]?\w+[^\w}:=?+#%-]|&>|>&(?![0-9-])|[<>]\(|<<<|\(\(|\[\[|\|&|;&|\}[<>]|\b(function|coproc|select)\b"""
)
"""Syntax that only bash knows or that it reads differently, wherever it occurs, even in quotes."""


def is_portable(text: str) -> bool:
    """Whether every POSIX shell gives all parts of the text the same meaning as bash."""
    return all(_OF_BASH.search(each) is None for each in (text, re.sub(r"\\\n", "", text)))
