"""Files that are not text, kept from before their deletion so that they can be put back."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from msgspec import Struct

from pygent_ls.file_access import is_there, make_folders, make_link, read_file, read_link, status_of
from pygent_ls.workspace.files.paths import printable
from pygent_ls.workspace.files.writer import replace_file, write_error

MAX_BYTES = 10 * 1024 * 1024
"""Maximum size of such a file, as of a file that tools read."""


class RemovedFile(Struct, frozen=True, kw_only=True):
    """A deleted file or link."""

    content: bytes
    """Bytes of the file, or the target of the link."""
    mode: int | None
    """Permission bits of the file; None for a link."""


def file_to_remove(path: Path) -> RemovedFile | None:
    """Read a file or link that will be deleted; None if it is missing, a folder, or too large. Blocking."""
    try:
        status = status_of(path)
        if stat.S_ISLNK(status.st_mode):
            return RemovedFile(content=read_link(path), mode=None)
        content, status = read_file(path, MAX_BYTES)
        return RemovedFile(content=content, mode=stat.S_IMODE(status.st_mode))
    except OSError:
        return None


def put_back(path: Path, removed: RemovedFile) -> None:
    """Restore a deleted file or link. Raises `ToolError` if the path exists, or cannot be written. Blocking."""
    try:
        make_folders(path.parent)
        if is_there(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        if removed.mode is None:
            make_link(path, removed.content)
        else:
            replace_file(path, removed.content, removed.mode)
    except OSError as error:
        raise write_error(printable(str(path)), error) from None
