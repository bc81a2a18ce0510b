"""Finds lines again in a text that another program has rewritten."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from pygent_ls.agent.edits.differences import (
    Block,
    common_head,
    common_tail,
    differing_blocks,
    is_line_start,
    line_end,
    line_start,
)
from pygent_ls.agent.edits.diffs import split_lines

_WORD = re.compile(r"\w+")


def found_lines(old: str, new: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int] | None] | None:
    """Return where spans of whole lines of the old text are in the new one, in order; None for lines that are gone.

    Lines are still there if at least half of their words are, in order, whatever is between the words: a formatter
    breaks and joins lines, and uses other quotation marks. Lines without words are found between their neighbours.
    Returns None if lines of a span are joined with others.
    """
    words = _CommonWords(old, new)
    head = common_head(old, new)
    tail = len(old) - common_tail(old, new, head)
    found: list[tuple[int, int] | None] = []
    end = 0
    for span in spans:
        place = words.place(*span)
        n_same = max(0, min(head, span[1]) - span[0]) + max(0, span[1] - max(tail, span[0]))
        if place is None and 2 * n_same > span[1] - span[0]:
            return None
        if place is not None and not (end <= place[0] <= place[1] and is_line_start(new, place[0])):
            return None
        found.append(place)
        end = place[1] if place is not None else end
    return found


class _CommonWords:
    """Words of two texts that correspond to each other."""

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new
        old_words, new_words = list(_WORD.finditer(old)), list(_WORD.finditer(new))
        self._starts = [each.start() for each in old_words]
        self._old_starts: list[int] = []
        """Offsets in the old text of the words that both texts have."""
        self._new_starts: list[int] = []
        blocks = differing_blocks([each[0] for each in old_words], [each[0] for each in new_words])
        ends = Block(len(old_words), len(old_words), len(new_words), len(new_words))
        for before, after in pairwise([Block(0, 0, 0, 0), *blocks, ends]):
            self._old_starts += self._starts[before.old_end : after.old_start]
            self._new_starts += (each.start() for each in new_words[before.new_end : after.new_start])

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where whole lines of the old text are in the new one: an end before the start if other lines are
        joined with them. None if they are gone."""
        first, last = bisect_left(self._old_starts, start), bisect_left(self._old_starts, end)
        n_words = bisect_left(self._starts, end) - bisect_left(self._starts, start)
        low = line_end(self._new, self._new_starts[first - 1]) if first else 0
        high = line_start(self._new, self._new_starts[last]) if last < len(self._new_starts) else len(self._new)
        if n_words == 0:
            lines = [each.strip() for each in split_lines(self._new[low:high])]
            is_there = low <= high and lines == [each.strip() for each in split_lines(self._old[start:end])]
            return (low, high) if is_there else None
        if 2 * (last - first) < n_words:
            return None
        above = self._old.count("\n", start, self._old_starts[first])
        below = self._old.count("\n", line_end(self._old, self._old_starts[last - 1]), end)
        from_, to = line_start(self._new, self._new_starts[first]), line_end(self._new, self._new_starts[last - 1])
        if from_ < low or to > high:
            return high, low
        for _ in range(above):
            from_ = max(low, line_start(self._new, from_ - 1)) if from_ else 0
        for _ in range(below):
            to = min(high, line_end(self._new, to))
        following = line_start(self._old, self._old_starts[last]) if last < len(self._old_starts) else len(self._old)
        is_rest_wordless = following == end and not _WORD.search(self._new, to, high)
        return from_, high if is_rest_wordless else to  # a bracket that closes
