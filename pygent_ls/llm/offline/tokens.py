"""Words, quoted texts and fenced blocks of a prompt, split into steps. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of the prompt; `text` is without its quotes or fence."""

    kind: Literal["word", "quoted", "fenced", "newline"]
    text: str
    start: int
    end: int

    @property
    def plain(self) -> str:
        """The word without trailing punctuation; `.` and `..` are paths."""
        text = self.text.rstrip(",;:!?")
        return text if not text.strip(".") else text.rstrip(".").rstrip(",;:!?")


# At most 1,000 characters in quotes: otherwise each unclosed quote would search the whole line.
_TOKEN = re.compile(
    r"""
      (?m:^)[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<fenced>.*?)(?:(?m:^)[ \t]*(?P=fence)[^\n]*|\Z)
    | (?P<newline>\n)
    | ``(?P<double>[^\n]{1,1000}?)``(?!`)
    | `(?P<single>[^`\n]{0,1000})`
    | "(?P<quotes>[^\n]{0,1000}?)"(?=[\s.,;:!?)]|\Z)
    | '(?P<ticks>[^\n]{0,1000}?)'(?=[\s.,;:!?)]|\Z)
    | “(?P<curly>[^\n”]{0,1000})”
    | (?P<word>[^\s]+)
    """,
    re.X | re.S,
)
_QUOTED = ("double", "single", "quotes", "ticks", "curly")

_BULLET = re.compile(r"[-*•]|\d+[.)]")
_FILLERS = frozenset({"please", "now", "first", "next", "also", "and", "finally", "lastly", "just", "kindly"})
_ASKING = frozenset({"can", "could", "would", "will"})


def tokens_of(prompt: str) -> Iterator[Token]:
    """Yield the tokens in order; with the white space between them they cover the whole prompt."""
    for match in _TOKEN.finditer(prompt):
        groups = match.groupdict()
        quoted = next((groups[name] for name in _QUOTED if groups[name] is not None), None)
        if quoted is not None:
            kind, text = "quoted", quoted
        elif groups["fenced"] is not None:
            kind, text = "fenced", groups["fenced"]
        elif groups["newline"] is not None:
            kind, text = "newline", "\n"
        else:
            kind, text = "word", groups["word"]
        yield Token(kind=kind, text=text, start=match.start(), end=match.end())


def steps_of(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the tokens of each step, split at lines and `then`; a fenced block belongs to the step before it.

    Bullets, numbers and polite words at the beginning of a step are left out.
    """
    steps: list[list[Token]] = [[]]
    for at, token in enumerate(tokens):
        if token.kind == "newline":
            if at + 1 == len(tokens) or tokens[at + 1].kind != "fenced":
                steps.append([])
        elif token.kind == "word" and token.plain.lower() == "then":
            steps.append([])
        else:
            steps[-1].append(token)
    steps = [_without_courtesy(step) for step in steps]
    return [step for step in steps if any(token.kind != "word" or token.plain for token in step)]


def _without_courtesy(step: list[Token]) -> list[Token]:
    if step and step[0].kind == "word" and _BULLET.fullmatch(step[0].text):
        step = step[1:]
    while step and _is_word(step[0], _FILLERS):
        step = step[1:]
    if len(step) > 1 and _is_word(step[0], _ASKING) and _is_word(step[1], frozenset({"you"})):
        return _without_courtesy(step[2:])
    while step and _is_word(step[-1], frozenset({"please", "and"})):
        step = step[:-1]
    return step


def _is_word(token: Token, words: frozenset[str]) -> bool:
    return token.kind == "word" and token.plain.lower() in words
