"""Order in which the parts of an edit plan are carried out, and their inverses. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.ports.workspace import (
    CopyBytes,
    DeleteFile,
    Document,
    FileOperation,
    MoveFile,
    WriteText,
)
from pygent_ls.workspace.files.document_text import digest


class Run(Struct, frozen=True):
    """Operations that are carried out together, by the editor or by the daemon."""

    is_editors: bool
    operations: tuple[FileOperation, ...]


class _Touched:
    """Paths of a set of operations."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self._above: set[Path] = set()

    def add(self, operation: FileOperation) -> None:
        for path in paths_of(operation):
            self._paths.add(path)
            self._above.update(path.parents)

    def affects(self, operation: FileOperation) -> bool:
        """Return whether the operation must come after these."""
        return any(
            path in self._above or not self._paths.isdisjoint((path, *path.parents)) for path in paths_of(operation)
        )


def first_run(
    operations: Sequence[FileOperation], is_editors: Callable[[FileOperation], bool]
) -> tuple[Run, tuple[FileOperation, ...]]:
    """Return the operations that come first, as many as the plan's order allows, and the rest.

    Two operations may be reordered unless their paths are equal or one contains the other. The editor's go first, since
    only it can refuse, and are independent of each other within a run. The daemon's need not be.
    """
    owners = [is_editors(operation) for operation in operations]
    places = _places_of_run(operations, owners, editors=True)
    is_editors_run = bool(places)
    places = places or _places_of_run(operations, owners, editors=False)
    run = tuple(operations[place] for place in sorted(places))
    rest = tuple(operation for place, operation in enumerate(operations) if place not in places)
    return Run(is_editors_run, run), rest


def _places_of_run(operations: Sequence[FileOperation], owners: Sequence[bool], *, editors: bool) -> set[int]:
    places: set[int] = set()
    before = _Touched()
    for place, operation in enumerate(operations):
        is_in = owners[place] is editors and not before.affects(operation)
        if is_in:
            places.add(place)
        if editors or not is_in:
            before.add(operation)
    return places


def independent(operations: Sequence[FileOperation]) -> list[int]:
    """Return the indexes of operations that no earlier one affects, which can be verified before anything is done."""
    found: list[int] = []
    before = _Touched()
    for place, operation in enumerate(operations):
        if not before.affects(operation):
            found.append(place)
        before.add(operation)
    return found


def paths_of(operation: FileOperation) -> tuple[Path, ...]:
    """Return the paths that an operation changes or reads; the one that it creates is last."""
    match operation:
        case WriteText(path=path) | DeleteFile(path=path):
            return (path,)
        case CopyBytes(source=source, destination=destination) | MoveFile(source=source, destination=destination):
            return (source, destination)


def inverse(operation: FileOperation) -> FileOperation | None:
    """Return the operation that undoes this one; None if it cannot be undone: a deleted file that was not text."""
    match operation:
        case WriteText(path=path, before=before):
            made = Document(
                path=path,
                text=operation.text,
                digest=digest(operation.text),
                stamp="",
                encoding=operation.written_as,
            )
            if before is None:
                return DeleteFile(path=path, before=made)
            return WriteText(path=path, before=made, text=before.text, encoding=before.encoding)
        case CopyBytes(destination=path):
            return DeleteFile(path=path, before=None)
        case MoveFile(source=source, destination=destination):
            return MoveFile(source=destination, destination=source)
        case DeleteFile(path=path, before=before, mode=mode):
            if before is None:
                return None
            return WriteText(path=path, before=None, text=before.text, encoding=before.encoding, mode=mode)
