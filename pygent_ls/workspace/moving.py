"""Putting files in other places without overwriting what may have come there meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from pathlib import Path

from pygent_ls.workspace.temporary_files import draft_in, hold_place, remove, settle

_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES}


def place_new(staged: Path, path: Path) -> None:
    """Give a finished file its name, where nothing has that name. Raises FileExistsError where something has."""
    try:
        os.link(staged, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        move(staged, path)
    else:
        staged.unlink()


def move(source: Path, destination: Path) -> None:
    """Rename a file, a link or a folder. Raises FileExistsError where the destination exists, other OSErrors.

    The system's rename would overwrite, so the name is taken first, by something empty that may be overwritten.
    Files are copied where the destination is on another file system.
    """
    is_folder = stat.S_ISDIR(source.lstat().st_mode)
    if is_folder:
        destination.mkdir()
    else:
        os.close(os.open(destination, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        hold_place(destination, source)
        try:
            source.rename(destination)
        except OSError as error:
            if error.errno != errno.EXDEV or is_folder:
                raise
            _move_far(source, destination)
    except OSError:
        with contextlib.suppress(OSError):
            destination.rmdir() if is_folder else destination.unlink()
        raise
    finally:
        settle(destination)


def stage_copy(source: Path, folder: Path) -> Path:
    """Copy a file's bytes and mode into a folder, under a name for a moment; return the path.

    Raises OSError, and then nothing is left behind.
    """
    status = source.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    staged = draft_in(folder)
    try:
        os.close(os.open(staged, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        shutil.copyfile(source, staged)
        staged.chmod(stat.S_IMODE(status.st_mode))
        fd = os.open(staged, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except BaseException:
        remove([staged])
        raise
    return staged


def _move_far(source: Path, destination: Path) -> None:
    """Move a file or a link to another file system, over the empty file that holds its place."""
    staged = draft_in(destination.parent)
    try:
        shutil.copy2(source, staged, follow_symlinks=False)
        staged.replace(destination)
    finally:
        remove([staged])
    source.unlink()
