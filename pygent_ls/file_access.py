"""Files at resolved paths, reached without following a link.

A resolved path (see `Folders.resolve`) has no links in it. Each function here opens the folder of such a path without
following a link, and acts on the last name by the descriptor of its folder. The kernel does that in one call where it
has `openat2` (Linux 5.6); elsewhere the folders are opened one below the other. If a link has taken the place of a
folder, or of the file that is opened, since the path was resolved, the call fails with ELOOP and nothing is read or
changed. A folder that is moved while its descriptor is held is still the folder that stood there.

`read_beginning` alone follows links. POSIX only. All functions block, and raise OSError.
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
"""Without `O_PATH`, folders on the way must be readable, too."""

_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""A named pipe is opened without waiting for its other end."""

_LINK_ERRORS = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}
"""What systems answer to `O_NOFOLLOW` where a link stands."""


@contextlib.contextmanager
def folder_at(path: Path) -> Generator[int]:
    """The descriptor of a folder, to be given as `dir_fd`; it may be of a kind that does nothing else."""
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
"""Number of the system call, the same on all machines but Alpha."""

_RESOLVE_NO_SYMLINKS = 0x04


def _opened_at_once(path: Path) -> int | None:
    """The descriptor of a folder, opened by `openat2` without following a link; None if that fails for any reason."""
    call, name = _openat2(), os.fsencode(path)
    if call is None or b"\0" in name:  # C would take what stands before it
        return None
    descriptor = call(name)
    return descriptor if descriptor >= 0 else None


@functools.cache
def _openat2() -> Callable[[bytes], int] | None:
    if sys.platform != "linux":
        return None
    try:
        import ctypes
    except ImportError:  # a Python that was built without it
        return None
    system_call = ctypes.CDLL(None).syscall
    system_call.restype = ctypes.c_long
    how = struct.pack("QQQ", _FOLDER, 0, _RESOLVE_NO_SYMLINKS)
    arguments = (ctypes.c_long(_OPENAT2), ctypes.c_int(-1))  # no folder: the path is absolute

    def call(path: bytes) -> int:
        return int(system_call(*arguments, path, how, ctypes.c_size_t(len(how))))

    return call


def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open what stands at the path; returns the descriptor. It may be a device: see `read_file`."""
    with folder_at(path.parent) as folder:
        return _open(path.name or ".", flags | _FILE, mode, folder)


def read_file(path: Path, max_bytes: int | None = None) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file and its status. Other kinds, and larger files, are refused with EINVAL and EFBIG.

    Of a file that grows meanwhile there is one byte more than the status says.
    """
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        status = check_regular(os.fstat(file.fileno()))
        if max_bytes is not None and status.st_size > max_bytes:
            raise OSError(errno.EFBIG, "the file is too large")
        return file.read(status.st_size + 1), status  # a program may write on without end


def read_beginning(path: Path, max_bytes: int) -> bytes:
    """The first bytes of a regular file, through links: for files that may lie anywhere.

    Other kinds are refused with EINVAL, and a named pipe is not waited for.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | _FILE & ~os.O_NOFOLLOW), "rb") as file:
        check_regular(os.fstat(file.fileno()))
        return file.read(max_bytes)


def check_regular(status: os.stat_result) -> os.stat_result:
    """The status, if it is a regular file's. Raises `IsADirectoryError`, or OSError with EINVAL."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return status


def status_of(path: Path) -> os.stat_result:
    """The status of what stands at the path, also if it is a link."""
    with folder_at(path.parent) as folder:
        return os.stat(path.name or ".", dir_fd=folder, follow_symlinks=False)


def is_there(path: Path) -> bool:
    """Whether anything stands at the path, also if it is a link that leads nowhere."""
    try:
        status_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_writable(path: Path) -> bool:
    """Whether this process may write the file."""
    with folder_at(path.parent) as folder:
        return os.access(path.name, os.W_OK, dir_fd=folder)


def entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """What is in a folder. The entries' `path` is their name; ask for their status before the next one is taken."""
    descriptor = open_file(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(descriptor) as found:
            yield from found
    finally:
        os.close(descriptor)


def entries_below(folder: Path) -> Iterator[Path]:
    """Everything below a folder that is no folder itself, in no order; what cannot be read is left out."""
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
    """Rename a file, a link or a folder, over a file that has the new name."""
    with folder_at(path.parent) as folder, folder_at(to.parent) as other:
        os.rename(path.name, to.name, src_dir_fd=folder, dst_dir_fd=other)


def link(path: Path, to: Path) -> None:
    """Give what stands at the path, itself a link or not, a further name (a hard link)."""
    with folder_at(path.parent) as folder, folder_at(to.parent) as other:
        os.link(path.name, to.name, src_dir_fd=folder, dst_dir_fd=other, follow_symlinks=False)


def unlink(path: Path) -> None:
    """Remove a file or a link."""
    with folder_at(path.parent) as folder:
        os.unlink(path.name, dir_fd=folder)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder; the one above it exists."""
    with folder_at(path.parent) as folder:
        os.mkdir(path.name, mode, dir_fd=folder)


def make_folders(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, as far as they are missing."""
    for missing in missing_folders(path):
        with contextlib.suppress(FileExistsError):
            make_folder(missing, mode)


def missing_folders(path: Path) -> list[Path]:
    """The folder and those above it that do not exist, the outermost first."""
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
    """Where a link leads."""
    with folder_at(path.parent) as folder:
        return os.readlink(os.fsencode(path.name), dir_fd=folder)


def make_link(path: Path, target: bytes) -> None:
    """Make a link that leads there."""
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
    """Bring a folder's names to the disk, if the file system knows how."""
    with contextlib.suppress(OSError):
        descriptor = open_file(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _open(name: str, flags: int, mode: int, folder: int) -> int:
    """Open a name in a folder. Raises OSError with ELOOP if a link has that name."""
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
