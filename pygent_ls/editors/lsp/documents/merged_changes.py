"""Detection of an edit in a text that the user changed at the same time, so that the edited text alone was never
reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pygent_ls.agent.edits.differences import Block, common_head, common_tail, differing_blocks
from pygent_ls.agent.edits.diffs import split_lines

Lines = Sequence[str]


class LineSpan(NamedTuple):
    """Lines from `start` up to, but excluding, `end`."""

    start: int
    end: int


def holds_all_of(before: str, expected: str, current: str) -> bool:
    """Whether `current` is `expected` with further changes of the user outside the edited lines.

    False if `current` may also be `before` with changes of the user there but without the edit: an edit that was
    dropped must not count as applied. The explanation with fewer typed lines at fewer places is preferred.
    """
    old, new, now = split_lines(before), split_lines(expected), split_lines(current)
    regions = _regions(old, new)
    in_old = [LineSpan(region.old_start, region.old_end) for region in regions]
    in_new = [LineSpan(region.new_start, region.new_end) for region in regions]
    if not regions or _is_typed_into(old, in_old, now):
        return not regions
    is_typed_at_one_place = _is_typed_into(new, in_new, now)
    if not _has_in_order(old, in_old, now):
        return is_typed_at_one_place or _leaves_alone(new, in_new, now)
    return is_typed_at_one_place and _n_changed(new, now) < _n_changed(old, now)


def _regions(old: Lines, new: Lines) -> list[Block]:
    """Return the edited regions, each extended to all lines that may equally have been edited.

    If one of two equal lines was removed, both belong to the region. If a region is empty in one of the texts, it
    includes the adjacent lines.
    """
    found = differing_blocks(old, new)
    regions: list[Block] = []
    for at, block in enumerate(found):
        above = block.old_start - (found[at - 1].old_end if at else 0)
        below = (found[at + 1].old_start if at + 1 < len(found) else len(old)) - block.old_end
        wide = _widened(old, new, block, above, below)
        if regions and wide.old_start <= regions[-1].old_end:
            last = regions.pop()
            wide = Block(last.old_start, wide.old_end, last.new_start, wide.new_end)
        regions.append(wide)
    return regions


def _widened(old: Lines, new: Lines, block: Block, above: int, below: int) -> Block:
    """Extend a block. `above` and `below` are the numbers of equal lines up to the adjacent blocks."""
    start, end, new_start, new_end = block
    if start < end and new_start < new_end:
        return block
    lines, first, last = (new, new_start, new_end) if start == end else (old, start, end)
    up = down = 0
    while up < above and lines[first - up - 1] == lines[last - up - 1]:
        up += 1
    while down < below and lines[last + down] == lines[first + down]:
        down += 1
    if up + down == 0:
        up, down = min(1, above), min(1, below)
    return Block(start - up, end + down, new_start - up, new_end + down)


def _is_typed_into(text: Lines, kept: Sequence[LineSpan], now: Lines) -> bool:
    """Whether `now` is the text with one range of lines replaced that touches none of the kept spans."""
    n_head, n_tail = common_head(text, now), common_tail(text, now, 0)
    gaps = zip([0, *(span.end for span in kept)], [*(span.start for span in kept), len(text)], strict=True)
    return any(
        n_head >= start and n_tail >= len(text) - end and start + len(text) - end <= len(now) for start, end in gaps
    )


def _leaves_alone(text: Lines, kept: Sequence[LineSpan], now: Lines) -> bool:
    """Whether the two texts differ only outside the kept spans."""
    changed = [LineSpan(block.old_start, block.old_end) for block in differing_blocks(text, now)]
    return not any(_is_inside(each, span) for each in changed for span in kept)


def _n_changed(text: Lines, now: Lines) -> int:
    """Count the lines that were changed, removed or added."""
    return sum(
        block.old_end - block.old_start + block.new_end - block.new_start for block in differing_blocks(text, now)
    )


def _is_inside(changed: LineSpan, kept: LineSpan) -> bool:
    if changed.start == changed.end:
        return kept.start < changed.start < kept.end
    return changed.start < kept.end and kept.start < changed.end


def _has_in_order(text: Lines, kept: Sequence[LineSpan], now: Lines) -> bool:
    """Whether the kept spans are in `now`, in order and each between the same adjacent lines."""
    done = 0
    for span in kept:
        found = _find(now, text[max(0, span.start - 1) : span.end + 1], done)
        if found < 0:
            return False
        done = found + 1
    return True


def _find(lines: Lines, wanted: Lines, start: int) -> int:
    """Return the next index of the wanted lines, or -1."""
    for at in range(start, len(lines) - len(wanted) + 1):
        if lines[at : at + len(wanted)] == wanted:
            return at
    return -1
