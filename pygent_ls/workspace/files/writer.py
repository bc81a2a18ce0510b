"""Atomic file writes: a file holds either the old or the new bytes, even after a failure."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Generator
from pathlib import Path

from pygent_ls.errors import ToolError
from pygent_ls.file_access import check_regular, is_writable, open_file, rename, status_of, sync_folder
from pygent_ls.workspace.files.paths import printable
from pygent_ls.workspace.files.temporary_files import draft_in, remove

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_atomically(path: Path, data: bytes, mode: int | None = None, *, name: str | None = None) -> None:
    """Replace the file's contents atomically; return when they are on the disk.

    If `path` is a link, its target is written. `mode` are permission bits; None keeps those of the file, with its owner
    and extended attributes as far as permitted, or gives a new file the usual ones. Other names of the same file (hard
    links) keep the old content. The folder must exist. Blocking.

    Raises `ToolError` (read-only, no space, a folder, no such folder), and then leaves nothing behind. `name` is the
    file's name in errors, the path by default.
    """
    name = printable(str(path)) if name is None else name
    try:
        replace_file(Path(os.path.realpath(path)), data, mode)
    except OSError as error:
        raise write_error(name, error) from None


def replace_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace a file at a resolved path, without following links. Raises OSError."""
    staged = stage(path, data, mode, folder=path.parent)
    try:
        rename(staged, path)
    finally:
        remove([staged])
    sync_folder(path.parent)


def stage(path: Path, data: bytes, mode: int | None, *, folder: Path) -> Path:
    """Write the bytes to a file beside their target, ready to replace it; return its path.

    The target is used for its mode and owner only. Raises OSError, and then leaves nothing behind.
    """
    old = _status(path)
    if old is not None:
        check_regular(old)
        if not is_writable(path):  # replacing a file needs no permission to write it
            raise PermissionError(errno.EACCES, "it cannot be written")
    staged = draft_in(folder)
    first_mode = 0o666 if old is None and mode is None else 0o600
    try:
        fd = open_file(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, first_mode)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if old is not None:
                with _opened(path) as old_fd:
                    take_after(fd, old_fd, old)
            if mode is not None:
                os.fchmod(fd, mode)
            os.fsync(fd)
        finally:
            os.close(fd)
    except BaseException:
        remove([staged])
        raise
    return staged


@contextlib.contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Hold this folder's lock to read and rewrite a file while other processes wait.

    Creates the folder, private to this user, if it is missing. Blocking. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def write_error(name: str, error: OSError) -> ToolError:
    """Describe a disk error for the model."""
    if error.errno == errno.EXDEV:
        return ToolError(f"{name} is on another file system. Files can be moved there, but folders cannot.")
    if error.errno in _NO_SPACE:
        return ToolError(f"{name} was not written: no space is left, or a limit is reached: {error.strerror}.")
    match error:
        case IsADirectoryError():
            return ToolError(f"{name} is a folder; a file cannot take its place.")
        case FileExistsError():
            return ToolError(f"{name} already exists.")
        case FileNotFoundError():
            return ToolError(f"{name} was not changed: the file or its folder does not exist.")
        case NotADirectoryError():
            return ToolError(f"{name}: a parent in its path is a file, not a folder.")
        case _ if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            return ToolError(f"{name} was not changed: it is read-only for this user: {error.strerror}.")
        case _:
            return ToolError(f"{name} was not changed: {error.strerror}.")


def _status(path: Path) -> os.stat_result | None:
    try:
        return status_of(path)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _opened(path: Path) -> Generator[int | None]:
    """Open a file and yield its descriptor; None if it may not be read."""
    try:
        fd = open_file(path, os.O_RDONLY)
    except PermissionError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def take_after(fd: int, old_fd: int | None, old: os.stat_result) -> None:
    """Give a new file the old one's owner, mode and extended attributes, as far as permitted."""
    now = os.fstat(fd)
    mode = stat.S_IMODE(old.st_mode)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except PermissionError:
            mode &= ~(stat.S_ISUID | stat.S_ISGID)  # they would grant another user's rights
            with contextlib.suppress(PermissionError):
                os.fchown(fd, -1, old.st_gid)
    os.fchmod(fd, mode)  # after the owner: a change of owner drops the setuid bit
    if old_fd is not None and hasattr(os, "listxattr"):  # Linux
        with contextlib.suppress(OSError):
            for attribute in os.listxattr(old_fd):
                with contextlib.suppress(OSError):
                    os.setxattr(fd, attribute, os.getxattr(old_fd, attribute))
