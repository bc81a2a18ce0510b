"""Files that exist for a moment beside those that they are for.

A process notes each of them before it is made, in a record of its own that it holds locked, and removes the record once
none of them is left. A record whose lock is free belongs to a process that was killed: see `leftovers.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import threading
from collections.abc import Iterable
from pathlib import Path

from pygent_ls.file_access import status_of, unlink

PREFIX = "unfinished-"
"""Of the names of records. They have no folder of their own: to remove one takes longer than all else here."""


class _Record:
    """What this process has noted. Where that is not possible, files are made all the same."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._file: Path | None = None
        self._descriptor = -1
        self._noted: set[Path] = set()
        self._lock = threading.Lock()

    def note(self, path: Path | None, **line: object) -> None:
        """Add a line, about what will be at `path` until it is `settled`; nothing where no record is kept."""
        folder = self.folder
        if folder is None:
            return
        with self._lock, contextlib.suppress(OSError):
            while self._file is None or not os.fstat(self._descriptor).st_nlink:  # it may have been removed
                self._begin(folder)
            os.write(self._descriptor, json.dumps(line).encode() + b"\n")
            if path is not None:
                self._noted.add(path)

    def settled(self, path: Path) -> None:
        """It is gone, or something that stays; the record with it where it was the last one."""
        with self._lock, contextlib.suppress(OSError):
            self._noted.discard(path)
            if not self._noted and self._file is not None:
                file, self._file = self._file, None
                os.close(self._descriptor)
                file.unlink(missing_ok=True)

    def _begin(self, folder: Path) -> None:
        if self._file is not None:
            self._file = None
            os.close(self._descriptor)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = folder / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._file, self._descriptor = file, descriptor


_record = _Record()
"""One a process, since its lock tells whether the process lives."""


def keep_record(folder: Path) -> None:
    """Note in that folder what this process makes from now on; see `leftovers.clean_up`."""
    _record.folder = folder


def draft_in(folder: Path) -> Path:
    """A path for a file that is written there and then takes its own name, or is removed; see `settle`."""
    path = folder / _name()
    _record.note(path, draft=str(path))
    return path


def place_aside(path: Path) -> Path:
    """A path beside a file that is to be deleted, where it waits until nothing can fail any more; see `settle`."""
    aside = path.with_name(_name())
    _record.note(aside, aside=str(aside), of=str(path))
    return aside


def drop(asides: Iterable[Path]) -> None:
    """Nobody wants these back, whatever happens from now on; `remove` them."""
    if found := [str(each) for each in asides]:
        _record.note(None, dropped=found)


def hold_place(holder: Path, source: Path) -> None:
    """Something empty was made where something will be, as long as `source` exists; `settle` it then."""
    _record.note(holder, holder=str(holder), inode=status_of(holder).st_ino, source=str(source))


def settle(path: Path) -> None:
    """What was made at that path has another name now, or is no longer there, or stays."""
    _record.settled(path)


def remove(paths: Iterable[Path]) -> None:
    """Remove files that are not wanted any more, as far as they are there and the disk permits."""
    for path in paths:
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileNotFoundError):
                unlink(path)
            settle(path)


def _name() -> str:
    """Hidden, and short enough for any folder."""
    return f".pygent-{secrets.token_hex(8)}.tmp"
