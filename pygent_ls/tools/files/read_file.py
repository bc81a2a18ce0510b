"""Tools that read files and list folders."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.output_store import READER, is_output
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import FileTooLargeError, NotTextError, ToolError
from pygent_ls.secrets.redactor import whole_placeholders
from pygent_ls.tools.files.cells_view import shown_notebook
from pygent_ls.tools.files.file_parts import MAX_LINE_CHARS, Span, read_large, shown_part
from pygent_ls.tools.files.pictures import show_picture
from pygent_ls.tools.notebooks.notebook_text import SUFFIX
from pygent_ls.tools.search.ripgrep import SearchPlace, list_place, places

SHORT_CHARS = 20_000
"""Maximum length of a text that is cut into lines at once: a thread takes longer."""

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
        Meta(
            description="The file, relative to the workspace folder or absolute, or output:ID for the whole of a "
            "result that was cut."
        ),
    ],
    start_line: Annotated[int, Meta(ge=1, description="First line, counted from 1 (default: the first line).")]
    | None = None,
    end_line: Annotated[int, Meta(ge=1, description="Last line, inclusive (default: the last line).")] | None = None,
    start_column: Annotated[
        int,
        Meta(
            ge=1, description="First character of start_line, to read on in a line that was cut. It needs no end_line."
        ),
    ]
    | None = None,
) -> str:
    """Read a text file as the user sees it, unsaved changes included. An image (PNG, JPEG, GIF, WebP) is shown to you,
    and a Jupyter notebook as its cells.

    Each line follows its number and a tab, which are not part of the file: leave them out of `old` in edit_file. At
    most 2,000 lines are returned at a time; a note says how to get the rest. Files of any size are read in parts.
    `output:ID` is the whole of a result that was cut, where ID is the id of its call; lines longer than 2,000
    characters are folded in it.

    Raises:
        ToolError: the range is empty, or as `Workspace.read`, `Workspace.read_part` and `Outputs.text_of` say.
    """
    span = Span(start_line=start_line, end_line=end_line, start_column=start_column)
    span.check()
    if is_output(READER, path):
        context.cacheable = False  # other sessions have other results
        name, lines = path, await asyncio.to_thread(_folded_lines, await context.outputs.text_of(path))
    else:
        try:
            try:
                document = await context.read(path)
            except FileTooLargeError:
                return await read_large(context, path, span)
        except NotTextError as error:
            if error.mime_type is None:
                raise
            return await show_picture(context, path, error.mime_type)
        name = context.workspace.shown(document.path)
        if name.endswith(SUFFIX) and document.text.strip():
            return await shown_notebook(context, document, name, span)
        is_short = len(document.text) <= SHORT_CHARS
        lines = _bare_lines(document.text) if is_short else await asyncio.to_thread(_bare_lines, document.text)
    return shown_part(lines, name, span) if lines else f"{name} is empty."


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
    path: Annotated[str, Meta(description="The folder (default: the workspace).")] = ".",
    depth: Annotated[int, Meta(ge=1, le=20, description="Depth of the listing in levels.")] = 2,
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
