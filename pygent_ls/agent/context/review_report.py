"""What the user decided about changes in review, in words for the model. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.context.attachments import NotePart, ReviewPart
from pygent_ls.agent.edits.diffs import signed_lines, split_lines
from pygent_ls.agent.edits.pending_hunks import PendingHunk
from pygent_ls.agent.messages import RejectedFile

MAX_REPORT_CHARS = 8_000
"""Length beyond which further hunks are named by their lines alone: about 2,000 tokens."""

REJECTED = (
    "I reviewed your edits and took some back. The files no longer hold the lines marked + below; they hold those "
    "marked - again. Do not make these changes again unless I ask for them."
)

EARLIER = (
    "In an earlier conversation I reviewed edits of yours and took some back. The files hold the lines marked - below, "
    "not those marked +. Do not make these changes again unless I ask for them."
)

UNDONE = "I undid the rejection of these edits: the files hold the lines marked + again."


class DecidedHunk(Struct, frozen=True, kw_only=True):
    """A hunk that the user rejected, or whose rejection they undid."""

    path: Path
    shown: str
    """Path of the file as the model knows it."""
    uri: str
    first_line: int
    """First line in the text before the rejection, from 1."""
    hunk: PendingHunk


def report_of(
    *, rejected: Sequence[DecidedHunk], undone: Sequence[DecidedHunk], earlier: Sequence[DecidedHunk]
) -> ReviewPart | NotePart | None:
    """Return the report of rejections, of rejections that the user undid, and of rejections in another session; None
    without any."""
    parts: list[str] = []
    n_chars = 0
    for head, decided in ((REJECTED, rejected), (UNDONE, undone), (EARLIER, earlier)):
        parts += [head, ""] if decided else []
        for each in decided:
            patch = _patch(each)
            parts.append(patch if n_chars + len(patch) <= MAX_REPORT_CHARS else _head(each))
            n_chars += len(parts[-1])
    counts = Counter(each.uri for each in (*rejected, *earlier))
    files = tuple(RejectedFile(uri=uri, n_changes=n_changes) for uri, n_changes in counts.items())
    text = "\n".join(parts)
    if not files:
        return NotePart(kind="review", text=text, from_outside=False) if parts else None
    return ReviewPart(text=text, files=files)


def _head(each: DecidedHunk) -> str:
    n_old, n_new = len(split_lines(each.hunk.old_text)), len(split_lines(each.hunk.new_text))
    return f"{each.shown} @@ -{each.first_line},{n_old} +{each.first_line},{n_new} @@"


def _patch(each: DecidedHunk) -> str:
    return "\n".join([_head(each), *signed_lines(each.hunk.old_text, each.hunk.new_text)])
