"""Tools that read files and list folders."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import Field

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.output_store import READER, is_output
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import whole_placeholders
from pygent_ls.tools.files.line_numbers import numbered
from pygent_ls.tools.search.ripgrep import SearchPlace, list_place, places

MAX_LINES = 2_000
"""Maximum number of lines of one reading: more than most source files have."""

MAX_CHARS = 38_000
"""Maximum length of one result: with its notes it stays below the 40,000 characters shown to the model by default."""

MAX_LINE_CHARS = 2_000
"""Maximum length of a line; longer ones are data or minified code, whose beginning is enough."""

MAX_ENTRIES = 1_000
"""Maximum number of entries of one listing: about 10,000 tokens."""


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.FILESYSTEM,
    kind="read",
    title="Read {path}",
    read_only=True,
    ttl_s=30,
)
async def read_file(
    context: ToolContext,
    path: Annotated[
        str,
        Field(
            description="The file, relative to the workspace folder or absolute, or output:ID for the whole of a "
            "result that was cut."
        ),
    ],
    start_line: Annotated[
        int | None, Field(ge=1, description="First line, counted from 1 (default: the first line).")
    ] = None,
    end_line: Annotated[int | None, Field(ge=1, description="Last line, inclusive (default: the last line).")] = None,
) -> str:
    """Read a text file as the user sees it, unsaved changes included.

    Each line follows its number and a tab, which are not part of the file: leave them out of `old` in edit_file. At
    most 2,000 lines are returned at a time; a note says how to get the rest. `output:ID` is the whole of a result that
    was cut, where ID is the id of its call; lines longer than 2,000 characters are folded in it.

    Raises:
        ToolError: the range is empty, or as `Workspace.read` and `Outputs.text_of` say.
    """
    if start_line is not None and end_line is not None and end_line < start_line:
        raise ToolError(
            f"end_line ({end_line}) is before start_line ({start_line}). Both count from 1, and both lines are "
            "included."
        )
    if is_output(READER, path):
        context.cacheable = False  # other sessions have other results
        name, lines = path, await asyncio.to_thread(_folded_lines, await context.outputs.text_of(path))
    else:
        document = await context.read(path)
        name, lines = context.workspace.shown(document.path), await asyncio.to_thread(_bare_lines, document.text)
    if not lines:
        return f"{name} is empty."
    first, last = start_line or 1, min(end_line or len(lines), len(lines))
    if first > len(lines):
        raise ToolError(f"{name} has {len(lines)} {_plural('line', len(lines))}, so start_line {first} does not exist.")
    shown = _fitting(lines[first - 1 : last])
    text = numbered(shown, first)
    shown_last = first + len(shown) - 1
    if (first, shown_last) == (1, len(lines)):
        return text
    note = f"Lines {first}–{shown_last} of {len(lines)} in {name}."
    if shown_last < last:
        note += f" Too many for one result: continue with start_line={shown_last + 1}."
    return f"{text}\n[{note}]"


def _bare_lines(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in split_lines(text)]


def _folded_lines(text: str) -> list[str]:
    """Split long lines into several, so that all of a result can be read."""
    return [part for line in _bare_lines(text) for part in _folded(line)]


def _folded(line: str) -> Iterator[str]:
    start = 0
    while len(line) - start > MAX_LINE_CHARS:
        end = whole_placeholders(line, start + MAX_LINE_CHARS)
        yield line[start:end]
        start = end
    yield line[start:]


def _fitting(lines: list[str]) -> list[str]:
    """Return the first lines, as many as fit into one result, with long ones cut."""
    shown: list[str] = []
    room = MAX_CHARS
    for line in lines[:MAX_LINES]:
        end = whole_placeholders(line, MAX_LINE_CHARS)
        hidden = len(line) - end
        cut = f"{line[:end]} [… {hidden} more characters in this line]" if hidden > 0 else line
        room -= len(cut) + len("     1\t\n")
        if room < 0:
            break
        shown.append(cut)
    return shown


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.FILESYSTEM,
    kind="read",
    title="List {path}",
    read_only=True,
    ttl_s=30,
)
async def list_files(
    context: ToolContext,
    path: Annotated[str, Field(description="The folder (default: the workspace).")] = ".",
    depth: Annotated[int, Field(ge=1, le=20, description="Depth of the listing in levels.")] = 2,
) -> str:
    """List a folder: one path per line, folders with a trailing `/`.

    Hidden files are listed. `.git`, empty folders and files that .gitignore excludes are not (to see into an excluded
    folder, name it as `path`).

    Raises:
        ToolError: the folder does not exist.
    """
    listings = [await _list(context, place, depth) for place in await places(context, path)]
    return "\n\n".join(listings)


async def _list(context: ToolContext, place: SearchPlace, depth: int) -> str:
    names = await list_place(context, place)
    name = context.workspace.shown(place.path)
    inside = place.name_of(place.path)
    if names == [inside]:
        raise ToolError(f"{name} is a file. Use read_file to see its content.")
    if not names:
        return f"{'The workspace folder' if name == '.' else name} is empty, except for what .gitignore excludes."
    entries = await asyncio.to_thread(_entries, names, 0 if inside == "." else inside.count("/") + 1, depth)
    within = sorted(entries, key=lambda entry: (entry.count("/"), entry))
    shown = set(within[:MAX_ENTRIES])
    opened = {entry.rpartition("/")[0] for entry in shown}
    lines: list[str] = []
    for entry in sorted(shown, key=_by_parts):
        line, n_files = context.workspace.shown(place.folder / entry), entries[entry]
        if n_files:
            line += "/" if entry in opened else f"/ ({n_files} {_plural('file', n_files)})"
        lines.append(line)
    hidden = len(within) - len(shown)
    if hidden:
        lines.append(
            f"[{hidden} more {_plural('path', hidden)} left out, the deepest ones. To see more, list one of the "
            "folders.]"
        )
    return "\n".join(lines)


def _entries(names: Sequence[str], n_above: int, depth: int) -> Mapping[str, int]:
    """Return the files and folders down to a depth, with the number of files below each, 0 for a file.

    The first `n_above` parts of every name are the listed folder.
    """
    entries: Counter[str] = Counter()
    for name in names:
        parts = name.split("/", n_above + depth)
        for n_parts in range(n_above + 1, len(parts)):
            entries["/".join(parts[:n_parts])] += 1
        if len(parts) <= n_above + depth:
            entries[name] = 0
    return entries


def _by_parts(entry: str) -> list[str]:
    """Return the sort key that places a folder directly before its contents."""
    return entry.split("/")


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
