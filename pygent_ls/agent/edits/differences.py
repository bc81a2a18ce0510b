"""Differences between two lists of lines."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, groupby
from typing import NamedTuple

MAX_DIFFLIB_STEPS = 4_000_000
"""Maximum steps of difflib on a stretch without a unique common line: 0.1 s. Its cost is the number of equal pairs of
lines times the number of blocks that it finds: 800 changed lines with an empty one after each would take 20 s
(measured)."""


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BREAK = re.compile(r"\r\n?|\n")


class Block(NamedTuple):
    """Differing lines: `old_start` to `old_end` of the old ones became `new_start` to `new_end` of the new ones."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def differing_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the blocks in which two lists of lines differ, in order, with at least one equal line between two blocks.

    Lines that occur exactly once in both are matched first (the patience method), which is fast and keeps functions
    apart; difflib compares what lies between them.
    """
    head = common_head(old, new)
    tail = common_tail(old, new, head)
    blocks: list[Block] = []
    for gap in _gaps(old, new, Block(head, len(old) - tail, head, len(new) - tail)):
        blocks.extend(_blocks_of_gap(old, new, gap))
    return blocks


def differing_stretches(old: str, new: str) -> list[Block]:
    """Return the blocks in which two texts differ, as offsets of whole lines. CRLF, LF and CR end a line."""
    if old == new:
        return []
    start, n_tail = _differing_lines(old, new)
    old_lines = _LINE.findall(old, start, len(old) - n_tail)
    new_lines = _LINE.findall(new, start, len(new) - n_tail)
    old_starts, new_starts = _starts(old_lines, start), _starts(new_lines, start)
    return [
        Block(
            old_starts[block.old_start],
            old_starts[block.old_end],
            new_starts[block.new_start],
            new_starts[block.new_end],
        )
        for block in differing_blocks(old_lines, new_lines)
    ]


def _differing_lines(old: str, new: str) -> tuple[int, int]:
    """Return the offset of the first differing line, and the number of characters after the last one."""
    head = common_head(old, new)
    tail = common_tail(old, new, head)
    if old[head - 1 : head] == "\r":  # perhaps half of a line break
        head -= 1
    start = line_start(old, head)
    found = _BREAK.search(old, len(old) - tail)
    return start, len(old) - found.end() if found else 0


def whole_lines(text: str, start: int, end: int, new: str) -> tuple[int, int]:
    """Return the offsets of the whole lines of a text that change if `new` replaces the characters from `start` to
    `end`."""
    first = line_start(text, start)
    ends_lines = new[-1:] in ("\n", "\r") or (not new and first == start)
    return first, end if ends_lines and is_line_start(text, end) else line_end(text, end)


def is_line_start(text: str, offset: int) -> bool:
    """Return whether a line begins at this offset, or the end of the text is behind a line break."""
    before, after = text[offset - 1 : offset] if offset else "", text[offset : offset + 1]
    return not before or before == "\n" or (before == "\r" and after != "\n")


def line_start(text: str, offset: int) -> int:
    """Return the start of the line that has the character at this offset, or that begins there."""
    if text[offset - 1 : offset + 1] == "\r\n" and offset:
        offset -= 1
    start = text.rfind("\n", 0, offset) + 1
    return max(start, text.rfind("\r", start, offset) + 1)


def line_end(text: str, offset: int) -> int:
    """Return the end of the line that has the character at this offset, with its line break."""
    found = _BREAK.search(text, offset)
    return found.end() if found else len(text)


def _starts(lines: Sequence[str], start: int) -> list[int]:
    return list(accumulate(map(len, lines), initial=start))


def _gaps(old: Sequence[str], new: Sequence[str], within: Block) -> Iterator[Block]:
    """Yield the stretches between the lines that occur exactly once in both, in the same order."""
    old_start, old_end, new_start, new_end = within
    n_old, n_new = Counter(old[old_start:old_end]), Counter(new[new_start:new_end])
    places = {new[at]: at for at in range(new_start, new_end) if n_new[new[at]] == 1}
    pairs = [(at, places[old[at]]) for at in range(old_start, old_end) if n_old[old[at]] == 1 and old[at] in places]
    for old_at, new_at in [*_longest_rising(pairs), (old_end, new_end)]:
        if old_at > old_start or new_at > new_start:
            yield Block(old_start, old_at, new_start, new_at)
        old_start, new_start = old_at + 1, new_at + 1


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest selection of pairs in which the second member rises too."""
    lowest: list[int] = []
    """Lowest second member that ends a selection of each length."""
    ends: list[int] = []
    before: list[int] = []
    for number, (_, value) in enumerate(pairs):
        length = bisect_left(lowest, value)
        lowest[length : length + 1] = [value]
        before.append(ends[length - 1] if length else -1)
        ends[length : length + 1] = [number]
    chosen: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _blocks_of_gap(old: Sequence[str], new: Sequence[str], gap: Block) -> list[Block]:
    """Return the differing blocks of a stretch; if difflib would take too long, line by line, or the whole stretch."""
    old_part, new_part = old[gap.old_start : gap.old_end], new[gap.new_start : gap.new_end]
    n_new = Counter(new_part)
    n_pairs = sum(n_new[line] for line in old_part)
    if n_pairs == 0:
        return [gap]
    if n_pairs * min(len(old_part), len(new_part)) <= MAX_DIFFLIB_STEPS:
        matcher = SequenceMatcher(None, old_part, new_part, autojunk=False)
        blocks = [Block(*places) for tag, *places in matcher.get_opcodes() if tag != "equal"]
    elif len(old_part) == len(new_part):
        blocks = _line_by_line(old_part, new_part)
    else:
        return [gap]
    return [
        Block(
            gap.old_start + block.old_start,
            gap.old_start + block.old_end,
            gap.new_start + block.new_start,
            gap.new_start + block.new_end,
        )
        for block in blocks
    ]


def _line_by_line(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the runs of differing lines of two equally long lists, as when a word is replaced everywhere."""
    blocks: list[Block] = []
    for differs, run in groupby(range(len(old)), key=lambda at: old[at] != new[at]):
        if differs:
            lines = list(run)
            blocks.append(Block(lines[0], lines[-1] + 1, lines[0], lines[-1] + 1))
    return blocks


def common_head(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of equal members at the beginning of two sequences, by bisection, so that the comparison runs
    in C."""
    low, high = 0, min(len(old), len(new)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle
    return low


def common_tail(old: Sequence[str], new: Sequence[str], n_head: int) -> int:
    """Return the number of equal members at the end of two sequences, not counting the common head."""
    low, high = 0, min(len(old), len(new)) - n_head + 1
    while high - low > 1:
        middle = (low + high) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle
    return low
