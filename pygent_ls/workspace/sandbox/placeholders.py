"""Placeholder files in a workspace, on which read-only mounts are placed while a command runs in the sandbox.

A mount needs an existing path, and a missing path cannot be covered otherwise. Every command holds a shared lock on its
workspace folder, in whatever process; the one that can lock the folder exclusively is the last and removes the
placeholders. A placeholder left by a killed process is recognized by its form: empty (or, as git requires of one file,
a dot), with the sticky bit. Anything that the user puts into one is kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pygent_ls import file_access

PlaceholderKind = Literal["folder", "file", "dot"]

DOT = b".\n"
"""Content of `commondir`, which refers a repository to itself; git does not accept an empty one."""

_FOLDER, _FILE = 0o1755, 0o1644


class Placeholders:
    """Placeholders of one command in one folder of a workspace."""

    def __init__(self, folder: Path) -> None:
        """Lock the folder for a command; `leave` must be called. Blocking while another command removes
        placeholders.
        """
        self._made: set[Path] = set()
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        except OSError:  # a file system without locks
            os.close(self._descriptor)
            self._descriptor = -1

    def make(self, path: Path, kind: PlaceholderKind) -> bool:
        """Create a placeholder if the path is missing; return whether there is one now, new or existing."""
        with contextlib.suppress(OSError):
            if kind == "folder":
                file_access.make_folder(path)
                self._made.add(path)
                _set_mode(path, _FOLDER)
            else:
                descriptor = file_access.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                self._made.add(path)
                try:
                    os.write(descriptor, DOT if kind == "dot" else b"")
                    os.fchmod(descriptor, _FILE)
                finally:
                    os.close(descriptor)
        return file_access.is_there(path)

    def leave(self, candidates: Iterable[Path]) -> None:
        """Release the folder; the last command removes the placeholders at these paths, whoever created them."""
        try:
            if self._descriptor != -1:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # other commands need them
            pass
        else:
            for path in sorted({*candidates, *self._made}, reverse=True):
                if path in self._made or is_placeholder(path):
                    _remove(path)
        finally:
            if self._descriptor != -1:
                os.close(self._descriptor)
            self._descriptor = -1


def is_placeholder(path: Path) -> bool:
    """Return whether a path has the form of a placeholder: created here and still empty."""
    try:
        status = file_access.status_of(path)
        if not status.st_mode & stat.S_ISVTX:
            return False
        if stat.S_ISDIR(status.st_mode):
            return not any(file_access.entries(path))
        return stat.S_ISREG(status.st_mode) and _is_empty(path, status)
    except OSError:
        return False


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        status = file_access.status_of(path)
        if stat.S_ISDIR(status.st_mode):
            try:
                file_access.remove_folder(path)
            except OSError:  # the user has put something there
                _set_mode(path, stat.S_IMODE(status.st_mode) & ~stat.S_ISVTX)
        elif stat.S_ISREG(status.st_mode) and _is_empty(path, status):
            file_access.unlink(path)


def _set_mode(folder: Path, mode: int) -> None:
    descriptor = file_access.open_file(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _is_empty(path: Path, status: os.stat_result) -> bool:
    return not status.st_size or (status.st_size == len(DOT) and file_access.read_file(path, len(DOT))[0] == DOT)
