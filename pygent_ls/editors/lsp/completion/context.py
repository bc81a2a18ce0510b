"""The text around a cursor that a model is sent, and the parts of other files that are like it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from pygent_ls.agent.ports.completer import Snippet

BEFORE_CHARS, AFTER_CHARS = 8_000, 3_000
"""Maximum length of the text before and after the cursor: about 2,800 tokens, as completions of other editors send."""

WINDOW_LINES = 40
"""Number of lines of a part of another file."""

MAX_SNIPPETS = 3

MAX_SNIPPET_CHARS = 2_000

NEAR_LINES = 20
"""Number of lines before the cursor whose words are searched for in other files."""

MIN_SHARED = 4
"""Minimum number of words that a part of another file has in common with the lines before the cursor."""

_WORD = re.compile(r"[^\W\d]\w{2,}")


def around(text: str, offset: int) -> tuple[str, str]:
    """Return the text before and after the cursor; of a long text, whole lines near it."""
    start = max(0, offset - BEFORE_CHARS)
    if start:
        start = text.find("\n", start, offset) + 1 or start
    end = min(len(text), offset + AFTER_CHARS)
    if end < len(text):
        end = max(offset, text.rfind("\n", offset, end) + 1) or end
    return text[start:offset], text[offset:end]


def snippets_of(before: str, others: Sequence[tuple[Path, str, str]]) -> tuple[Snippet, ...]:
    """Return the parts of other files (path, shown name, text) that have the most words in common with the last lines
    before the cursor, the best one last, next to the cursor."""
    words = frozenset(_WORD.findall("\n".join(before.split("\n")[-NEAR_LINES:])))
    found: list[tuple[int, Snippet]] = []
    for path, name, text in others:
        shared, window = _best_window(text, words)
        if shared >= MIN_SHARED:
            found.append((shared, Snippet(path=path, name=name, text=window[:MAX_SNIPPET_CHARS])))
    found.sort(key=lambda each: each[0])
    return tuple(snippet for _, snippet in found[-MAX_SNIPPETS:])


def _best_window(text: str, words: frozenset[str]) -> tuple[int, str]:
    """Return how many of the words the best part of a text has, and that part. Parts overlap by half."""
    lines = text.split("\n")
    starts = range(0, max(1, len(lines)), WINDOW_LINES // 2)
    halves = [frozenset(_WORD.findall("\n".join(lines[at : at + WINDOW_LINES // 2]))) & words for at in starts]
    scores = [len(one | other) for one, other in pairwise([*halves, frozenset[str]()])]
    best = max(range(len(scores)), key=scores.__getitem__)
    return scores[best], "\n".join(lines[starts[best] : starts[best] + WINDOW_LINES])
