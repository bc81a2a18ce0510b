"""Finding words in conversations. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pygent_ls.agent.messages import Message

MAX_SNIPPET_CHARS = 160
"""Around the first word that is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A turn in which all the words stand."""

    turn_id: str
    snippet: str
    score: float
    """How often they stand there, by the length of the text; higher is better."""


def search(messages: Sequence[Message], query: str, *, name: str = "") -> list[Found]:
    """The turns whose words (the user's and the model's, not what tools returned) hold each word of the query, small
    and capital letters alike; the best first. Words that stand in the session's name count as held."""
    words = [word.casefold() for word in query.split()]
    if not words:
        return []
    named = [word for word in words if word in name.casefold()]
    found = [each for turn_id, text in _turns(messages) if (each := _found(turn_id, text, words, named))]
    return sorted(found, key=lambda each: -each.score)


def _turns(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    texts: dict[str, list[str]] = {}
    for message in messages:
        if message.text.strip():
            texts.setdefault(message.turn_id, []).append(message.text)
    for turn_id, parts in texts.items():
        yield turn_id, "\n".join(parts)


def _found(turn_id: str, text: str, words: Sequence[str], named: Sequence[str]) -> Found | None:
    folded = text.casefold()
    counts = [folded.count(word) for word in words]
    if any(not count and word not in named for word, count in zip(words, counts, strict=True)):
        return None
    score = (sum(counts) + 2 * len(named)) / (1 + len(text) / 1000)
    return Found(turn_id=turn_id, snippet=_snippet(text, words), score=round(score, 4))


def _snippet(text: str, words: Sequence[str]) -> str:
    """The text around the first word, on one line."""
    match = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE)
    middle = match.start() if match else 0
    start = max(0, middle - MAX_SNIPPET_CHARS // 2)
    end = start + MAX_SNIPPET_CHARS
    line = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"
