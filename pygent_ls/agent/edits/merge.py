"""Three-way merge of texts. Pure."""

from __future__ import annotations

from pygent_ls.agent.edits.differences import differing_stretches


def merged(base: str, ours: str, theirs: str) -> str | None:
    """Return the text with the changes from `base` to `ours` and from `base` to `theirs`; None if they conflict.

    Changes conflict if they replace the same lines or touch each other, unless they are equal.
    """
    if base in (ours, theirs):
        return theirs if base == ours else ours
    if ours == theirs:
        return ours
    our_changes, their_changes = differing_stretches(base, ours), differing_stretches(base, theirs)
    changes = {(each.old_start, each.old_end, ours[each.new_start : each.new_end]) for each in our_changes}
    changes |= {(each.old_start, each.old_end, theirs[each.new_start : each.new_end]) for each in their_changes}
    parts: list[str] = []
    end = -1
    for start, stop, text in sorted(changes):
        if start <= end:
            return None
        parts += base[max(end, 0) : start], text
        end = stop
    return "".join((*parts, base[max(end, 0) :]))
