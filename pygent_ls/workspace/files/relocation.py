"""Moves files into place without overwriting concurrent changes."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from pygent_ls.file_access import (
    check_regular,
    link,
    make_folder,
    make_link,
    open_file,
    read_link,
    remove_folder,
    rename,
    status_of,
    unlink,
)
from pygent_ls.workspace.files.temporary_files import draft_in, hold_place, remove, settle
from pygent_ls.workspace.files.writer import take_after

_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES}

_COPIED_AT_ONCE = 1024**2


def place_new(staged: Path, path: Path) -> None:
    """Rename a finished file to an unused name. Raises FileExistsError if the name is in use."""
    try:
        link(staged, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        move(staged, path)
    else:
        unlink(staged)


def move(source: Path, destination: Path) -> None:
    """Rename a file, a link or a folder. Raises FileExistsError if the destination exists, or other OSErrors.

    The system's rename would overwrite, so an empty file or folder first reserves the name. Files are copied if the
    destination is on another file system.
    """
    is_folder = stat.S_ISDIR(status_of(source).st_mode)
    if is_folder:
        make_folder(destination)
    else:
        os.close(open_file(destination, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    try:
        hold_place(destination, source)
        try:
            rename(source, destination)
        except OSError as error:
            if error.errno != errno.EXDEV or is_folder:
                raise
            _move_far(source, destination)
    except OSError:
        with contextlib.suppress(OSError):
            remove_folder(destination) if is_folder else unlink(destination)
        raise
    finally:
        settle(destination)


def stage_copy(source: Path, folder: Path, *, is_move: bool = False) -> Path:
    """Copy a file's bytes and mode into a folder under a temporary name; return the path.

    If the file grows meanwhile, the copy has the initial size. A copy for a move also keeps owner, times and extended
    attributes, as far as permitted. Raises OSError, and then leaves nothing behind.
    """
    with os.fdopen(open_file(source, os.O_RDONLY), "rb", buffering=0) as old:
        status = check_regular(os.fstat(old.fileno()))
        staged = draft_in(folder)
        try:
            with os.fdopen(open_file(staged, os.O_CREAT | os.O_EXCL | os.O_WRONLY), "wb") as new:
                n_left = status.st_size  # a program may keep writing to the file
                while n_left > 0 and (data := old.read(min(n_left, _COPIED_AT_ONCE))):
                    n_left -= new.write(data)
                new.flush()
                if is_move:
                    take_after(new.fileno(), old.fileno(), status)
                    os.utime(new.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
                else:
                    os.fchmod(new.fileno(), stat.S_IMODE(status.st_mode))
                os.fsync(new.fileno())
        except BaseException:
            remove([staged])
            raise
    return staged


def _move_far(source: Path, destination: Path) -> None:
    """Move a file or a link to another file system, over the empty file that reserves its name."""
    if stat.S_ISLNK(status_of(source).st_mode):
        staged = stage_link(read_link(source), destination.parent)
    else:
        staged = stage_copy(source, destination.parent, is_move=True)
    try:
        rename(staged, destination)
    finally:
        remove([staged])
    unlink(source)


def stage_link(target: bytes, folder: Path) -> Path:
    """Create a link with this target in a folder under a temporary name; return the path."""
    staged = draft_in(folder)
    make_link(staged, target)
    return staged
