"""The text around a cursor that a model is sent, and the parts of other files that are like it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.ports.completer import Snippet

BEFORE_CHARS, AFTER_CHARS = 8_000, 3_000
"""Maximum length of the text before and after the cursor: about 2,800 tokens, as completions of other editors send."""

MARGIN_CHARS = 4_000
"""Length of the text beside what is sent in which secrets are looked for: longer than a private key."""

IMPORTS_CHARS = 1_200
"""Maximum length of the import lines that are sent of a long file."""

TOP_CHARS = 12_000
"""Length of the top of a file in which import lines are looked for."""

WINDOW_LINES = 40
"""Number of lines of a part of another file."""

MAX_SNIPPETS = 3

MAX_SNIPPET_CHARS = 2_000

NEAR_LINES = 20
"""Number of lines before the cursor whose words are searched for in other files."""

MIN_SHARED = 4
"""Minimum number of words that a part of another file has in common with the lines before the cursor."""

_WORD = re.compile(r"[^\W\d]\w{2,}")

_IMPORT = re.compile(
    r"(?:import|from|use|using|require|require_once|include|package|export \* from|extern crate|@import|#include)\b.*"
    r"|(?:local|const|let|var)\s++[\w{},][\w{}, ]*+=\s*require\b.*",
)


class CompletionWindow(Struct, frozen=True, kw_only=True):
    """The text around a cursor, with `\\n` as its only line break."""

    before: str
    after: str
    lead: str
    """What is before `before`."""
    trail: str
    """What is after `after`."""
    imports: str
    """Import lines above `before`."""

    @property
    def begins_within_line(self) -> bool:
        """Whether the line in which the text begins is cut."""
        return self.lead != "" and not self.lead.endswith("\n")

    @property
    def ends_within_line(self) -> bool:
        """Whether the line in which the text ends is cut."""
        return self.trail != "" and not (self.before + self.after).endswith("\n")


def window_at(
    text: str, start: int, end: int, chosen: str = "", sizes: tuple[int, int] = (BEFORE_CHARS, AFTER_CHARS)
) -> CompletionWindow:
    """Return what is around a cursor, as if `chosen` were written over the text from `start` to `end`; of a long text,
    whole lines near it, as long as they fit."""
    first = max(0, start - sizes[0])
    if first:
        first = text.find("\n", first, start) + 1 or first
    last = min(len(text), end + sizes[1])
    if last < len(text):
        last = text.rfind("\n", end, last) + 1 or last
    return CompletionWindow(
        before=_unix(text[first:start]) + chosen,
        after=_unix(text[end:last]),
        lead=_unix(text[max(0, first - MARGIN_CHARS) : first]),
        trail=_unix(text[last : last + MARGIN_CHARS]),
        imports=imports_of(_unix(text[: min(first, TOP_CHARS)])) if first else "",
    )


def imports_of(top: str) -> str:
    """Return the import lines at the top of a file, each as one line."""
    lines = [line for line in top.split("\n") if _IMPORT.match(line)]
    found = "\n".join(lines)[:IMPORTS_CHARS]
    return found if len(found) < IMPORTS_CHARS else found[: found.rfind("\n") + 1].rstrip("\n")


def snippets_of(before: str, others: Sequence[tuple[Path, str, str]]) -> tuple[Snippet, ...]:
    """Return the parts of other files (path, shown name, text) that have the most words in common with the last lines
    before the cursor, the best one last, next to the cursor."""
    words = frozenset(words_near(before))
    found: list[tuple[int, Snippet]] = []
    for path, name, text in others:
        lines = _unix(text).split("\n")
        shared, start = _best_window(lines, words)
        if shared >= MIN_SHARED:
            found.append((shared, snippet_of(path, name, lines, start, start + WINDOW_LINES, MAX_SNIPPET_CHARS)))
    found.sort(key=lambda each: each[0])
    return tuple(snippet for _, snippet in found[-MAX_SNIPPETS:])


def words_near(before: str) -> list[str]:
    """Return the words in the last lines before the cursor, each once, the nearest first."""
    return list(dict.fromkeys(reversed(_WORD.findall("\n".join(before.split("\n")[-NEAR_LINES:])))))


def snippet_of(path: Path, name: str, lines: Sequence[str], start: int, end: int, max_chars: int) -> Snippet:
    """Return those of the lines that fit, which may be none."""
    text = "\n".join(lines[start:end])
    if len(text) > max_chars:  # whole lines: a secret that is cut is not recognised
        end = start + text.count("\n", 0, max_chars)
        text = "\n".join(lines[start:end])
    around = "\n".join(lines[max(0, start - 2 * WINDOW_LINES) : end + 2 * WINDOW_LINES])
    return Snippet(path=path, name=name, text=text, around=around)


def _best_window(lines: Sequence[str], words: frozenset[str]) -> tuple[int, int]:
    """Return how many of the words the best part of a text has, and its first line. Parts overlap by half."""
    starts = range(0, max(1, len(lines)), WINDOW_LINES // 2)
    halves = [frozenset(_WORD.findall("\n".join(lines[at : at + WINDOW_LINES // 2]))) & words for at in starts]
    scores = [len(one | other) for one, other in pairwise([*halves, frozenset[str]()])]
    best = max(range(len(scores)), key=scores.__getitem__)
    return scores[best], starts[best]


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
