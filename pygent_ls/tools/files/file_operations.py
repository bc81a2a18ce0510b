"""Tools that delete, move and copy files. They return plans, which are shown to the user and then applied."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.workspace import (
    MISSING,
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    MoveFile,
    WriteText,
)
from pygent_ls.agent.tools.tool import ToolContext, check_readable, tool
from pygent_ls.errors import OutsideWorkspaceError, StaleDocumentError, ToolError

Destination = Annotated[str, Meta(description="The new path, or an existing folder (or `folder/`) to put it into.")]


@tool(
    risk=ToolRisk.HIGH,
    category=ToolCategory.FILESYSTEM,
    kind="delete",
    title="Delete {path}",
    plans_edit=True,
)
async def delete_file(
    context: ToolContext,
    path: Annotated[str, Meta(description="The file; if it is a link, the link itself is deleted, not its target.")],
) -> EditPlan:
    """Delete a file. Folders cannot be deleted.

    Raises:
        StaleDocumentError: the file is not as the model last read it.
        ToolError: the file does not exist or is a folder.
    """
    resolved = context.workspace.resolve(path, follow=False)
    name = context.workspace.shown(resolved)
    if _is_link(context, path):
        return _deletion(resolved, None, name, "Deleted the link")
    try:
        document = await context.read_to_edit(path)
    except StaleDocumentError:
        raise
    except ToolError:
        match (await context.workspace.status(resolved)).kind:
            case "missing":
                raise
            case "folder":
                raise ToolError(f"{name} is a folder, but only files can be deleted. Delete the files in it.") from None
            case "file":
                return _deletion(resolved, None, name, "Deleted")
    return _deletion(resolved, document, name, "Deleted")


@tool(
    risk=ToolRisk.HIGH,
    category=ToolCategory.FILESYSTEM,
    kind="move",
    title="Move {source} to {destination}",
    plans_edit=True,
)
async def move_file(
    context: ToolContext,
    source: Annotated[str, Meta(description="The file or folder; a link is moved as a link.")],
    destination: Destination,
) -> EditPlan:
    """Move or rename a file. The new path must not exist yet; missing folders are created.

    Raises:
        ToolError: the file does not exist, or the new path is taken.
    """
    resolved = context.workspace.resolve(source, follow=False)
    if not _is_link(context, source) and await context.workspace.stamp(resolved) == MISSING:
        await context.workspace.read(resolved)  # raises, and suggests the nearest name
    await check_movable(context, source)
    target = await _free_path(context, resolved, destination)
    names = f"{context.workspace.shown(resolved)} to {context.workspace.shown(target)}"
    return EditPlan(
        label=f"Move {names}",
        operations=(MoveFile(source=resolved, destination=target),),
        result=f"Moved {names}.",
    )


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Copy {source} to {destination}",
    plans_edit=True,
)
async def copy_file(
    context: ToolContext,
    source: Annotated[str, Meta(description="The file; unsaved changes are copied with it.")],
    destination: Destination,
) -> EditPlan:
    """Copy a file, text or not. The new path must not exist yet; missing folders are created.

    Raises:
        ToolError: the file does not exist or is a folder, or the new path is taken.
    """
    check_readable(context, source)
    resolved = context.workspace.resolve(source)
    name = context.workspace.shown(resolved)
    document: Document | None = None
    try:
        document = await context.workspace.read(resolved)
    except ToolError:
        match (await context.workspace.status(resolved)).kind:
            case "missing":
                raise
            case "folder":
                raise ToolError(f"{name} is a folder, but only files can be copied. Copy the files in it.") from None
            case "file":
                pass
    target = await _free_path(context, resolved, destination)
    names = f"{name} to {context.workspace.shown(target)}"
    if document is None:
        copy = CopyBytes(source=resolved, destination=target)
        return EditPlan(label=f"Copy {names}", operations=(copy,), result=f"Copied {names}, byte for byte.")
    mode = (await context.workspace.status(resolved)).mode
    new = WriteText(
        path=target,
        before=None,
        text=document.text,
        encoding=document.encoding,
        mode=mode,
        copied_from=resolved,
    )
    n_lines = len(split_lines(document.text))
    return EditPlan(label=f"Copy {names}", operations=(new,), result=f"Copied {names} ({n_lines} lines).")


def _deletion(path: Path, before: Document | None, name: str, did: str) -> EditPlan:
    return EditPlan(
        label=f"Delete {name}",
        operations=(DeleteFile(path=path, before=before),),
        result=f"{did} {name}" + (f" ({len(split_lines(before.text))} lines)." if before else "."),
    )


async def check_movable(context: ToolContext, path: str) -> None:
    """Raise `ToolError` if a file would get a name under which its read protection no longer applies."""
    check_readable(context, path)
    if not context.reading.rules:
        return
    for file in await context.workspace.files_below(context.workspace.resolve(path, follow=False)):
        check_readable(context, str(file))


def _is_link(context: ToolContext, path: str) -> bool:
    """Return whether the last part of the path is a link."""
    try:
        return context.workspace.resolve(path) != context.workspace.resolve(path, follow=False)
    except OutsideWorkspaceError:  # only a link's target can be outside, not the link
        return True


async def _free_path(context: ToolContext, source: Path, destination: str) -> Path:
    """Return the resolved, unused destination of a file. Raises `ToolError`."""
    target = context.workspace.resolve(destination)
    if destination.endswith("/") or (await context.workspace.status(target)).kind == "folder":
        target = context.workspace.resolve(f"{destination.rstrip('/')}/{source.name}")
    name = context.workspace.shown(target)
    if target == source:
        raise ToolError(f"{name} is both the source and the destination.")
    if await context.workspace.stamp(target) != MISSING:
        raise ToolError(f"{name} already exists. Choose another path, or delete it first.")
    return target
