"""Restores one file on the disk; links are neither followed nor lost."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import stat
from pathlib import Path

from pygent_ls.agent.ports.workspace import TextEncoding
from pygent_ls.errors import SnapshotError
from pygent_ls.file_access import (
    make_folders,
    read_file,
    read_link,
    remove_folder,
    rename,
    status_of,
    sync_folder,
    unlink,
)
from pygent_ls.workspace.files.document_text import decode
from pygent_ls.workspace.files.relocation import stage_link
from pygent_ls.workspace.files.temporary_files import remove
from pygent_ls.workspace.files.writer import replace_file, write_error
from pygent_ls.workspace.snapshots.store import TreeEntry

LINK = "120000"
"""Git's mode of a link; its content is the link's target."""


def blob_of(data: bytes) -> str:
    """Return git's name of a content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def entry_on_disk(path: Path) -> TreeEntry | None:
    """Return the entry at a path; None if it is missing or a folder. Raises OSError, or `SnapshotError` for a
    device.
    """
    found = bytes_on_disk(path)
    return found[0] if found else None


def bytes_on_disk(path: Path) -> tuple[TreeEntry, bytes, int] | None:
    """Return the entry with its bytes (for a link, its target) and its permission bits."""
    try:
        data, status = read_file(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENXIO}:
            raise SnapshotError("a device, a socket or a named pipe has taken its place") from None
        if error.errno == errno.ELOOP and stat.S_ISLNK((status := status_of(path)).st_mode):
            target = read_link(path)
            return TreeEntry(LINK, blob_of(target)), target, stat.S_IMODE(status.st_mode)
        raise
    entry = TreeEntry("100755" if status.st_mode & stat.S_IXUSR else "100644", blob_of(data))
    return entry, data, stat.S_IMODE(status.st_mode)


def bytes_of_buffer(path: Path, text: str) -> bytes:
    """Encode an unsaved buffer as it would be saved, in its file's encoding. Blocking."""
    return encoded(text, encoding_on_disk(path))


def encoding_on_disk(path: Path) -> TextEncoding:
    """Return the encoding of a file; UTF-8 if it is missing or not text. Blocking."""
    with contextlib.suppress(OSError):
        decoded = decode(read_file(path)[0])
        if decoded is not None:
            return decoded[1]
    return TextEncoding()


def encoded(text: str, encoding: TextEncoding) -> bytes:
    """Encode the text, in UTF-8 if the encoding lacks one of its characters."""
    try:
        return encoding.encode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def restore_file(
    folder: Path, path: Path, now: TreeEntry | None, then: tuple[TreeEntry, bytes] | None, mode: int
) -> None:
    """Restore `path`, below `folder`, to `then` with its permission bits, or remove it without a `then`. Blocking.

    `now` is what the caller expects at the path. Raises `SnapshotError` if something else is there; OSError, or
    `ToolError` with the name of the file, if the disk refuses or a link replaces a folder on the way.
    """
    if ".git" in path.parts:
        raise SnapshotError("it belongs to git itself")
    if entry_on_disk(path) != now:
        raise SnapshotError("it changed at that very moment")
    if then is None:
        with contextlib.suppress(FileNotFoundError):
            unlink(path)
        _remove_empty(folder, path.parent)
        return
    entry, data = then
    make_folders(path.parent)
    try:
        remove_folder(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:
        raise SnapshotError("a folder that is not empty has taken its place") from None
    if entry.mode == LINK:
        _place_link(path, data)
        return
    if now is not None and now.mode == LINK:
        unlink(path)
    try:
        replace_file(path, data, mode)
    except OSError as error:
        raise write_error(str(path), error) from None


def _place_link(path: Path, target: bytes) -> None:
    staged = stage_link(target, path.parent)
    try:
        rename(staged, path)
    finally:
        remove([staged])
    sync_folder(path.parent)


def _remove_empty(folder: Path, parent: Path) -> None:
    """Remove folders that are now empty: git does not record empty folders, so they are taken for new."""
    with contextlib.suppress(OSError):
        while parent != folder:
            remove_folder(parent)
            parent = parent.parent
