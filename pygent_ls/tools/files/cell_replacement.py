"""Replacements of text in the sources of a notebook's cells."""

from __future__ import annotations

from collections.abc import Sequence

from pygent_ls.errors import ToolError
from pygent_ls.tools.files.replacement import Replaced, replace
from pygent_ls.tools.notebooks.notebook_text import SUFFIX, Cell, Notebook

MAX_NAMED = 20
"""Maximum number of cells in a message."""


def replace_in_file(text: str, old: str, new: str, *, name: str, every: bool) -> Replaced:
    """Replace text in a file as `replace` does. In a notebook, `old` is text of one cell's source, else of the file.

    Raises `ToolError` as `replace` does.
    """
    if not name.endswith(SUFFIX):
        return replace(text, old, new, name=name, every=every)
    try:
        notebook = Notebook(text)
    except ToolError:
        return replace(text, old, new, name=name, every=every)
    wanted = old.replace("\r\n", "\n")
    found = [cell for cell in notebook.cells if wanted and wanted in cell.source]
    if not found:
        return replace(text, old, new, name=name, every=every)
    if len(found) > 1 and not every:
        raise ToolError(
            f"`old` occurs in {len(found)} cells of {name}: {_numbers(found)}. Include more text, or use edit_notebook "
            "with the id of one cell."
        )
    lines = tuple(text.count("\n", 0, each.start) + 1 for each in found)
    sources = [
        (each, replace(each.source, wanted, new, name=f"cell {each.number} of {name}", every=every).text)
        for each in found
    ]
    return Replaced(text=notebook.with_sources(sources), lines=lines)


def _numbers(cells: Sequence[Cell]) -> str:
    """Name the first cells by their numbers."""
    named = ", ".join(str(each.number) for each in cells[:MAX_NAMED])
    return f"{named} and more" if len(cells) > MAX_NAMED else named
