"""Changes to review as code actions, code lenses and diagnostics, which most LSP clients show. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.edits.pending_hunks import PendingHunk
from pygent_ls.agent.ports.workspace import Hunk
from pygent_ls.editors.lsp.actions import CodeActionOut, CodeLensOut, EditorCommand, action, lens
from pygent_ls.editors.lsp.capabilities import Encoding
from pygent_ls.editors.lsp.documents.positions import LineIndex, positions_of
from pygent_ls.editors.lsp.protocol.shapes import PositionOut, RangeOut
from pygent_ls.editors.lsp.standard import DiagnosticSeverity

SOURCE = "pygent"
"""Source of our diagnostics."""

ACCEPT, REJECT = "pygent.acceptChanges", "pygent.rejectChanges"

MAX_SHOWN = 200
"""Maximum number of hunks of a file with a hint and lenses, the first ones: Emacs needs a minute for 20,000 hints."""

TITLES = {ACCEPT: "Accept", REJECT: "Reject"}


def review_actions(
    uri: str, hunks: Sequence[PendingHunk], text: str, first_line: int, last_line: int
) -> list[CodeActionOut]:
    """Return actions for the hunks in these lines, counted from 0, and for the whole file if it has more hunks."""
    index = LineIndex(text, "utf-32")
    here = hunks_in(hunks, index, first_line, last_line)
    actions: list[CodeActionOut] = []
    for hunk in here:
        where = "" if len(here) == 1 else f" at line {lines_of(hunk, index)[0] + 1}"
        actions += [
            action(f"{title} change{where}", "quickfix", command, [uri, hunk.id]) for command, title in TITLES.items()
        ]
    if here and len(hunks) > 1:
        ids = [each.id for each in hunks]
        actions += [
            action(f"{title} all {len(hunks)} changes in this file", "quickfix", command, [uri, ids])
            for command, title in TITLES.items()
        ]
    return actions


def review_lenses(uri: str, hunks: Sequence[PendingHunk], text: str) -> list[CodeLensOut]:
    """Return two lenses above each hunk."""
    index = LineIndex(text, "utf-32")
    lenses: list[CodeLensOut] = []
    for hunk in hunks[:MAX_SHOWN]:
        line = lines_of(hunk, index)[0]
        lenses += [
            lens(line, EditorCommand(title=f"{title} change", command=command, arguments=[uri, hunk.id]))
            for command, title in TITLES.items()
        ]
    return lenses


def review_diagnostics(hunks: Sequence[PendingHunk], text: str, encoding: Encoding) -> list[dict[str, Any]]:
    """Return a hint for each hunk, on its first line, as LSP has it; a deletion has one between two characters."""
    places = [(hunk.new_start, _end_of_first_line(hunk)) for hunk in hunks[:MAX_SHOWN]]
    return [
        {
            "range": place,
            "message": f"{_described(hunk)} Accept or reject the change with a code action.",
            "severity": int(DiagnosticSeverity.INFORMATION),
            "source": SOURCE,
        }
        for hunk, place in zip(hunks, _ranges(places, text, encoding), strict=False)
    ]


def ranges_of(hunks: Sequence[Hunk], text: str, encoding: Encoding) -> list[RangeOut]:
    """Return the LSP ranges of hunks, in order, in the current text."""
    return _ranges([(each.new_start, each.new_end) for each in hunks], text, encoding)


def _ranges(places: Sequence[tuple[int, int]], text: str, encoding: Encoding) -> list[RangeOut]:
    positions = positions_of(text, chain.from_iterable(places), encoding)
    ends: Iterator[PositionOut] = ({"line": each.line, "character": each.character} for each in positions)
    return [{"start": start, "end": next(ends)} for start in ends]


def _end_of_first_line(hunk: PendingHunk) -> int:
    first, *_ = split_lines(hunk.new_text) or [""]
    return hunk.new_start + len(first.rstrip("\r\n"))


def lines_of(hunk: PendingHunk, index: LineIndex) -> tuple[int, int]:
    """Return the first and the last line of a hunk, from 0; of a deletion, the line that follows it."""
    first, last = index.position(hunk.new_start).line, index.position(hunk.new_end)
    return first, max(first, last.line - (1 if last.character == 0 and hunk.new_text else 0))


def hunks_in(hunks: Sequence[PendingHunk], index: LineIndex, first_line: int, last_line: int) -> list[PendingHunk]:
    """Return the hunks that have one of these lines, counted from 0."""
    lines = [(hunk, *lines_of(hunk, index)) for hunk in hunks]
    return [hunk for hunk, first, last in lines if first <= last_line and last >= first_line]


def _described(hunk: PendingHunk) -> str:
    n_old, n_new = len(split_lines(hunk.old_text)), len(split_lines(hunk.new_text))
    match n_old, n_new:
        case _, 0:
            return f"pygent deleted {_lines(n_old)} here."
        case 0, _:
            return f"pygent inserted {_lines(n_new)}."
        case _:
            return f"pygent changed {_lines(n_new)}."


def _lines(n_lines: int) -> str:
    return "1 line" if n_lines == 1 else f"{n_lines} lines"
