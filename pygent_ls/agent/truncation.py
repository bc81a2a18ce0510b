"""Truncation of results that are too long."""

from __future__ import annotations

import re

from pygent_ls.secrets.redactor import whole_placeholders

MAX_WORD_CHARS = 10_000
"""Maximum length of a word that may be a secret: keys and tokens are shorter, longer words are data."""


def whole_words(text: str) -> str:
    """Return a truncated text without its last word: the remainder of a secret cannot be recognised."""
    last = text[-MAX_WORD_CHARS:].rsplit(None, 1)[-1:]
    if not last or text[-1].isspace() or len(last[0]) == MAX_WORD_CHARS:
        return text
    return text[: len(text) - len(last[0])]


_NOTE = "[OUTPUT TRUNCATED: Showing "


def amount_shown(content: str) -> str:
    """Return how much of a truncated result is left in it, in words; empty if it does not say."""
    last = content.rstrip("\n").rpartition("\n")[2]
    found = re.match(re.escape(_NOTE) + r"(\d+) of (\d+) characters", last)
    return f"{int(found[1]):,} of {int(found[2]):,} characters" if found else ""


def cut(content: str, tool_name: str, limit: int, hint: str = "") -> tuple[str, bool]:
    """Return head and tail of content that is too long, and whether anything was left out; `hint` says how to get the
    rest."""
    if len(content) <= limit:
        return content, False
    half = limit // 2
    note = f"{_NOTE}{2 * half} of {len(content)} characters from {tool_name}]"
    end, start = (whole_placeholders(content, at) for at in (half, len(content) - half))
    parts = (content[:end], "[…]", content[start:], *([hint] if hint else []), note)
    return "\n".join(parts), True
