"""Explains to the model how its text differs from the document, or which text is nearest."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from pygent_ls.tools.files.line_numbers import numbered

MAX_LINES_SEARCHED = 50_000
"""Maximum number of lines that are searched: these take 0.2 s on a slow core."""

MAX_CANDIDATES = 30
"""Maximum number of places that are compared in detail, the most promising first."""

MAX_LETTERS_COMPARED = 200
"""Text up to this length is compared letter by letter, longer text word by word: difflib's time is quadratic."""

MAX_WORDS_COMPARED = 250

MIN_LIKENESS = 0.6
"""Similarity (0 to 1) below which the nearest text is misleading."""

MAX_LINES_QUOTED = 20

MAX_LINE_CHARS = 300
"""Maximum length of a line that is compared and quoted."""

STEM_LETTERS = 4
"""Number of initial letters that make words count as shared: typos are mostly later in a word."""

_PASTED_NUMBER = re.compile(r"^ *\d+(?:\t|→|\| ?|: ?)", re.MULTILINE)
"""Line numbers of `read_file`, and the forms in which models rewrite them."""

_LOOK_ALIKE = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "."})


def explain_missing(text: str, wanted: str, *, called: str = "`old`") -> str:
    """Explain why `wanted` is not in `text`, both with `\\n` for line endings. The cost is bounded.

    `called` is the model's name for the text.
    """
    bare = _PASTED_NUMBER.sub("", wanted)
    if bare != wanted and bare in text:
        return "The file contains it without the line numbers, which read_file adds. Leave them out."
    unescaped = wanted.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    if unescaped != wanted and unescaped in text:
        return "The file contains it without the backslashes. Write line breaks, tabs and quotes unescaped."
    lines = text.split("\n")[:MAX_LINES_SEARCHED]
    for fold, between, difference in _FOLDS:
        span = _find_folded(lines, wanted, fold, between)
        if span is not None:
            found = lines[span.start : span.stop]
            tabs = _about_tabs(wanted, found) if fold is str.strip else ""
            return (
                f"The text in the file differs only in {difference}{tabs}, at line {span.start + 1}:\n"
                f"{_quoted(found, span)}"
            )
    span, likeness = _nearest(lines, wanted)
    if likeness < MIN_LIKENESS:
        return f"Nothing in the file resembles {called}. Read the file with read_file and copy the text from there."
    return f"The nearest text is at line {span.start + 1}:\n{_quoted(lines[span.start : span.stop], span)}"


def _quoted(found: Sequence[str], span: range) -> str:
    shown = numbered([line[:MAX_LINE_CHARS] for line in found[:MAX_LINES_QUOTED]], span.start + 1)
    hidden = len(found) - MAX_LINES_QUOTED
    return f"{shown}\n[… {hidden} more lines]" if hidden > 0 else shown


def _without_space(line: str) -> str:
    return "".join(line.split())


def _same_look(line: str) -> str:
    return _without_space(line.translate(_LOOK_ALIKE))


_FOLDS: Sequence[tuple[Callable[[str], str], str, str]] = (
    (str.rstrip, "\n", "trailing spaces"),
    (str.strip, "\n", "indentation"),
    (_without_space, "", "whitespace or line breaks"),
    (str.casefold, "\n", "upper and lower case"),
    (_same_look, "", "characters that look alike, such as ’ and '"),
)
"""Function applied to each line, separator for joining the lines, and the difference that this removes."""


def _find_folded(lines: Sequence[str], wanted: str, fold: Callable[[str], str], between: str) -> range | None:
    """Return the lines, from 0, that contain the text after both are folded."""
    target = between.join(fold(line) for line in wanted.split("\n")).strip("\n")
    if not target:
        return None
    folded = [fold(line) for line in lines]
    at = between.join(folded).find(target)
    if at < 0:
        return None
    starts = list(accumulate((len(line) + len(between) for line in folded), initial=0))
    return range(bisect_right(starts, at) - 1, bisect_right(starts, at + len(target) - 1))


def _about_tabs(wanted: str, found: Sequence[str]) -> str:
    ours, theirs = (any(line.startswith("\t") for line in lines) for lines in (wanted.split("\n"), found))
    if theirs and not ours:
        return " (the file indents with tabs)"
    return " (the file indents with spaces)" if ours and not theirs else ""


def _nearest(lines: Sequence[str], wanted: str) -> tuple[range, float]:
    """Return the most similar lines, from 0, as many as in the text, and their similarity, 0 to 1."""
    target = wanted.strip("\n")
    height = target.count("\n") + 1
    best, likeness = range(height), 0.0
    for start in _candidates(lines, target, height):
        found = [line[:MAX_LINE_CHARS] for line in lines[start : start + height]]
        this = _likeness(target, "\n".join(found))
        if this > likeness:
            best, likeness = range(start, start + len(found)), this
    return best, likeness


def _candidates(lines: Sequence[str], wanted: str, height: int) -> list[int]:
    """Return the starts of the places that share the most words with the text."""
    known = _stems(wanted)
    shared = [len(known & _stems(line[:MAX_LINE_CHARS])) for line in lines]
    sums = list(accumulate(shared, initial=0))
    last = max(1, len(lines) - height + 1)
    scores = [sums[min(start + height, len(lines))] - sums[start] for start in range(last)]
    return heapq.nlargest(MAX_CANDIDATES, range(last), key=scores.__getitem__)


def _stems(text: str) -> set[str]:
    return {word[:STEM_LETTERS] for word in re.findall(r"\w+", text)} or set(text.split())


def _likeness(wanted: str, found: str) -> float:
    if len(wanted) <= MAX_LETTERS_COMPARED:
        matcher = SequenceMatcher(None, found, wanted, autojunk=False)
        matched = sum(block.size for block in matcher.get_matching_blocks() if block.size > 1)
        return matched / len(wanted) if wanted else 0.0
    ours, theirs = (re.findall(r"\w+|[^\w\s]", text)[:MAX_WORDS_COMPARED] for text in (wanted, found))
    return SequenceMatcher(None, theirs, ours, autojunk=False).ratio()
