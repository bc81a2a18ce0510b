"""Applies an edit plan to the disk, completely or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path

from pygent_ls.agent.display_text import excerpt
from pygent_ls.agent.ports.workspace import (
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    MoveFile,
    TextEncoding,
    WriteText,
)
from pygent_ls.errors import Quote, StaleDocumentError, ToolError
from pygent_ls.file_access import (
    is_there,
    make_folder,
    missing_folders,
    open_file,
    read_file,
    remove_folder,
    rename,
    status_of,
    sync_folder,
    unlink,
)
from pygent_ls.workspace.files.document_text import document_from_bytes
from pygent_ls.workspace.files.plan_order import independent, paths_of
from pygent_ls.workspace.files.reader import MAX_DOCUMENT_BYTES
from pygent_ls.workspace.files.relocation import move, place_new, stage_copy
from pygent_ls.workspace.files.temporary_files import drop, hold_place, place_aside, remove, settle
from pygent_ls.workspace.files.writer import replace_file, stage, write_error

_COMPARED_AT_ONCE = 1024**2


async def apply_plan(plan: EditPlan, shown: Callable[[Path], str] = str) -> None:
    """Apply a plan to the disk, completely or not at all. `shown` returns the path names used in errors.

    Every operation is verified first; a later one may build on an earlier one (edit a moved file). If an operation
    fails, or the caller is cancelled, the operations before it are undone. Missing folders are created; the only thing
    overwritten is text that a `WriteText` names as `before`.

    Raises `StaleDocumentError` if a document has changed since the plan was made, `ToolError` for all other problems.
    """
    cancelled = threading.Event()
    transaction = _Transaction(plan.operations, shown, cancelled.is_set)
    future = asyncio.get_running_loop().run_in_executor(None, transaction.run)
    cancel: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:  # the thread must not be left with half a plan applied
            cancelled.set()
            cancel = error
    if cancel is not None:
        future.exception()
        raise cancel
    future.result()


class _Transaction:
    """Application of one plan, in a thread."""

    def __init__(
        self, operations: Sequence[FileOperation], shown: Callable[[Path], str], is_cancelled: Callable[[], bool]
    ) -> None:
        self._operations = operations
        self._shown = shown
        self._is_cancelled = is_cancelled
        self._staged: dict[int, Path] = {}
        """Written files that only need to be moved into place, by the operation's number."""
        self._trash: list[Path] = []
        """Deleted files under temporary names, until no operation can fail any more."""
        self._made: list[Path] = []
        """Folders that were created."""
        self._undo: list[tuple[Path, Callable[[], object]]] = []

    def run(self) -> None:
        """Apply the whole plan. Raises `ToolError` with everything restored."""
        try:
            for number in self._verify_all():
                with self._explained(self._operations[number]):
                    self._stage(number)
            for number, operation in enumerate(self._operations):
                self._go_on()
                with self._explained(operation):
                    self._verify(operation)
                    self._carry_out(number)
            for folder in {path.parent for operation in self._operations for path in paths_of(operation)}:
                sync_folder(folder)
            self._go_on()
        except BaseException as error:
            if failed := self._undo_all():
                done = ", ".join(failed)
                raise ToolError(f"{error} Earlier changes of this edit could not be undone: {done}.") from error
            raise
        else:
            drop(self._trash)
            remove(self._trash)
        finally:
            remove(self._staged.values())
            for path in (*(each for each in self._trash if _is_gone(each)), *self._made):
                settle(path)

    def _go_on(self) -> None:
        if self._is_cancelled():
            raise ToolError("The edit was cancelled. Nothing was changed.")

    def _verify_all(self) -> list[int]:
        """Verify what can be verified beforehand; return the operations that no earlier one affects."""
        found = independent(self._operations)
        for number in found:
            with self._explained(self._operations[number]):
                self._verify(self._operations[number])
        return found

    def _verify(self, operation: FileOperation) -> None:
        """Verify an operation. Raises `ToolError` if it is not allowed or no longer possible."""
        match operation:
            case WriteText(path=path, before=before):
                if before is None:
                    self._must_be_free(path)
                else:
                    self._must_hold(path, before)
            case CopyBytes(source=source, destination=destination):
                self._must_exist(source, folders=False)
                self._must_be_free(destination)
            case MoveFile(source=source, destination=destination):
                self._must_exist(source, folders=True)
                if destination.is_relative_to(source) and destination != source:
                    raise ToolError(f"{self._shown(source)} cannot be moved into itself.")
                self._must_be_free(destination)
            case DeleteFile(path=path, before=before):
                self._must_exist(path, folders=False)
                if before is not None and not stat.S_ISLNK(status_of(path).st_mode):
                    self._must_hold(path, before)

    def _must_be_free(self, path: Path) -> None:
        if is_there(path):
            raise ToolError(f"{self._shown(path)} already exists. Nothing was changed.")
        above = _nearest_folder(path.parent)
        if not stat.S_ISDIR(status_of(above).st_mode):
            raise ToolError(f"{self._shown(above)} is not a folder, so nothing can be created in it.")

    def _must_exist(self, path: Path, *, folders: bool) -> None:
        try:
            status = status_of(path)
        except (FileNotFoundError, NotADirectoryError):
            raise ToolError(f"{self._shown(path)} does not exist. Nothing was changed.") from None
        if stat.S_ISDIR(status.st_mode) and not folders:
            raise ToolError(f"{self._shown(path)} is a folder, but only files can be copied or deleted.")

    def _must_hold(self, path: Path, before: Document) -> None:
        name = self._shown(path)
        try:
            now = _document_now(path)
        except FileNotFoundError:
            raise StaleDocumentError(f"{name} no longer exists. Nothing was changed.") from None
        if now is None:
            raise StaleDocumentError(f"{name} has changed and is no longer text, or is too large. Nothing was changed.")
        if now.digest != before.digest:
            raise StaleDocumentError(
                f"{name} has changed since it was read (the user or a program edited it). Nothing was changed. "
                f"Its text is now:\n{excerpt(now.text)}\nBase your edit on this text.",
                [Quote(now.text, str(path))],
            )

    def _stage(self, number: int) -> None:
        """Write the data that an operation will move into place; most disk errors occur here."""
        operation = self._operations[number]
        match operation:
            case WriteText(path=path, text=text, mode=mode):
                data = self._encoded(path, text, operation.written_as)
                self._staged[number] = stage(path, data, mode, folder=_nearest_folder(path.parent))
            case CopyBytes(source=source, destination=destination):
                self._staged[number] = stage_copy(source, _nearest_folder(destination.parent))
            case MoveFile() | DeleteFile():
                pass

    def _encoded(self, path: Path, text: str, encoding: TextEncoding) -> bytes:
        try:
            return encoding.encode(text)
        except UnicodeEncodeError as error:
            character = ascii(text[error.start])
            raise ToolError(
                f"{self._shown(path)} is encoded in {encoding.name}, which cannot represent {character}. Nothing "
                "was changed."
            ) from None

    def _carry_out(self, number: int) -> None:
        """Carry out one operation and record how to undo it."""
        operation = self._operations[number]
        if number not in self._staged:
            self._stage(number)
        match operation:
            case WriteText(path=path, before=before):
                written, _ = read_file(self._staged[number])
                if before is None:
                    self._make_folders(path.parent)
                    place_new(self._staged[number], path)
                    undo = partial(unlink, path)
                else:
                    old, status = read_file(path, MAX_DOCUMENT_BYTES)
                    rename(self._staged[number], path)
                    undo = partial(replace_file, path, old, stat.S_IMODE(status.st_mode))
                self._undo.append((path, lambda: _undo_written(undo, is_ours=read_file(path)[0] == written)))
            case CopyBytes(source=source, destination=path):
                self._make_folders(path.parent)
                place_new(self._staged[number], path)
                self._undo.append(
                    (path, lambda: _undo_written(partial(unlink, path), is_ours=_hold_the_same(source, path)))
                )
            case MoveFile(source=source, destination=destination):
                self._make_folders(destination.parent)
                move(source, destination)
                self._undo.append((source, lambda: move(destination, source)))
            case DeleteFile(path=path):
                aside = place_aside(path)
                self._trash.append(aside)
                rename(path, aside)
                self._undo.append((path, lambda: move(aside, path)))

    def _make_folders(self, folder: Path) -> None:
        for missing in missing_folders(folder):
            make_folder(missing)
            self._made.append(missing)
            hold_place(missing, missing.parent)
            self._undo.append((missing, partial(remove_folder, missing)))

    @contextlib.contextmanager
    def _explained(self, operation: FileOperation) -> Generator[None]:
        """Convert disk errors to `ToolError`."""
        try:
            yield
        except OSError as error:
            raise write_error(self._shown(paths_of(operation)[-1]), error) from None

    def _undo_all(self) -> list[str]:
        """Undo in reverse order; return the names of paths that could not be restored."""
        failed: list[str] = []
        for path, action in reversed(self._undo):
            try:
                action()
            except (OSError, ToolError):
                failed.append(self._shown(path))
        return failed


def _undo_written(undo: Callable[[], object], *, is_ours: bool) -> None:
    """Undo a write, unless another program has overwritten it since. Raises `ToolError`."""
    if not is_ours:
        raise ToolError("It has changed since then.")
    undo()


def _nearest_folder(folder: Path) -> Path:
    """Return the folder, or the innermost one above it that exists."""
    return next(each for each in (folder, *folder.parents) if is_there(each))


def _is_gone(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return not is_there(path)
    return False


def _hold_the_same(path: Path, other: Path) -> bool:
    with (
        os.fdopen(open_file(path, os.O_RDONLY), "rb") as one_file,
        os.fdopen(open_file(other, os.O_RDONLY), "rb") as other_file,
    ):
        while (data := one_file.read(_COMPARED_AT_ONCE)) == other_file.read(_COMPARED_AT_ONCE):
            if not data:
                return True
    return False


def _document_now(path: Path) -> Document | None:
    """Return the document on the disk; None if it is not text or too large. Raises OSError."""
    try:
        data, _ = read_file(path, MAX_DOCUMENT_BYTES)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.EISDIR, errno.EFBIG}:
            return None
        raise
    return document_from_bytes(path, data, stamp="")
