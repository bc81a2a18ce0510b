"""Which texts every shell of POSIX reads as bash does: where there is no bash, no other is run."""

from __future__ import annotations

import re

_OF_BASH = re.compile(
    r"""\$['"\[]|\$\{[!#]?\w+[^\w}:=?+#%-]|&>|>&(?![0-9-])|[<>]\(|<<<|\(\(|\[\[|\|&|;&|\}[<>]|\b(function|coproc|select)\b"""
)
"""What bash alone knows, or reads otherwise; where it stands, even in quotes, does not matter."""


def is_portable(text: str) -> bool:
    """Whether no part of the text can mean something else to another shell than to bash."""
    return all(_OF_BASH.search(each) is None for each in (text, re.sub(r"\\\n", "", text)))
