"""The `Workspace` port on a client that serves files: its buffers take precedence over the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from pygent_ls.agent.display_text import excerpt
from pygent_ls.agent.ports.workspace import (
    MISSING,
    Applied,
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    MoveFile,
    Stamp,
    TextEncoding,
    WriteText,
)
from pygent_ls.errors import Quote, RefusedEditError, StaleDocumentError, ToolError, UnprovenEditError
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace, apply_plan
from pygent_ls.workspace.files.document_text import digest
from pygent_ls.workspace.files.plan_order import inverse


class ClientFiles(Protocol):
    """Files as the client has them."""

    @property
    def can_write(self) -> bool:
        """Whether the client writes files, too."""
        ...

    async def text(self, path: Path) -> str | None:
        """Return the text of a file, in the client's buffer or on the disk; None if the client gives none."""
        ...

    async def write(self, path: Path, text: str) -> None:
        """Write the text of a file. Raises `ToolError` if the client refuses."""
        ...


class AcpWorkspace(DiskWorkspace):
    """Reads through the client and writes through it, after comparing again with what it holds.

    A client does not report changes. Some serve the disk although a buffer has unsaved text, so nothing is written from
    a text that was read earlier: it is read again immediately before.
    """

    def __init__(self, folders: Iterable[str | Path], files: ClientFiles) -> None:
        super().__init__(folders)
        self._files = files
        self._applying = asyncio.Lock()
        self._unsaved: dict[Path, Document] = {}
        """Documents in which the client last held another text than the disk."""

    async def read(self, path: Path) -> Document:
        """Implement `Workspace`."""
        try:
            on_disk = await super().read(path)
        except ToolError:
            if path not in self._unsaved:  # the client is not asked: many files are only tried
                raise
            text = await self._files.text(path)
            if not text:  # some clients answer with an empty text for a file that does not exist
                del self._unsaved[path]
                raise
            return self._held(path, text, TextEncoding())
        text = await self._files.text(path)
        if text is None or _is_same(text, on_disk.text):
            self._unsaved.pop(path, None)
            return on_disk
        return self._held(path, text, on_disk.encoding)

    def _held(self, path: Path, text: str, encoding: TextEncoding) -> Document:
        told = digest(text)
        document = Document(path=path, text=text, digest=told, stamp=f"client {told}", encoding=encoding)
        self._unsaved[path] = document
        return document

    def unsaved(self) -> Sequence[Document]:
        """Return the documents that had unsaved changes when they were last read."""
        return list(self._unsaved.values())

    def open_document(self, path: Path) -> Document | None:
        """Return the document as it was last read, if it had unsaved changes. It is read again before it is written."""
        return self._unsaved.get(path)

    async def stamp(self, path: Path) -> Stamp:
        """Implement `Workspace`."""
        try:
            return (await self.read(path)).stamp
        except ToolError:
            return await super().stamp(path)

    async def stamps(self, paths: Sequence[Path]) -> Sequence[Stamp]:
        """Implement `Workspace`."""
        held = await asyncio.gather(*map(self.stamp, paths))
        on_disk = await super().stamps(paths)
        return [disk if stamp == MISSING else stamp for stamp, disk in zip(held, on_disk, strict=True)]

    async def apply(self, plan: EditPlan) -> Applied:
        """Implement `Workspace`. If an operation fails, the earlier ones are undone."""
        async with self._applying:
            await self.check(plan)
            done: list[FileOperation] = []
            for operation in plan.operations:
                try:
                    await self._carry_out(operation, plan)
                except ToolError as error:
                    raise await self._failure(error, done) from error
                done.append(operation)
            return Applied(asked=plan, stands=plan)

    async def _failure(self, error: ToolError, done: list[FileOperation]) -> ToolError:
        """Undo the earlier operations and return the error."""
        left: list[FileOperation] = []
        for operation in reversed(done):
            opposite = inverse(operation)
            try:
                if opposite is None:
                    raise ToolError
                undo = EditPlan(label="Undo", operations=(opposite,), result="", previewed=False)
                await self._carry_out(opposite, undo)
            except ToolError:
                left.append(operation)
        if left:
            return UnprovenEditError(f"{error} Earlier changes of this call remain.", error.quotes)
        return type(error)(f"{error} Earlier changes were undone.", error.quotes) if done else error

    async def _carry_out(self, operation: FileOperation, plan: EditPlan) -> None:
        match operation:
            case WriteText():
                await self._check_base(operation)
                if self._files.can_write:
                    await self._write(operation)
                    return
            case DeleteFile(path=path) | MoveFile(source=path) | CopyBytes(source=path):
                await self._must_be_saved(path)
        one = EditPlan(label=plan.label, operations=(operation,), result="", previewed=False)
        await apply_plan(one, self.shown)

    async def _check_base(self, operation: WriteText) -> None:
        """Verify that the client holds what the edit was made from. Raises `ToolError`."""
        path, before = operation.path, operation.before
        if before is None:
            if self.kind_of(path) != "missing" or await self._files.text(path):
                raise ToolError(f"{self.shown(path)} was created in the meantime. Nothing was written.")
            return
        current = await self.read(path)
        if current.digest != before.digest:
            raise StaleDocumentError(
                f"{self.shown(path)} was changed by the user during this edit. Nothing was written. Current text:\n"
                f"{excerpt(current.text)}\nMake the edit again from this text.",
                [Quote(current.text, str(path))],
            )
        if not self._files.can_write:
            await self._must_be_saved(path)

    async def _must_be_saved(self, path: Path) -> None:
        """Raise `ToolError` if the client holds unsaved text of a file that it cannot change itself."""
        text = await self._files.text(path) if self.kind_of(path) == "file" else None
        if text is None:
            return
        try:
            on_disk = (await super().read(path)).text
        except ToolError:  # it is not text
            return
        if not _is_same(text, on_disk):
            raise ToolError(
                f"{self.shown(path)} has unsaved changes, and this editor cannot apply the edit itself. Nothing was "
                "written. Ask the user to save the file first."
            )

    async def _write(self, operation: WriteText) -> None:
        """Write through the client, and verify what it holds then. Raises `ToolError`."""
        path = operation.path
        await self._files.write(path, operation.text)
        held = await self._files.text(path)
        self._held(path, operation.text if held is None else held, operation.written_as)
        with suppress(ToolError):
            await self.read(path)  # whether the client has saved it
        if held is None or _is_same(held, operation.text):
            return
        before = operation.before.text if operation.before else ""
        if _is_same(held, before):
            raise RefusedEditError(f"The editor did not apply the edit of {self.shown(path)}. Nothing was changed.")
        raise UnprovenEditError(
            f"The editor holds another text of {self.shown(path)} than was written. Current text:\n{excerpt(held)}",
            [Quote(held, str(path))],
        )


def _is_same(one: str, other: str) -> bool:
    """Return whether two texts are equal apart from their line endings, which a buffer may not keep."""
    return one == other or one.replace("\r\n", "\n") == other.replace("\r\n", "\n")
