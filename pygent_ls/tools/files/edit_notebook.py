"""Tool that edits the cells of a notebook, and replacements in their sources."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.workspace import EditPlan
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.files.edit_file import changed_lines, rewrite
from pygent_ls.tools.files.placeholder_view import made_as_shown
from pygent_ls.tools.notebooks.notebook_text import Cell, CellType, Notebook, problem_of


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Edit a cell of {path}",
    plans_edit=True,
)
async def edit_notebook(
    context: ToolContext,
    *,
    path: Annotated[str, Meta(description="The notebook, an .ipynb file.")],
    action: Annotated[
        Literal["replace", "insert", "delete"],
        Meta(description="Replace the source of a cell, insert a new cell after it, or delete it."),
    ] = "replace",
    cell: Annotated[
        str,
        Meta(description="The id or the number of the cell. For insert: empty inserts at the beginning."),
    ] = "",
    source: Annotated[str, Meta(description="The complete new source of the cell.")] = "",
    cell_type: Annotated[
        CellType,
        Meta(description="Type of the new cell (default: code), or new type of the replaced one."),
    ]
    | None = None,
) -> EditPlan:
    """Edit one cell of a Jupyter notebook. Everything else in the file stays as it is.

    read_file shows the cells with their numbers and ids. To change a few words of a cell, use edit_file with `old` as
    the cell's source reads. Outputs stay until the cell is run again. Numbers of later cells change with an insert or
    a delete.

    Raises:
        StaleDocumentError: the file is not as the model last read it.
        ToolError: there is no such cell, or the file is not a notebook of format 4.
    """
    if not cell and action != "insert":
        raise ToolError(f"Name the `cell` to {action}, by its id or its number.")
    document = await context.read_to_edit(path)
    name = context.workspace.shown(document.path)

    def make(text: str, given: Sequence[str]) -> str:
        return _edited(_notebook(text, name), action, cell, given[0], cell_type)

    made = await made_as_shown(context, document, (source,), make)
    if made == document.text:
        raise ToolError(f"The cell already has exactly this source, so {name} would not change.")
    await _check(document.text, made, name)
    write = await asyncio.to_thread(rewrite, document, made, name)
    n_cells = len(Notebook(made).cells)
    done = {"replace": f"replaced cell {cell}", "insert": "inserted a cell", "delete": f"deleted cell {cell}"}[action]
    where = f" after cell {cell}" if action == "insert" and cell else ""
    return EditPlan(
        label=f"Edit {name}",
        operations=(write,),
        result=f"Edited {name}: {done}{where}; {changed_lines(write)}; it has {n_cells} cells now.",
    )


def _notebook(text: str, name: str) -> Notebook:
    try:
        return Notebook(text)
    except ToolError as error:
        raise ToolError(f"The cells of {name} cannot be edited: {error}. Use edit_file on its text.") from None


def _edited(notebook: Notebook, action: str, wanted: str, source: str, kind: CellType | None) -> str:
    match action:
        case "insert":
            return notebook.with_new_cell(notebook.cell(wanted) if wanted else None, kind or "code", source)
        case "delete":
            return notebook.without(notebook.cell(wanted))
        case _:
            return _replaced(notebook, notebook.cell(wanted), source, kind)


def _replaced(notebook: Notebook, cell: Cell, source: str, kind: CellType | None) -> str:
    if kind is None or kind == cell.kind:
        return notebook.with_source(cell, source)
    made = notebook.new_cell(kind, source)
    names = {"id", "metadata"} & made.keys()
    if kind != "code":
        names.add("attachments")
    return notebook.with_cell(cell, {**made, **{key: each for key, each in cell.value.items() if key in names}})


async def _check(before: str, after: str, name: str) -> None:
    """Raise `ToolError` if a valid notebook would become an invalid one."""
    problem = await asyncio.to_thread(problem_of, after)
    if problem is not None and await asyncio.to_thread(problem_of, before) is None:
        raise ToolError(f"{name} would not be a valid notebook any more: {problem}. Nothing was changed.")
