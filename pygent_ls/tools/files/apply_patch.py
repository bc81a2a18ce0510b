"""Tool that applies a patch to several files at once. It returns a plan, which is shown to the user and then
applied.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.workspace import (
    MISSING,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    MoveFile,
    TextEncoding,
    WriteText,
)
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.files.edit_file import changed_lines, check_encodable, rewrite
from pygent_ls.tools.files.file_operations import check_movable
from pygent_ls.tools.files.hunks import HunkError, Patched, apply_hunks
from pygent_ls.tools.files.placeholder_view import made_as_shown
from pygent_ls.tools.files.unified_diff import FilePatch, parse_patch


def paths_in_patch(given: Mapping[str, Any]) -> list[str]:
    """Return every path in the argument `patch`; empty for an invalid patch, which then fails before it is allowed."""
    patch = given.get("patch")
    try:
        files = parse_patch(patch) if isinstance(patch, str) else ()
    except ToolError:
        return []
    return list(dict.fromkeys(path for file in files for path in (file.path, file.new_path)))


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.FILESYSTEM,
    kind="edit",
    title="Patch {paths}",
    plans_edit=True,
    paths_of=paths_in_patch,
)
async def apply_patch(
    context: ToolContext,
    patch: Annotated[str, Meta(min_length=1, description="A unified diff in the format of `git diff`.")],
) -> EditPlan:
    """Apply a patch to one or more files: all of it, or nothing.

    Each file starts with `--- a/PATH` and `+++ b/PATH`, relative to the workspace folder. To create a file, use
    /dev/null instead of the old name; to delete one, use it instead of the new name; to rename one, write `diff --git
    a/OLD b/NEW`, `rename from OLD` and `rename to NEW`. Hunks follow: `@@ -LINE,COUNT +LINE,COUNT @@`, then lines that
    start with a space (kept), `-` (removed) or `+` (added). Give three lines of context, exactly as in the file; line
    numbers and counts may be off if the context identifies the place.

    Raises:
        StaleDocumentError: a file is not as the model last read it.
        ToolError: a hunk does not apply; the message names it, what it expects, and the nearest text in the file.
    """
    planner = _Planner(context)
    for file in await asyncio.to_thread(parse_patch, patch):
        await planner.take(file)
    return await planner.plan()


class _Edited(Struct):
    """File whose text changes in place."""

    name: str
    before: Document | None
    """Original document; None for a new file."""
    text: str
    mode: int | None = None
    notes: list[str] = field(default_factory=list[str])


class _Planner:
    """Collects the results of a patch for its files."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._edited: dict[Path, _Edited] = {}
        self._others: list[FileOperation] = []
        self._claimed: set[Path] = set()
        self._told: list[str] = []
        self._failures: list[str] = []

    async def take(self, file: FilePatch) -> None:
        """Plan one file. Raises `ToolError`; hunks that do not apply are collected, to be reported together."""
        try:
            match file.kind:
                case "edit":
                    await self._edit(file)
                case "create":
                    await self._create(file)
                case "delete":
                    await self._delete(file)
                case "rename":
                    await self._rename(file)
        except HunkError as error:
            self._failures.append(str(error))

    async def plan(self) -> EditPlan:
        """Return the whole plan. Raises `ToolError` if a part of the patch does not apply, or nothing would change."""
        if self._failures:
            raise ToolError("\n\n".join([*self._failures, "Nothing was changed in any file. Correct the patch."]))
        operations: list[FileOperation] = []
        told: list[str] = []
        for path, edited in self._edited.items():
            if edited.before is None:
                check_encodable(edited.text, TextEncoding(), edited.name)
                operations.append(WriteText(path=path, before=None, text=edited.text, mode=edited.mode))
                told.append(f"Created {edited.name}: {len(split_lines(edited.text))} lines.")
                continue
            if edited.text == edited.before.text:
                raise ToolError(f"The patch leaves {edited.name} unchanged. Nothing was changed.")
            write = await asyncio.to_thread(rewrite, edited.before, edited.text, edited.name)
            operations.append(write)
            told.append("; ".join([f"Edited {edited.name}: {changed_lines(write)}", *edited.notes]) + ".")
        operations += self._others
        told += self._told
        label = told[0].partition(":")[0].rstrip(".") if len(operations) == 1 else f"Patch {len(told)} files"
        return EditPlan(label=label, operations=tuple(operations), result="\n".join(told))

    async def _edit(self, file: FilePatch) -> None:
        path = self._context.workspace.resolve(file.path)
        name = self._context.workspace.shown(path)
        edited = self._edited.get(path)
        if edited is None:
            self._claim(path)
            document = await self._context.read_to_edit(file.path)
            edited = self._edited[path] = _Edited(name=name, before=document, text=document.text)
        patched = await self._patched(edited.before, edited.text, file, name)
        edited.text = patched.text
        edited.notes += patched.notes

    async def _create(self, file: FilePatch) -> None:
        path = await self._free(file.path)
        name = self._context.workspace.shown(path)
        lines = [line for hunk in file.hunks for line in hunk.lines]
        if any(line.side != "+" for line in lines):
            raise ToolError(f"{name} is a new file, so its hunk can only add lines. Nothing was changed.")
        self._claim(path)
        text = "".join(line.text for line in lines)
        self._edited[path] = _Edited(name=name, before=None, text=text, mode=file.mode)

    async def _delete(self, file: FilePatch) -> None:
        path = self._itself(file.path, "delete_file")
        name = self._context.workspace.shown(path)
        self._claim(path)
        document = await self._context.read_to_edit(file.path)
        left = await self._patched(document, document.text, file, name)
        if left.text:
            raise ToolError(
                f"The patch deletes {name} but leaves {len(split_lines(left.text))} of its lines. Its hunk must "
                "remove them all, or use delete_file. Nothing was changed."
            )
        self._others.append(DeleteFile(path=path, before=document))
        self._told.append(f"Deleted {name} ({len(split_lines(document.text))} lines).")

    async def _rename(self, file: FilePatch) -> None:
        workspace = self._context.workspace
        source = self._itself(file.path, "move_file")
        if await workspace.stamp(source) == MISSING:
            await workspace.read(source)  # raises, and suggests the nearest name
        await check_movable(self._context, file.path)
        target = await self._free(file.new_path)
        names = f"{workspace.shown(source)} to {workspace.shown(target)}"
        self._claim(source)
        self._claim(target)
        if not file.hunks:
            self._others.append(MoveFile(source=source, destination=target))
            self._told.append(f"Renamed {names}.")
            return
        document = await self._context.read_to_edit(file.path)
        patched = await self._patched(document, document.text, file, workspace.shown(source))
        change = await asyncio.to_thread(rewrite, document, patched.text, workspace.shown(source))
        mode = (await workspace.status(source)).mode
        self._others += (  # not a move and an edit: editors lose an edit to a just renamed file
            WriteText(
                path=target,
                before=None,
                text=patched.text,
                encoding=document.encoding,
                mode=mode,
                copied_from=source,
            ),
            DeleteFile(path=source, before=document),
        )
        self._told.append("; ".join([f"Renamed {names}: {changed_lines(change)}", *patched.notes]) + ".")

    async def _patched(self, document: Document | None, text: str, file: FilePatch, name: str) -> Patched:
        """Apply the hunks to the text, which is the document's or the result of earlier parts of the patch."""
        if document is None:
            return await asyncio.to_thread(apply_hunks, text, file.hunks, name)

        def make(text: str, given: Sequence[str]) -> Patched:
            lines = iter(given)
            hunks = [
                replace(hunk, lines=tuple(replace(line, text=next(lines)) for line in hunk.lines))
                for hunk in file.hunks
            ]
            return apply_hunks(text, hunks, name)

        lines = [line.text for hunk in file.hunks for line in hunk.lines]
        return await made_as_shown(self._context, replace(document, text=text), lines, make)

    def _claim(self, path: Path) -> None:
        if path in self._claimed:
            raise ToolError(
                f"The patch contains conflicting sections for {self._context.workspace.shown(path)}. Give each "
                "file one section. Nothing was changed."
            )
        self._claimed.add(path)

    async def _free(self, path: str) -> Path:
        resolved = self._context.workspace.resolve(path)
        if await self._context.workspace.stamp(resolved) != MISSING:
            raise ToolError(f"{self._context.workspace.shown(resolved)} already exists. Nothing was changed.")
        return resolved

    def _itself(self, path: str, better: str) -> Path:
        """Return the file, which must not be a link: the target is not meant."""
        resolved = self._context.workspace.resolve(path, follow=False)
        try:
            is_link = self._context.workspace.resolve(path) != resolved
        except OutsideWorkspaceError:
            is_link = True
        if is_link:
            raise ToolError(f"{self._context.workspace.shown(resolved)} is a link; use {better}. Nothing was changed.")
        return resolved
