"""Effects of an edit plan on paths: predicted before it is applied, and determined afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pygent_ls.agent.ports.workspace import CopyBytes, DeleteFile, Document, EditPlan, MoveFile, TextEncoding, WriteText
from pygent_ls.file_access import entries_below
from pygent_ls.workspace.snapshots.blobs import Contents
from pygent_ls.workspace.snapshots.path_state import NOTHING, Held, with_bytes
from pygent_ls.workspace.snapshots.restore import blob_of, encoded, encoding_on_disk
from pygent_ls.workspace.snapshots.store import TreeEntry

MAX_MOVED_BYTES = 64 * 1024**2
"""Maximum number of bytes backed up of what one plan moves. The rest is read from the destination."""


class Effect(NamedTuple):
    """Effect of a plan on one path. `moved` is the other path of a move, or the source of a copy."""

    path: Path
    before: Held
    after: Held
    moved: Path | None


class PlannedEdit:
    """One plan, from before it is applied. Blocking."""

    def __init__(self, plan: EditPlan, unsaved: Mapping[Path, str], contents: Contents) -> None:
        """Back up what the plan's paths hold, with `unsaved` texts taking precedence over files, and what will be
        written there."""
        self._plan = plan
        self._contents = contents
        self._before: dict[Path, Held] = {}
        self._encodings: dict[Path, TextEncoding] = {}
        n_moved = 0

        def keep(path: Path, *, is_moved: bool = False) -> None:
            nonlocal n_moved
            self._before[path], data = with_bytes(path, unsaved.get(path))
            n_moved += len(data) if is_moved else 0
            if self._before[path].entry is not None and n_moved <= MAX_MOVED_BYTES:
                self._keep(data)

        for operation in plan.operations:
            match operation:
                case WriteText(path=path, text=text):
                    keep(path)
                    self._encodings[path] = encoding_on_disk(path)
                    self._keep(with_bytes(path, text)[1])
                case MoveFile(source=source, destination=destination):
                    for each in (source, *(source / each for each in _files_below(source))):
                        keep(each, is_moved=True)
                    keep(destination)
                case CopyBytes(source=source, destination=destination):
                    keep(source, is_moved=True)
                    keep(destination)
                case DeleteFile(path=path):
                    keep(path)

    def expected(self) -> list[Effect]:
        """Return what the plan does if it is applied unchanged."""
        after: dict[Path, Held] = {}
        moved: dict[Path, Path] = {}
        for operation in self._plan.operations:
            match operation:
                case WriteText(path=path, text=text, copied_from=source):
                    after[path] = with_bytes(path, text)[0]
                    if source is not None:
                        moved[path] = source
                case MoveFile(source=source, destination=destination):
                    inside = [each.relative_to(source) for each in self._before if source in each.parents]
                    for old, new in ((source, destination), *((source / each, destination / each) for each in inside)):
                        after[new] = after.get(old, self._before.get(old, NOTHING))
                        after[old] = NOTHING
                        moved |= {old: new, new: old}
                case CopyBytes(source=source, destination=destination):
                    after[destination] = self._before.get(source, NOTHING)
                    moved[destination] = source
                case DeleteFile(path=path):
                    after[path] = NOTHING
        return _effects(self._before, after, moved)

    def made(self, stands: EditPlan) -> list[Effect]:
        """Return what the plan has done; `stands` is the part of it that was applied."""
        texts: dict[Path, str | None] = {}
        """Text that the last operation wrote to each path; None for the content of the file."""
        before = dict(self._before)
        moved: dict[Path, Path] = {}
        for operation in stands.operations:
            match operation:
                case WriteText(path=path, text=text, copied_from=source):
                    texts[path] = text
                    if source is not None:
                        moved[path] = source
                    if operation.before is not None:
                        before[path] = self._held_by(operation.before)
                case MoveFile(source=source, destination=destination):
                    inside = _files_below(destination)
                    for old, new in ((source, destination), *((source / each, destination / each) for each in inside)):
                        texts[new] = texts.pop(old, None)
                        texts[old] = None
                        moved |= {old: new, new: old}
                case CopyBytes(source=source, destination=path):
                    texts[path] = None
                    moved[path] = source
                case DeleteFile(path=path):
                    texts[path] = None
        return _effects(before, {path: with_bytes(path, text)[0] for path, text in texts.items()}, moved)

    def _held_by(self, document: Document) -> Held:
        """Back up and return what the path held when the document was read."""
        of_file = self._encodings.get(document.path, document.encoding)
        data = encoded(document.text, document.encoding if document.version is None else of_file)
        self._keep(data)
        was = self._before.get(document.path, NOTHING)
        return Held(TreeEntry(was.entry.mode if was.entry else "100644", blob_of(data)), was.mode)

    def _keep(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it then cannot be restored, and the user is told
            self._contents.keep(data)


def _effects(before: Mapping[Path, Held], after: Mapping[Path, Held], moved: Mapping[Path, Path]) -> list[Effect]:
    all_of_them = (Effect(path, before.get(path, NOTHING), held, moved.get(path)) for path, held in after.items())
    return [each for each in all_of_them if each.before != each.after]


def _files_below(folder: Path) -> list[Path]:
    """Return the files and links below a folder, relative to it."""
    return [path.relative_to(folder) for path in entries_below(folder)]
