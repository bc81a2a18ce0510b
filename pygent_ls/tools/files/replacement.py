"""Replaces text in a document regardless of its line endings: `\\n` in the model's text matches each kind."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable

from msgspec import Struct

from pygent_ls.errors import ToolError
from pygent_ls.tools.files.near_matches import explain_missing

MAX_LINES_NAMED = 20
"""Maximum number of line numbers in a message; more would not help the model."""


class Replaced(Struct, frozen=True, kw_only=True):
    """Text of a document after a replacement."""

    text: str
    lines: tuple[int, ...]
    """Line of each replacement, from 1."""


def replace(text: str, old: str, new: str, *, name: str, every: bool) -> Replaced:
    """Replace the only occurrence of `old`, or each if `every` is set; all other text stays byte for byte.

    Line breaks in `new` become those of the document at that place. If `old` and `new` differ only in line endings,
    both are taken literally. `name` is the document's, for messages.

    Raises:
        ToolError: `old` is missing (the message quotes the nearest text) or occurs several times, or nothing would
        change.
    """
    if not old:
        raise ToolError(
            "`old` is empty. Give the text to replace. To insert text, give the adjacent text as `old` and "
            "repeat it in `new`. To fill an empty file, use create_file with overwrite."
        )
    if old == new:
        raise ToolError("`old` and `new` are the same, so there is nothing to change.")
    view = _View.of(text)
    wanted, replacement = view.unify(old), view.unify(new)
    if wanted == replacement:
        return _replace_literally(text, old, new, name=name, every=every)
    starts = _occurrences(view.text, wanted)
    if not starts:
        raise ToolError(f"`old` was not found in {name}. {explain_missing(view.text, wanted)}")
    if not every:
        _refuse_several(view.text, wanted, starts, name=name)
    lead, trail = _common_ends(wanted, replacement)
    changed = replacement[lead : len(replacement) - trail]
    spans = [(view.offset(at + lead), view.offset(at + len(wanted) - trail)) for at in starts]
    ending_at = _line_endings(text)
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += [text[done:start], changed.replace("\n", ending_at(start))]
        done = end
    pieces.append(text[done:])
    return Replaced(text="".join(pieces), lines=_line_numbers(view.text, [at + lead for at in starts]))


def with_line_endings_of(document: str, text: str) -> str:
    """Convert `\\n` in a text to the document's line endings, if the document has one kind only."""
    endings = set(re.findall(r"\r\n|\r|\n", document))
    if "\r" in text or len(endings) != 1:
        return text
    return text.replace("\n", endings.pop())


class _View(Struct, frozen=True):
    """Text with `\\n` line endings, and the mapping to its original offsets."""

    text: str
    shortened_at: tuple[int, ...]
    """Offsets in `text` of each `\\n` that represents `\\r\\n`."""
    only_cr: bool
    """Whether lines end with a lone `\\r`, as in classic Mac OS; beside `\\n` a lone `\\r` is an ordinary character."""

    @staticmethod
    def of(text: str) -> _View:
        if "\n" not in text:
            return _View(text.replace("\r", "\n"), (), "\r" in text)
        found = re.finditer("\r\n", text)
        return _View(text.replace("\r\n", "\n"), tuple(m.start() - i for i, m in enumerate(found)), only_cr=False)

    def unify(self, text: str) -> str:
        """Convert the model's text to the line endings of `text`."""
        unified = text.replace("\r\n", "\n")
        return unified.replace("\r", "\n") if self.only_cr else unified

    def offset(self, at: int) -> int:
        """Convert an offset in `text` to one in the document."""
        return at + bisect_left(self.shortened_at, at)


def _replace_literally(text: str, old: str, new: str, *, name: str, every: bool) -> Replaced:
    starts = _occurrences(text, old)
    if not starts:
        raise ToolError(
            f"`old` and `new` differ only in line endings, and `old` with these line endings is not in {name}. "
            "Line endings stay as they are in the file, so there is nothing to change."
        )
    if not every:
        _refuse_several(text, old, starts, name=name)
    return Replaced(text=text.replace(old, new), lines=_line_numbers(text, starts))


def _occurrences(text: str, wanted: str) -> list[int]:
    """Return the offsets of occurrences from the left, without overlaps."""
    starts: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        starts.append(at)
        at = text.find(wanted, at + len(wanted))
    return starts


def _refuse_several(text: str, wanted: str, starts: list[int], *, name: str) -> None:
    if len(starts) == 1:
        again = text.find(wanted, starts[0] + 1)  # `aa` occurs twice in `aaa`, and either could be meant
        if again < 0:
            return
        starts = [starts[0], again]
    raise ToolError(
        f"`old` occurs {len(starts)} times in {name}, at {name_lines(_line_numbers(text, starts))}. Nothing was "
        "changed. Add surrounding lines to `old` until it is unique, or set `all` to true to replace every "
        "occurrence."
    )


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """Return how many characters are equal at the beginning and at the end: they are not replaced."""
    shorter = min(len(old), len(new))
    lead = 0
    while lead < shorter and old[lead] == new[lead]:
        lead += 1
    trail = 0
    while trail < shorter - lead and old[-1 - trail] == new[-1 - trail]:
        trail += 1
    return lead, trail


def _line_endings(text: str) -> Callable[[int], str]:
    """Return a function for the ending of the line at an offset, or that of the preceding line if the last one has
    none.
    """
    breaks = [(match.start(), match[0]) for match in re.finditer(r"\r\n|\n" if "\n" in text else r"\r", text)]
    kinds = {ending for _, ending in breaks} or {"\n"}
    if len(kinds) == 1:
        only = kinds.pop()
        return lambda _: only
    starts = [start for start, _ in breaks]
    return lambda at: breaks[min(bisect_left(starts, at), len(breaks) - 1)][1]


def _line_numbers(text: str, starts: list[int]) -> tuple[int, ...]:
    numbers: list[int] = []
    line, counted = 1, 0
    for start in starts:
        line += text.count("\n", counted, start)
        counted = start
        numbers.append(line)
    return tuple(numbers)


def name_lines(numbers: tuple[int, ...]) -> str:
    """Format `line 5` or `lines 5, 7 and 9`, without repetitions."""
    unique = list(dict.fromkeys(numbers))
    named = [str(number) for number in unique[:MAX_LINES_NAMED]]
    if len(unique) > MAX_LINES_NAMED:
        return f"lines {', '.join(named)} and {len(unique) - MAX_LINES_NAMED} more"
    if len(named) == 1:
        return f"line {named[0]}"
    return f"lines {', '.join(named[:-1])} and {named[-1]}"
