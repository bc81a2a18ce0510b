"""Temporary files beside their targets.

A process records each of them before it is created, in a record file that it holds locked, and removes the record when
none of them is left. A record with a free lock belongs to a process that was killed; `leftovers.py` cleans it up.
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
"""Prefix of record names. They have no folder of their own: removing one takes longer than everything else here."""


class _Record:
    """Record of this process's temporary files. If it cannot be written, files are created anyway."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._file: Path | None = None
        self._descriptor = -1
        self._noted: set[Path] = set()
        self._lock = threading.Lock()

    def note(self, path: Path | None, **line: object) -> None:
        """Append a line about the file at `path` until it is `settled`. Does nothing if no record is kept."""
        folder = self.folder
        if folder is None:
            return
        with self._lock, contextlib.suppress(OSError):
            while self._file is None or not os.fstat(self._descriptor).st_nlink:  # the file may have been removed
                self._begin(folder)
            os.write(self._descriptor, json.dumps(line).encode() + b"\n")
            if path is not None:
                self._noted.add(path)

    def settled(self, path: Path) -> None:
        """Mark a path as removed or permanent; removes the record with its last path."""
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
"""Record of the process, one only, since its lock shows that the process is alive."""


def keep_record(folder: Path) -> None:
    """Record this process's temporary files in that folder from now on, for `leftovers.clean_up`."""
    _record.folder = folder


def draft_in(folder: Path) -> Path:
    """Return a path for a file that is written there and then renamed or removed; call `settle` afterwards."""
    path = folder / _name()
    _record.note(path, draft=str(path))
    return path


def place_aside(path: Path) -> Path:
    """Return a path beside a file to be deleted, which holds it until no step can fail any more; call `settle`
    afterwards.
    """
    aside = path.with_name(_name())
    _record.note(aside, aside=str(aside), of=str(path))
    return aside


def drop(asides: Iterable[Path]) -> None:
    """Mark files as not to be restored in any case; `remove` them afterwards."""
    if found := [str(each) for each in asides]:
        _record.note(None, dropped=found)


def hold_place(holder: Path, source: Path) -> None:
    """Record an empty placeholder for a path, needed as long as `source` exists; call `settle` afterwards."""
    _record.note(holder, holder=str(holder), inode=status_of(holder).st_ino, source=str(source))


def settle(path: Path) -> None:
    """Record that the file at a path was renamed or removed, or is permanent."""
    _record.settled(path)


def remove(paths: Iterable[Path]) -> None:
    """Remove unneeded files that exist, as far as the disk permits."""
    for path in paths:
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileNotFoundError):
                unlink(path)
            settle(path)


def _name() -> str:
    """Return a hidden name that is short enough for any folder."""
    return f".pygent-{secrets.token_hex(8)}.tmp"
