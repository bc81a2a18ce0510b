"""Tools that create and edit text files. They return plans, which are shown to the user and then applied."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.edits.diffs import split_lines, unified_diff
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.workspace import MISSING, Document, EditPlan, TextEncoding, WriteText
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.files.cell_replacement import replace_in_file
from pygent_ls.tools.files.placeholder_view import made_as_shown
from pygent_ls.tools.files.replacement import name_lines, with_line_endings_of


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Edit {path}",
    plans_edit=True,
)
async def edit_file(
    context: ToolContext,
    *,
    path: Annotated[str, Meta(description="The file.")],
    old: Annotated[
        str, Meta(description="The text to replace, exactly as in the file, including indentation; it must be unique.")
    ],
    new: Annotated[str, Meta(description="The new text; empty to delete the old text.")],
    all: Annotated[bool, Meta(description="Replace every occurrence of `old`.")] = False,
) -> EditPlan:
    """Replace text in a file.

    `old` must occur exactly once, unless `all` is true: include enough lines around the change to make it unique. Do
    not include read_file's line numbers in `old` or `new`. Line endings and encoding stay as they are in the file. In a
    Jupyter notebook, `old` is text of one cell's source.

    Raises:
        StaleDocumentError: the file is not as the model last read it.
        ToolError: `old` is not there, or more than once; the message quotes the nearest text, or names the lines.
    """
    document = await context.read_to_edit(path)
    name = context.workspace.shown(document.path)
    if not document.text and old:
        raise ToolError(f"{name} is empty, so there is nothing to replace. Use create_file with overwrite to fill it.")
    replaced = await made_as_shown(
        context, document, (old, new), lambda text, given: replace_in_file(text, *given, name=name, every=all)
    )
    count = len(replaced.lines)
    if count > 1 and not context.reads.knows(document.path):
        raise ToolError(
            f"`old` occurs {count} times in {name}, at {name_lines(replaced.lines)}, and you have not read the file. "
            "Read it before you replace them all."
        )
    plural = "replacement" if count == 1 else "replacements"
    write = await asyncio.to_thread(rewrite, document, replaced.text, name)
    return EditPlan(
        label=f"Edit {name}",
        operations=(write,),
        result=f"Edited {name}: {changed_lines(write)}; {count} {plural} at {name_lines(replaced.lines)}.",
    )


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Create {path}",
    plans_edit=True,
)
async def create_file(
    context: ToolContext,
    *,
    path: Annotated[str, Meta(description="The new file; missing folders are created.")],
    content: Annotated[str, Meta(description="The complete text of the file.")],
    overwrite: Annotated[bool, Meta(description="Replace the complete text of an existing file.")] = False,
) -> EditPlan:
    """Create a text file. To change part of an existing file, use edit_file.

    Raises:
        StaleDocumentError: the file that is to be overwritten is not as the model last read it.
        ToolError: the file exists, or cannot hold the text.
    """
    if path.endswith("/"):
        raise ToolError(f"{path} names a folder. Give the path of a file; missing folders are created.")
    resolved = context.workspace.resolve(path)
    name = context.workspace.shown(resolved)
    n_lines = len(split_lines(content))
    if await context.workspace.stamp(resolved) == MISSING:
        check_encodable(content, TextEncoding(), name)
        new = WriteText(path=resolved, before=None, text=content)
        return EditPlan(label=f"Create {name}", operations=(new,), result=f"Created {name}: {_lines(n_lines)}.")
    if not overwrite:
        raise ToolError(
            f"{name} already exists. To change part of it, use edit_file; to replace all of it, set `overwrite`."
        )
    document = await context.read_to_edit(path)
    text = with_line_endings_of(document.text, content)
    if text == document.text:
        raise ToolError(f"{name} already contains exactly this text, so there is nothing to change.")
    write = await asyncio.to_thread(rewrite, document, text, name)
    return EditPlan(
        label=f"Overwrite {name}",
        operations=(write,),
        result=f"Overwrote {name}: {changed_lines(write)}; it now has {_lines(n_lines)}.",
    )


def check_encodable(text: str, encoding: TextEncoding, name: str) -> None:
    """Raise `ToolError` if the encoding lacks a character, before the user is asked."""
    try:
        encoding.encode(text)
    except UnicodeEncodeError as error:
        character = ascii(text[error.start])
        raise ToolError(
            f"{name} is encoded in {encoding.name}, which cannot represent {character}. Use other characters. "
            "Nothing was changed."
        ) from None


def rewrite(document: Document, text: str, name: str) -> WriteText:
    """Return the operation that sets the document's text, in its own encoding; `name` is the displayed name.

    Raises `ToolError` if the encoding lacks a character. Takes milliseconds for a long document.
    """
    check_encodable(text, document.encoding, name)
    diff = unified_diff(document.text, text, name)
    return WriteText(path=document.path, before=document, text=text, encoding=document.encoding, diff=diff)


def changed_lines(write: WriteText) -> str:
    """Format the number of lines that an edit adds and removes."""
    assert write.diff is not None, "written by `rewrite`"
    return f"+{write.diff.added} −{write.diff.removed} lines"


def _lines(count: int) -> str:
    return f"{count} line" if count == 1 else f"{count} lines"
