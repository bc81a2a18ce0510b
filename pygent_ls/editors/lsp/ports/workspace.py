"""The `Workspace` port on an editor: open documents as the editor has them."""

from __future__ import annotations

import asyncio
import hashlib
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from pygent_ls.agent.display_text import excerpt
from pygent_ls.agent.ports.workspace import (
    MISSING,
    Applied,
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    FileStatus,
    LargeFilePart,
    MoveFile,
    PartWanted,
    Stamp,
    WriteText,
)
from pygent_ls.editors.lsp.documents.buffers import MAX_COMPARED_BYTES, Buffers
from pygent_ls.editors.lsp.documents.workspace_edits import EditorEdits
from pygent_ls.editors.lsp.ports.document_saves import DocumentSaves, changed_on_disk
from pygent_ls.errors import Quote, StaleDocumentError, ToolError, UnprovenEditError
from pygent_ls.file_access import read_file, status_of
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace, apply_plan, check_plan
from pygent_ls.workspace.files.document_text import decode
from pygent_ls.workspace.files.paths import Folders
from pygent_ls.workspace.files.plan_order import Run, first_run, independent, inverse


class LspWorkspace:
    """The `Workspace` port: open buffers take precedence over the disk."""

    def __init__(self, buffers: Buffers, editor: EditorEdits, saving: DocumentSaves, folders: Sequence[Path]) -> None:
        self._buffers = buffers
        self._editor = editor
        self._saving = saving
        self._edited: set[Path] = set()
        """Files that tools changed through the editor; their buffers report whether they are saved."""
        self._applying = asyncio.Lock()
        self._more: Sequence[Path] = ()
        self.set_folders(folders)

    def in_folders(self, folders: Sequence[Path]) -> LspWorkspace:
        """Return the workspace of the same editor in folders that it has not open, whose edits do not wait for those in
        this one."""
        return LspWorkspace(self._buffers, replace(self._editor, opens_files=False), self._saving, folders)

    def set_folders(self, folders: Sequence[Path]) -> None:
        """Set the current workspace folders."""
        self._folders = Folders.of(folders, self._more)
        self._disk = DiskWorkspace(folders)

    def use_also(self, folders: Sequence[Path]) -> None:
        self._more = folders
        self._folders = Folders.of(self._folders.given, folders)

    @property
    def folders(self) -> Sequence[Path]:
        return self._folders.resolved

    @property
    def more_folders(self) -> Sequence[Path]:
        return self._folders.more

    def resolve(self, path: str, *, follow: bool = True) -> Path:
        return self._folders.resolve(path, follow=follow)

    def shown(self, path: Path) -> str:
        return self._folders.shown(path)

    def holds(self, path: Path) -> bool:
        """Return whether a resolved path is in the workspace."""
        return self._folders.holds(path)

    def kind_of(self, path: Path) -> Literal["file", "folder", "missing"]:
        return self._disk.kind_of(path)

    async def read(self, path: Path) -> Document:
        return self.open_document(path) or await self._disk.read(path)

    async def read_part(self, path: Path, wanted: PartWanted) -> LargeFilePart:
        return await self._disk.read_part(path, wanted)

    async def read_binary(self, path: Path) -> bytes:
        return await self._disk.read_binary(path)

    async def lines_on_disk(self, wanted: Mapping[Path, Collection[int]]) -> Mapping[Path, Mapping[int, bytes]]:
        return await self._disk.lines_on_disk(wanted)

    async def stamp(self, path: Path) -> Stamp:
        buffer = self._buffers.current(path)
        return buffer.stamp if buffer else await self._disk.stamp(path)

    async def stamps(self, paths: Sequence[Path]) -> Sequence[Stamp]:
        buffers = [self._buffers.current(path) for path in paths]
        on_disk = await self._disk.stamps(paths)
        return [buffer.stamp if buffer else stamp for buffer, stamp in zip(buffers, on_disk, strict=True)]

    async def tree_stamp(self, folder: Path) -> Stamp | None:
        """Return a stamp of the folder on disk and of the buffers below it."""
        on_disk = await self._disk.tree_stamp(folder)
        if on_disk is None:
            return None
        below = [f"{each.path}={each.stamp}" for each in self._buffers.below(folder)]
        return hashlib.sha256("\n".join([on_disk, *sorted(below)]).encode("utf-8", "surrogateescape")).hexdigest()

    async def status(self, path: Path) -> FileStatus:
        return await self._disk.status(path)

    async def files_named(self, is_wanted: Callable[[str], bool]) -> Sequence[Path]:
        return await self._disk.files_named(is_wanted)

    async def files_below(self, path: Path) -> Sequence[Path]:
        return await self._disk.files_below(path)

    def unsaved(self) -> Sequence[Document]:
        """Return the workspace's documents with unsaved changes. For a document whose text is unknown, the file
        applies."""
        dirty = [each for each in self._buffers if each.is_dirty and not each.out_of_step]
        return [buffer.document() for buffer in dirty if self.holds(buffer.path)]

    def open_document(self, path: Path) -> Document | None:
        """Return the document of an open buffer. Raises `ToolError` if a change of it could not be decoded."""
        buffer = self._buffers.current(path)
        if buffer is not None and buffer.out_of_step:
            raise ToolError(
                f"{self.shown(path)} is open in the editor, and the editor sent a change that could not be "
                "understood, so its current text is unknown. Nothing was changed. Ask the user to close and reopen "
                "the file."
            )
        return buffer.document() if buffer else None

    async def check(self, plan: EditPlan) -> None:
        """Check a plan. Operations that depend on an earlier one are checked just before they run."""
        await asyncio.to_thread(check_plan, plan, self._folders)
        await self._verify_all([plan.operations[place] for place in independent(plan.operations)])

    async def apply(self, plan: EditPlan) -> Applied:
        """Apply a plan; one at a time.

        The editor's part runs first, because only the editor can refuse, unless it depends on the daemon's part. If a
        part fails, the earlier parts are undone.

        Waits while the editor is disconnected, because it may have open documents with unsaved changes.
        """
        async with self._applying:
            await self._editor.endpoint.present()
            operations = [await asyncio.to_thread(_as_on_disk, operation) for operation in plan.operations]
            plan = replace(plan, operations=tuple(operations))
            await self.check(plan)
            applied = Applied(asked=replace(plan, operations=()), stands=replace(plan, operations=()))
            left = plan.operations
            while left:
                run, left = first_run(left, self._editor.takes)
                try:
                    made = await self._carry_out(run, plan)
                except ToolError as error:
                    raise await self._failure(error, applied.stands) from error
                if made.is_nothing:
                    still = replace(plan, operations=await self._take_back(applied.stands))
                    rest = Applied(asked=replace(plan, operations=left), stands=replace(plan, operations=()))
                    return _joined(_joined(replace(applied, stands=still), made), rest)
                applied = _joined(applied, made)
            return applied

    async def _carry_out(self, run: Run, plan: EditPlan) -> Applied:
        """Run a part of a plan. Raises the `ToolError` types of `apply`."""
        part = replace(plan, operations=run.operations)
        first = [run.operations[place] for place in independent(run.operations)]
        await self._verify_all(first)
        self._check_buffers(first)
        if not run.is_editors:
            await apply_plan(part, self.shown)
            return Applied(asked=part, stands=part)
        try:
            applied = await self._editor.apply(part)
        finally:  # an unproven edit may still have been applied
            self._edited.update(op.path for op in part.operations if isinstance(op, WriteText))
        self._let_go(applied.stands.operations)
        return applied

    async def _failure(self, error: ToolError, done: EditPlan) -> ToolError:
        """Undo the earlier parts and return the error of the failed part. They are kept if that part may have been
        applied."""
        if not done.operations:
            return error
        left = done.operations if isinstance(error, UnprovenEditError) else await self._take_back(done)
        if not left:
            return type(error)(f"{error} Earlier changes were undone.", error.quotes)
        names = ", ".join(self.shown(_paths_changed(operation)[-1]) for operation in left)
        return UnprovenEditError(f"{error} Earlier changes remain: {names}.", error.quotes)

    async def _take_back(self, done: EditPlan) -> tuple[FileOperation, ...]:
        """Undo operations, the last first; returns those that could not be undone."""
        left: list[FileOperation] = []
        for operation in reversed(done.operations):
            opposite = inverse(operation)
            if opposite is None:
                left.append(operation)
                continue
            label = f"Undo: {done.label}"
            plan = EditPlan(label=label, operations=(opposite,), result="", previewed=False)
            try:
                await self._carry_out(Run(self._editor.takes(opposite), plan.operations), plan)
            except ToolError:
                left.append(operation)
        return tuple(reversed(left))

    def _let_go(self, operations: Sequence[FileOperation]) -> None:
        """Mark what the editor deleted or moved as gone, even if it never closes the document."""
        for operation in operations:
            match operation:
                case DeleteFile(path=path):
                    self._buffers.supersede(path)
                case MoveFile(source=source, destination=destination):
                    self._buffers.supersede(source)
                    if source in self._edited:
                        self._edited.add(destination)
                case WriteText() | CopyBytes():
                    pass

    async def save_changes(self, reader: str) -> None:
        """Save the files that tools changed. If the user continues without saving, they are asked again the next
        time."""
        self._edited = {path for path in self._edited if (buffer := self._buffers.get(path)) and buffer.is_dirty}
        await self._saving.save(sorted(self._edited), reader)

    def told(self) -> int:
        return self._buffers.generation

    def told_since(self, moment: int) -> Collection[Path]:
        return self._buffers.touched_since(moment)

    async def changed_on_disk(self) -> Sequence[Path]:
        held = [each for each in self._buffers if self.holds(each.path)]
        changed = await changed_on_disk(held)
        async with self._applying:
            with suppress(ToolError):  # the next edit of the document updates it
                await self._editor.load(each for each in held if each.saved_by_daemon)
        return changed

    async def _verify_all(self, operations: Sequence[FileOperation]) -> None:
        for operation in operations:
            await self._verify(operation)

    async def _verify(self, operation: FileOperation) -> None:
        """Check again that the base of an operation is unchanged. Raises `StaleDocumentError` or `ToolError`."""
        match operation:
            case WriteText(path=path, before=None):
                await self._must_be_free(path)
            case CopyBytes(destination=path) | MoveFile(destination=path):
                await self._must_be_free(path)
            case WriteText(path=path, before=Document() as before):
                await self._must_hold(path, before)
            case DeleteFile(path=path, before=Document() as before):
                await self._must_hold(path, before)
            case _:
                pass
        for path in _paths_read(operation):
            self.open_document(path)
            self._must_be_told(path)
        if not self._editor.takes(operation):
            self._must_be_saved(operation)

    def _check_buffers(self, operations: Sequence[FileOperation]) -> None:
        """Check all open documents again without awaiting: the user may have typed in one while another file was read.
        Raises the errors of `_verify`."""
        for operation in operations:
            match operation:
                case (
                    WriteText(path=path, before=Document() as before)
                    | DeleteFile(path=path, before=Document() as before)
                ):
                    current = self.open_document(path)
                    if current is not None:
                        self._compare(path, before, current)
                case WriteText(path=path, before=None):
                    if self._buffers.current(path) is not None:
                        raise self._exists(path)
                case _:
                    pass
            if not self._editor.takes(operation):
                self._must_be_saved(operation)

    async def _must_be_free(self, path: Path) -> None:
        if self._buffers.current(path) is not None or await self._disk.stamp(path) != MISSING:
            raise self._exists(path)

    async def _must_hold(self, path: Path, before: Document) -> None:
        self._compare(path, before, await self.read(path))

    def _compare(self, path: Path, before: Document, current: Document) -> None:
        if current.digest != before.digest:
            raise StaleDocumentError(
                f"{self.shown(path)} was changed by the user during this edit. Nothing was written. Current text:\n"
                f"{excerpt(current.text)}\nMake the edit again from this text.",
                [Quote(current.text, str(path))],
            )

    def _must_be_told(self, path: Path) -> None:
        buffer = self._buffers.get(path)
        if buffer is not None and buffer.untold:
            raise ToolError(
                f"The editor reported that it applied the last edit of {self.shown(path)} but has sent no change "
                "since, so its current text is unknown. Nothing was changed. Ask the user to check the file, undo "
                "what is wrong, and save it."
            )

    def _exists(self, path: Path) -> ToolError:
        return ToolError(f"{self.shown(path)} was created in the meantime. Nothing was written.")

    def _must_be_saved(self, operation: FileOperation) -> None:
        for path in _paths_read(operation):
            if path in self._buffers.unsaved_notebooks:
                raise ToolError(
                    f"{self.shown(path)} is open as a notebook with unsaved changes, which the edit would not contain. "
                    "Nothing was written. Ask the user to save the notebook first."
                )
            buffer = self._buffers.get(path)
            if buffer is not None and buffer.is_dirty:
                raise ToolError(
                    f"{self.shown(path)} has unsaved changes, and this editor cannot apply the edit itself. Nothing "
                    "was written. Ask the user to save the file first."
                )


def _joined(applied: Applied, made: Applied) -> Applied:
    """Append the result of the next part."""
    n_before = len(applied.asked.operations)
    moved = (replace(each, hunk=replace(each.hunk, place=each.hunk.place + n_before)) for each in made.rejected)
    return replace(
        applied,
        asked=replace(applied.asked, operations=(*applied.asked.operations, *made.asked.operations)),
        stands=replace(applied.stands, operations=(*applied.stands.operations, *made.stands.operations)),
        note=" ".join(filter(None, (applied.note, made.note))),
        rejected=(*applied.rejected, *moved),
    )


def _as_on_disk(operation: FileOperation) -> FileOperation:
    """Add to a deletion what undoing it needs: the permission bits, and the encoding of a file that is open."""
    if not isinstance(operation, DeleteFile):
        return operation
    with suppress(OSError):
        operation = replace(operation, mode=stat.S_IMODE(status_of(operation.path).st_mode))
        before = operation.before
        if before is not None and before.version is not None:
            decoded = decode(read_file(operation.path, MAX_COMPARED_BYTES)[0])
            if decoded is not None:
                return replace(operation, before=replace(before, encoding=decoded[1]))
    return operation


def _paths_changed(operation: FileOperation) -> tuple[Path, ...]:
    match operation:
        case WriteText(path=path) | DeleteFile(path=path):
            return (path,)
        case MoveFile(source=source, destination=destination):
            return source, destination
        case CopyBytes(destination=destination):
            return (destination,)


def _paths_read(operation: FileOperation) -> tuple[Path, ...]:
    match operation:
        case WriteText(path=path) | DeleteFile(path=path):
            return (path,)
        case MoveFile(source=source):
            return (source,)
        case _:
            return (operation.source,)
