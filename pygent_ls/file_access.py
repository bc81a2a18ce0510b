"""File access by resolved paths without following links.

A resolved path (from `Folders.resolve`) contains no links. Each function here opens the folder of such a path without
following a link, and accesses the last name relative to the folder's descriptor. With `openat2` (Linux 5.6) this takes
one system call; elsewhere the folders are opened one after the other. If a link has replaced a folder, or the file to
open, since the path was resolved, the call fails with ELOOP and nothing is read or changed. A folder that is moved
while its descriptor is open remains accessible through it.

Only `read_beginning` follows links. POSIX only. All functions block and raise OSError.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import struct
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
"""Flags for opening a folder. Without `O_PATH`, folders on the way must also be readable."""

_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""Flags for opening a file. A named pipe is opened without waiting for its other end."""

_LINK_ERRORS = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}
"""Errors that systems return for a link opened with `O_NOFOLLOW`."""


@contextlib.contextmanager
def folder_at(path: Path) -> Generator[int]:
    """Open a folder and yield its descriptor, for use as `dir_fd` only."""
    if ".." in path.parts or not path.is_absolute():
        raise OSError(errno.EINVAL, "not a resolved path", str(path))
    descriptor = _opened_at_once(path)
    if descriptor is None:
        descriptor = _opened_step_by_step(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _opened_step_by_step(path: Path) -> int:
    descriptor = os.open(path.anchor, _FOLDER)
    try:
        for name in path.parts[1:]:
            below = _open(name, _FOLDER, 0, descriptor)
            os.close(descriptor)
            descriptor = below
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


_OPENAT2 = 437
"""Number of the system call, the same on all architectures except Alpha."""

_RESOLVE_NO_SYMLINKS = 0x04


def _opened_at_once(path: Path) -> int | None:
    """Open a folder with `openat2` without following a link; return None if that fails for any reason."""
    call, name = _openat2(), os.fsencode(path)
    if call is None or b"\0" in name:  # C would end the path at the NUL
        return None
    descriptor = call(name)
    return descriptor if descriptor >= 0 else None


@functools.cache
def _openat2() -> Callable[[bytes], int] | None:
    if sys.platform != "linux":
        return None
    try:
        import ctypes
    except ImportError:  # a Python built without ctypes
        return None
    system_call = ctypes.CDLL(None).syscall
    system_call.restype = ctypes.c_long
    how = struct.pack("QQQ", _FOLDER, 0, _RESOLVE_NO_SYMLINKS)
    arguments = (ctypes.c_long(_OPENAT2), ctypes.c_int(-1))  # without a base folder: the path is absolute

    def call(path: bytes) -> int:
        return int(system_call(*arguments, path, how, ctypes.c_size_t(len(how))))

    return call


def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open the file at the path and return the descriptor. It may be a device; `read_file` checks that."""
    with folder_at(path.parent) as folder:
        return _open(path.name or ".", flags | _FILE, mode, folder)


def read_file(path: Path, max_bytes: int | None = None) -> tuple[bytes, os.stat_result]:
    """Read a regular file; return its bytes and status. Raises EINVAL for other kinds and EFBIG for larger files.

    If the file grows while it is read, the result has one byte more than the status says.
    """
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        status = check_regular(os.fstat(file.fileno()))
        if max_bytes is not None and status.st_size > max_bytes:
            raise OSError(errno.EFBIG, "the file is too large")
        return file.read(status.st_size + 1), status  # a program may keep writing to the file


def read_beginning(path: Path, max_bytes: int) -> bytes:
    """Read the first bytes of a regular file anywhere, following links.

    Raises EINVAL for other kinds; a named pipe is not waited for.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | _FILE & ~os.O_NOFOLLOW), "rb") as file:
        check_regular(os.fstat(file.fileno()))
        return file.read(max_bytes)


def check_regular(status: os.stat_result) -> os.stat_result:
    """Return the status if it is a regular file's. Raises `IsADirectoryError`, or OSError with EINVAL."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return status


def status_of(path: Path) -> os.stat_result:
    """Return the status of the file at the path, or of the link itself."""
    with folder_at(path.parent) as folder:
        return os.stat(path.name or ".", dir_fd=folder, follow_symlinks=False)


def is_there(path: Path) -> bool:
    """Return whether anything exists at the path, including a broken link."""
    try:
        status_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_writable(path: Path) -> bool:
    """Return whether this process may write the file."""
    with folder_at(path.parent) as folder:
        return os.access(path.name, os.W_OK, dir_fd=folder)


def entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield a folder's entries. Their `path` is the name; request an entry's status before taking the next one."""
    descriptor = open_file(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(descriptor) as found:
            yield from found
    finally:
        os.close(descriptor)


def entries_below(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder except folders, unordered; unreadable folders are left out."""
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        with contextlib.suppress(OSError):
            for entry in entries(current):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(current / entry.name)
                else:
                    yield current / entry.name


def rename(path: Path, to: Path) -> None:
    """Rename a file, a link or a folder, replacing a file with the new name."""
    with folder_at(path.parent) as folder, folder_at(to.parent) as other:
        os.rename(path.name, to.name, src_dir_fd=folder, dst_dir_fd=other)


def link(path: Path, to: Path) -> None:
    """Create a hard link to the file or to the link itself."""
    with folder_at(path.parent) as folder, folder_at(to.parent) as other:
        os.link(path.name, to.name, src_dir_fd=folder, dst_dir_fd=other, follow_symlinks=False)


def unlink(path: Path) -> None:
    """Remove a file or a link."""
    with folder_at(path.parent) as folder:
        os.unlink(path.name, dir_fd=folder)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Create a folder whose parent exists."""
    with folder_at(path.parent) as folder:
        os.mkdir(path.name, mode, dir_fd=folder)


def make_folders(path: Path, mode: int = 0o777) -> None:
    """Create a folder and its missing parents."""
    for missing in missing_folders(path):
        with contextlib.suppress(FileExistsError):
            make_folder(missing, mode)


def missing_folders(path: Path) -> list[Path]:
    """Return the folder and its parents that do not exist, outermost first."""
    found: list[Path] = []
    while not is_there(path):
        found.append(path)
        path = path.parent
    return found[::-1]


def remove_folder(path: Path) -> None:
    """Remove an empty folder."""
    with folder_at(path.parent) as folder:
        os.rmdir(path.name, dir_fd=folder)


def read_link(path: Path) -> bytes:
    """Return the target of a link."""
    with folder_at(path.parent) as folder:
        return os.readlink(os.fsencode(path.name), dir_fd=folder)


def make_link(path: Path, target: bytes) -> None:
    """Create a link with this target."""
    with folder_at(path.parent) as folder:
        os.symlink(target, os.fsencode(path.name), dir_fd=folder)


def set_mode(path: Path, mode: int) -> None:
    """Set the permission bits of a regular file."""
    descriptor = open_file(path, os.O_RDONLY)
    try:
        check_regular(os.fstat(descriptor))
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to the disk, if the file system supports it."""
    with contextlib.suppress(OSError):
        descriptor = open_file(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _open(name: str, flags: int, mode: int, folder: int) -> int:
    """Open a name relative to a folder. Raises OSError with ELOOP if it is a link."""
    try:
        return os.open(name, flags, mode, dir_fd=folder)
    except OSError as error:
        if error.errno in _LINK_ERRORS and _is_link(name, folder):
            what = "folder" if flags & os.O_DIRECTORY else "file"
            raise OSError(errno.ELOOP, f"{name} is no longer a {what} but a link") from None
        raise


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
