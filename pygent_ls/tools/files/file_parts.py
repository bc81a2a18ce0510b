"""Parts of files that `read_file` shows: ranges of lines, pieces of long lines, and both of files of any size."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from pygent_ls.agent.ports.workspace import LargeFilePart, PartWanted
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import whole_placeholders
from pygent_ls.tools.files.line_numbers import numbered

MAX_LINES = 2_000
"""Maximum number of lines of one reading: more than most source files have."""

MAX_CHARS = 38_000
"""Maximum length of one result: with its notes it stays below the 40,000 characters shown to the model by default."""

MAX_LINE_CHARS = 2_000
"""Maximum length of a line; longer ones are data or minified code, whose beginning is enough."""

LINE_COST = len("     1\t\n")
"""Characters that a line takes besides its text."""


class Span(Struct, frozen=True, kw_only=True):
    """Range of a file that the model wants to read, as it named it."""

    start_line: int | None = None
    end_line: int | None = None
    start_column: int | None = None

    def check(self) -> None:
        """Raise `ToolError` for a range that cannot exist."""
        start, end = self.start_line, self.end_line
        if start is not None and end is not None and end < start:
            raise ToolError(
                f"end_line ({end}) is before start_line ({start}). Both count from 1, and both lines are included."
            )
        if self.start_column is not None and end is not None and end != (start or 1):
            raise ToolError(
                "start_column continues one line, start_line. Leave out end_line, or leave out start_column."
            )

    @property
    def first(self) -> int:
        """First line."""
        return self.start_line or 1


def shown_part(lines: Sequence[str], name: str, span: Span) -> str:
    """Return the wanted part of a text's lines, without their endings. Raises `ToolError` for lines that do not
    exist."""
    first, last = span.first, min(span.end_line or len(lines), len(lines))
    if first > len(lines):
        n_lines = f"{len(lines)} {'line' if len(lines) == 1 else 'lines'}"
        raise ToolError(f"{name} has {n_lines}, so start_line {first} does not exist.")
    if span.start_column is not None:
        return _rest_of_line(lines[first - 1], len(lines[first - 1]), name, first, span.start_column)
    shown, is_cut = _fitting(lines[first - 1 : last], [len(line) for line in lines[first - 1 : last]])
    text = numbered(shown, first)
    shown_last = first + len(shown) - 1
    is_whole = (first, shown_last) == (1, len(lines))
    notes = [] if is_whole else [f"Lines {first}–{shown_last} of {len(lines)} in {name}."]
    if shown_last < last:
        notes.append(f"Too many for one result: continue with start_line={shown_last + 1}.")
    notes += [HOW_TO_GO_ON] if is_cut else []
    return f"{text}\n[{' '.join(notes)}]" if notes else text


HOW_TO_GO_ON = "To read the rest of a long line, give its number as start_line, and start_column."


def _rest_of_line(rest: str, n_chars: int, name: str, line: int, column: int, before: int = 0) -> str:
    """Return a piece of one line. `rest` begins with the line's character number `before`, counted from 0; `n_chars` is
    the length of the line."""
    if column > max(n_chars, 1):
        raise ToolError(f"Line {line} of {name} has {n_chars:,} characters, so start_column {column} does not exist.")
    start = column - 1 - before
    end = whole_placeholders(rest, start + MAX_CHARS)
    shown_last = min(before + max(end, start + 1), n_chars)
    note = f"Characters {column}–{shown_last} of {n_chars:,} in line {line} of {name}."
    if shown_last < n_chars:
        note += f" Continue with start_line={line}, start_column={shown_last + 1}."
    return f"{numbered([rest[start:end]], line)}\n[{note}]"


def _fitting(lines: Sequence[str], lengths: Sequence[int]) -> tuple[list[str], bool]:
    """Return the first lines, as many as fit into one result, with long ones cut, and whether any was cut."""
    shown: list[str] = []
    room, is_cut = MAX_CHARS, False
    for line, length in list(zip(lines, lengths, strict=True))[:MAX_LINES]:
        end = whole_placeholders(line, MAX_LINE_CHARS)
        hidden = length - end
        cut = f"{line[:end]} [… {hidden} more characters in this line]" if hidden > 0 else line
        room -= len(cut) + LINE_COST
        if room < 0:
            break
        shown.append(cut)
        is_cut |= hidden > 0
    return shown, is_cut


# Files that are too large to be read whole


async def read_large(context: ToolContext, path: str, span: Span) -> str:
    """Return the wanted part of a file of any size. Raises `ToolError` as `Workspace.read_part` does."""
    resolved, column = context.workspace.resolve(path), span.start_column
    wanted = PartWanted(
        line=span.first,
        column=column or 1,
        max_lines=1 if column else min(MAX_LINES, (span.end_line or span.first + MAX_LINES) - span.first + 1),
        max_chars=MAX_CHARS,
        max_line_chars=MAX_CHARS if column else MAX_LINE_CHARS,
        line_cost=LINE_COST,
    )
    part = await context.workspace.read_part(resolved, wanted)
    context.dependencies[resolved] = part.stamp
    lines = await context.masks.part(part, path)
    name = context.workspace.shown(resolved)
    size = f"{name} ({part.n_bytes / 1e6:,.1f} MB)"
    if column:
        return _rest_of_line(lines[0], part.lengths[0] + column - 1, size, span.first, column, before=column - 1)
    return _shown_large(lines, part, size, span)


def _shown_large(lines: Sequence[str], part: LargeFilePart, size: str, span: Span) -> str:
    lengths = [
        len(line) + max(length - len(kept), 0)
        for line, kept, length in zip(lines, part.lines, part.lengths, strict=False)
    ]
    shown, is_cut = _fitting(lines[: len(lengths)], lengths)
    last = span.first + len(shown) - 1
    n_lines = f"{part.n_lines}" if part.counted_all else f"more than {part.n_lines}"
    note = f"Lines {span.first}–{last} of {n_lines} in {size}."
    if last < part.n_lines and last < (span.end_line or part.n_lines):
        note += f" Too large for one result: continue with start_line={last + 1}, or find lines with grep_search."
    if is_cut:
        note += f" {HOW_TO_GO_ON}"
    return f"{numbered(shown, span.first)}\n[{note}]"
