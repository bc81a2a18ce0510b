"""Tool that makes several replacements in one file, all or none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace as with_changes

from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.workspace import EditPlan
from pygent_ls.agent.tools.signature import ArgumentObject
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.files.edit_file import changed_lines, rewrite
from pygent_ls.tools.files.placeholder_view import made_as_shown
from pygent_ls.tools.files.replacement import Replaced, name_lines, replace


class Edit(ArgumentObject, frozen=True, kw_only=True):
    """One replacement, with arguments as in `edit_file`."""

    old: Annotated[str, Meta(description="The text to replace, exactly as in the file after the preceding edits.")]
    new: Annotated[str, Meta(description="The new text; empty to delete the old text.")]
    all: Annotated[bool, Meta(description="Replace every occurrence of `old`.")] = False


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Edit {path}",
    plans_edit=True,
)
async def multi_edit(
    context: ToolContext,
    path: Annotated[str, Meta(description="The file.")],
    edits: Annotated[list[Edit], Meta(min_length=1, description="The replacements, in order.")],
) -> EditPlan:
    """Make several replacements in one file: all of them, or none.

    They are made in order, each in the text that the preceding ones produced. At that point each `old` must occur
    exactly once, unless its `all` is true. Line endings and encoding stay as they are in the file.

    Raises:
        StaleDocumentError: the file is not as the model last read it.
        ToolError: an edit cannot be made; the message names it by its number, from 1, and quotes the nearest text.
    """
    document = await context.read_to_edit(path)
    name = context.workspace.shown(document.path)
    if not document.text:
        raise ToolError(f"{name} is empty, so there is nothing to replace. Use create_file with overwrite to fill it.")
    knows = context.reads.knows(document.path)

    def make(text: str, given: Sequence[str]) -> _Made:
        as_given = [
            with_changes(each, old=old, new=new) for each, old, new in zip(edits, given[0::2], given[1::2], strict=True)
        ]
        return _make(text, as_given, name=name, knows=knows)

    texts = [text for each in edits for text in (each.old, each.new)]
    made = await made_as_shown(context, document, texts, make)
    if made.text == document.text:
        raise ToolError(f"Together the edits leave {name} unchanged.")
    write = await asyncio.to_thread(rewrite, document, made.text, name)
    return EditPlan(
        label=f"Edit {name}",
        operations=(write,),
        result="\n".join([f"Edited {name}: {changed_lines(write)}; {_count(len(edits), 'edit')}.", *made.told]),
    )


class _Made(Struct, frozen=True, kw_only=True):
    text: str
    told: tuple[str, ...]


def _make(text: str, edits: Sequence[Edit], *, name: str, knows: bool) -> _Made:
    """Return the text after all edits. `knows` says whether the model has read the file."""
    current = text
    told: list[str] = []
    for number, edit in enumerate(edits, start=1):
        which = f"Edit {number}" if len(edits) == 1 else f"Edit {number} of {len(edits)}"
        try:
            replaced = replace(current, edit.old, edit.new, name=name, every=edit.all)
        except ToolError as error:
            raise ToolError(f"{which} failed, so no edit was made: {error}{_undone_by(edit, text, current)}") from None
        if len(replaced.lines) > 1 and not knows:
            raise ToolError(
                f"{which}: `old` occurs {len(replaced.lines)} times in {name}, at {name_lines(replaced.lines)}, and "
                "you have not read the file. Read it before you replace them all. Nothing was changed."
            )
        told.append(f"{number}: {_where(replaced)}")
        current = replaced.text
    return _Made(text=current, told=tuple(told))


def _undone_by(edit: Edit, original: str, current: str) -> str:
    """Return a hint if the text existed until an earlier edit of this call changed it."""
    if not edit.old or edit.old in current or edit.old not in original:
        return ""
    return (
        "\nThe file does contain it, but an earlier edit of this call changes it. Give `old` as the text reads "
        "after the preceding edits, or combine the two edits."
    )


def _where(replaced: Replaced) -> str:
    return f"{_count(len(replaced.lines), 'replacement')} at {name_lines(replaced.lines)}"


def _count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
