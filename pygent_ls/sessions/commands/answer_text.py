"""Wording of answers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from pygent_ls.agent.messages import Usage
from pygent_ls.sessions.checkpoints.rewind import Restored

MAX_NAMED = 20
"""Maximum number of files named for one reason; the others are counted."""

WAS_NOT_KEPT = "Not all file changes of this turn could be recorded. Files that are not listed here were not changed."

MAX_LINE_CHARS = 120
"""Maximum number of characters of a title or a snippet in a list."""


def what_went_back(done: Restored, shown: Callable[[Path], str]) -> str:
    """Return a report on the restored files, and on the others with the reasons."""
    if done.restored:
        lines = [f"Restored: {named([shown(path) for path in done.restored])}."]
    else:
        nothing_stands = not done.skipped and not done.was_not_kept
        lines = ["No files needed to be restored." if nothing_stands else "No files were restored."]
    if done.was_not_kept:
        lines.append(WAS_NOT_KEPT)
    reasons: dict[str, list[str]] = {}
    for each in done.skipped:
        reasons.setdefault(each.reason, []).append(shown(each.path))
    lines += [f"Not restored: {named(names)}: {reason}." for reason, names in reasons.items()]
    return "\n".join(lines)


def named(names: Sequence[str]) -> str:
    """Return the names as code, separated by commas; those beyond the maximum are counted."""
    more = len(names) - MAX_NAMED
    listed = ", ".join(f"`{name}`" for name in names[:MAX_NAMED])
    return f"{listed} and {more} more" if more > 0 else listed


def when(moment: datetime) -> str:
    """Return the time, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def spent(usage: Usage) -> str:
    """Return tokens and cost, such as `1,234 tokens (1,000 in, 800 of it cached, 234 out), $0.0123`."""
    cached = f", {usage.cache_read_tokens:,} of it cached" if usage.cache_read_tokens else ""
    tokens = f"{usage.total_tokens:,} tokens ({usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out)"
    return f"{tokens}, {usage.cost_in_words}"
