"""Storage of the changes that wait for review, so that they outlive the daemon and the editor."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, convert, to_builtins

from pygent_ls.agent.edits.pending_file import PendingFile
from pygent_ls.agent.ports.workspace import TextEncoding, WriteText
from pygent_ls.editors.lsp.review.reviewed_file import Rejection, ReviewedFile
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.removed_file import RemovedFile
from pygent_ls.workspace.files.writer import write_atomically

WRITE_AFTER_S = 1.0
"""Delay from a change to the write: a file is not written with each key."""

MAX_BYTES = 20_000_000
"""Maximum size of a stored file. The review of a longer one ends with the daemon."""

MAX_AGE_S = 90 * 24 * 3600
"""Age at which a stored file is deleted: 90 days."""

log = logging.getLogger(__name__)


Hex = Annotated[str, Meta(pattern=r"^([0-9a-f]{2})*\Z")]


class StoredRejection(Struct, frozen=True, kw_only=True):
    """A rejected hunk that its session's model does not know of."""

    author: str
    first_line: int
    old_text: str
    new_text: str


class StoredFile(Struct, frozen=True, kw_only=True):
    """A file under review: its texts, and the sessions that made its hunks, in order. None: no such file."""

    version: int = 1
    path: str
    baseline: str | None
    current: str | None
    authors: tuple[str, ...]
    is_typed_in: bool
    is_unsaved: bool
    encoding: str = "utf-8"
    """Name of the codec of a text file that the agent deleted; with `bom` and `mode` what its restoration needs."""
    bom: Hex = ""
    mode: int | None = None
    content: Hex | None = None
    """Bytes of a deleted file that is not text, or the target of a deleted link, which has no `mode`."""
    rejections: tuple[StoredRejection, ...] = ()

    def pending_file(self) -> PendingFile:
        """Return the file as it waited."""
        file = PendingFile(Path(self.path), self.baseline, self.baseline, "")
        file.restore(self.baseline, self.current, self.authors)
        file.is_typed_in = self.is_typed_in
        return file

    @property
    def removed(self) -> WriteText | RemovedFile:
        """What brings back a deleted file."""
        if self.content is not None:
            return RemovedFile(content=bytes.fromhex(self.content), mode=self.mode)
        encoding = TextEncoding(name=self.encoding, bom=bytes.fromhex(self.bom))
        return WriteText(path=Path(self.path), before=None, text=self.baseline or "", encoding=encoding, mode=self.mode)


def stored_file(path: Path, entry: ReviewedFile | None, rejections: Sequence[Rejection]) -> StoredFile | None:
    """Return what to store of a file under review, with rejections that no model knows of; None if nothing waits."""
    if (entry is None or not entry.file.hunks) and not rejections:
        return None
    removed = entry.removed if entry is not None else None
    encoding = removed.written_as if isinstance(removed, WriteText) else TextEncoding()
    file = entry.file if entry is not None else PendingFile(path, None, None, "")
    return StoredFile(
        path=str(path),
        baseline=file.baseline,
        current=file.current,
        authors=tuple(each.author for each in file.hunks),
        is_typed_in=file.is_typed_in,
        is_unsaved=entry is not None and entry.is_unsaved,
        encoding=encoding.name,
        bom=encoding.bom.hex(),
        mode=removed.mode if removed is not None else None,
        content=removed.content.hex() if isinstance(removed, RemovedFile) else None,
        rejections=tuple(
            StoredRejection(
                author=each.author,
                first_line=each.decided.first_line,
                old_text=each.decided.hunk.old_text,
                new_text=each.decided.hunk.new_text,
            )
            for each in rejections
        ),
    )


class ReviewStore:
    """The files under review in one workspace, each in a file of a folder. Owns the task that writes them.

    Daemons of the same workspace share the folder: each writes the files that change in it, and the last one applies.
    """

    def __init__(self, state_folder: Path, workspace: Path, stored_of: Callable[[Path], StoredFile | None]) -> None:
        """`stored_of` returns what to store of a file; None if nothing of it waits."""
        tag = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
        self._folder = state_folder.absolute() / "reviews" / tag
        self._stored_of = stored_of
        self._waiting: set[Path] = set()
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def load(self) -> list[StoredFile]:
        """Return the stored files in the order in which they were written. Blocking. Damaged files are skipped."""
        return [each for path in self._stored() if (each := _read(path)) is not None]

    def changed(self, path: Path) -> None:
        """Store a file soon."""
        self._waiting.add(path)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_later())

    async def close(self) -> None:
        """Write what waits."""
        self._closing.set()
        if self._task is not None:
            await self._task
        await self._write()

    async def _write_later(self) -> None:
        while self._waiting:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), WRITE_AFTER_S)
            await self._write()

    async def _write(self) -> None:
        waiting = {path: self._stored_of(path) for path in self._waiting}
        self._waiting.clear()
        if waiting:
            await asyncio.to_thread(self._write_all, waiting)

    def _write_all(self, waiting: Mapping[Path, StoredFile | None]) -> None:
        for path, stored in waiting.items():
            try:
                self._write_one(self._file_of(path), stored)
            except (OSError, ToolError) as error:
                log.warning("the review of a file was not stored: %s", error)

    @staticmethod
    def _write_one(file: Path, stored: StoredFile | None) -> None:
        data = b"" if stored is None else json.dumps(to_builtins(stored)).encode()
        if data and len(data) <= MAX_BYTES:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(file, data, 0o600)
        else:
            file.unlink(missing_ok=True)

    def _file_of(self, path: Path) -> Path:
        return self._folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"

    def _stored(self) -> list[Path]:
        """Return the stored files of this workspace, and delete old ones of all workspaces."""
        oldest = time.time() - MAX_AGE_S
        written = {path: _written_at(path) for path in self._folder.parent.glob("*/*.json")}
        for path, at in written.items():
            if at < oldest:
                with contextlib.suppress(OSError):
                    path.unlink()
        return [path for path in sorted(written, key=written.__getitem__) if path.parent == self._folder]


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read(path: Path) -> StoredFile | None:
    try:
        stored = convert(json.loads(path.read_bytes()), StoredFile)
    except (OSError, ValueError, RecursionError) as error:
        log.warning("a stored review was skipped: %s", type(error).__name__)
        return None
    return stored if stored.version == 1 and Path(stored.path).is_absolute() else None
