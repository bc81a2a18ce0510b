"""Computes small replacements between two texts that editors can apply."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pygent_ls.agent.edits.differences import Block, common_head, common_tail, differing_stretches


class Replacement(NamedTuple):
    """Replacement of the characters from `start` to `end` of the old text with `text`."""

    start: int
    end: int
    text: str


def minimal_edits(old: str, new: str) -> list[Replacement]:
    """Return replacements that turn the old text into the new one, in ascending order, not touching each other.

    Each is trimmed to the characters that differ, but never begins or ends between `\\r` and `\\n` or between two
    surrogates, in either text: editors have no such positions.
    """
    return [_trimmed(old, new, stretch) for stretch in differing_stretches(old, new)]


def at_most(n_edits: int, old: str, edits: Sequence[Replacement]) -> Sequence[Replacement]:
    """Join edits of `old` across the shortest texts between them until at most `n_edits` are left."""
    n_joined = len(edits) - n_edits
    if n_joined <= 0:
        return edits
    by_gap = sorted(range(1, len(edits)), key=lambda place: edits[place].start - edits[place - 1].end)
    is_joined = set(by_gap[:n_joined])
    firsts = [place for place in range(len(edits)) if place not in is_joined]
    groups = [edits[first:end] for first, end in pairwise([*firsts, len(edits)])]
    return [_join(old, group) for group in groups]


def _join(old: str, edits: Sequence[Replacement]) -> Replacement:
    parts = [edits[0].text]
    for before, edit in pairwise(edits):
        parts += old[before.end : edit.start], edit.text
    return Replacement(edits[0].start, edits[-1].end, "".join(parts))


def _trimmed(old: str, new: str, at: Block) -> Replacement:
    """Return the replacement of a block of characters, without equal characters at its ends."""
    old_part, new_part = old[at.old_start : at.old_end], new[at.new_start : at.new_end]
    head = common_head(old_part, new_part)
    while head and (_splits(old, at.old_start + head) or _splits(new, at.new_start + head)):
        head -= 1
    tail = common_tail(old_part, new_part, head)
    while tail and (_splits(old, at.old_end - tail) or _splits(new, at.new_end - tail)):
        tail -= 1
    return Replacement(at.old_start + head, at.old_end - tail, new_part[head : len(new_part) - tail])


def _splits(text: str, offset: int) -> bool:
    """Return whether the offset lies inside a line break or a surrogate pair."""
    if not 0 < offset < len(text):
        return False
    before, after = text[offset - 1], text[offset]
    return (before == "\r" and after == "\n") or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
