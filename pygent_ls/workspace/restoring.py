"""One file on the disk brought back to what it was; links are neither followed nor lost."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from pygent_ls.agent.workspace import TextEncoding
from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.documents import decode
from pygent_ls.workspace.git_store import Entry
from pygent_ls.workspace.temporary_files import draft_in, remove
from pygent_ls.workspace.writing import sync_folder, write_atomically

LINK = "120000"
"""Git's mode of a link; its content is where it leads."""


def blob_of(data: bytes) -> str:
    """Git's name of a content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def entry_on_disk(path: Path) -> Entry | None:
    """What is at a path now; None for nothing and for a folder. Raises OSError, or `SnapshotError` for a device."""
    found = bytes_on_disk(path)
    return found[0] if found else None


def bytes_on_disk(path: Path) -> tuple[Entry, bytes] | None:
    """The same with its bytes, which are where a link leads."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return None
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(path.readlink())
        return Entry(LINK, blob_of(target)), target
    if not stat.S_ISREG(status.st_mode):
        raise SnapshotError("a device, a socket or a named pipe stands in its place")
    data = path.read_bytes()
    return Entry("100755" if status.st_mode & stat.S_IXUSR else "100644", blob_of(data)), data


def bytes_of_buffer(path: Path, text: str) -> bytes:
    """An unsaved buffer as it would be saved: in the encoding that its file has. Blocking."""
    return encoded(text, encoding_on_disk(path))


def encoding_on_disk(path: Path) -> TextEncoding:
    """The encoding of a file; UTF-8 if there is none, or it is not text. Blocking."""
    with contextlib.suppress(OSError):
        decoded = decode(path.read_bytes())
        if decoded is not None:
            return decoded[1]
    return TextEncoding()


def encoded(text: str, encoding: TextEncoding) -> bytes:
    """The text in that encoding, or in UTF-8 if that has no such character."""
    try:
        return encoding.encode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def restore_file(folder: Path, path: Path, now: Entry | None, then: tuple[Entry, bytes] | None, mode: int) -> None:
    """Let `path`, below `folder`, be what it was: `then`, with its permission bits, or nothing. Blocking.

    `now` is what stands there as far as the caller knows. Raises `SnapshotError` where something else does, or where a
    link or a file stands in place of a folder on the way; `ToolError` and OSError where the disk refuses.
    """
    _check_way(folder, path)
    if entry_on_disk(path) != now:
        raise SnapshotError("it changed at this very moment")
    if then is None:
        path.unlink(missing_ok=True)
        _remove_empty(folder, path.parent)
        return
    entry, data = then
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        try:
            path.rmdir()
        except OSError:
            raise SnapshotError("a folder that is not empty stands in its place") from None
    if entry.mode == LINK:
        _place_link(path, data)
        return
    if path.is_symlink():
        path.unlink()
    write_atomically(path, data, mode)


def _check_way(folder: Path, path: Path) -> None:
    if ".git" in path.parts:
        raise SnapshotError("it belongs to git itself")
    above = folder
    for part in path.parent.relative_to(folder).parts:
        above /= part
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISDIR(above.lstat().st_mode):
                raise SnapshotError(f"{above.name} is no longer a folder")


def _place_link(path: Path, target: bytes) -> None:
    staged = draft_in(path.parent)
    try:
        staged.symlink_to(os.fsdecode(target))
        staged.replace(path)
    finally:
        remove([staged])
    sync_folder(path.parent)


def _remove_empty(folder: Path, parent: Path) -> None:
    """Git knows no empty folders, so one that is empty now is taken for new."""
    with contextlib.suppress(OSError):
        while parent != folder:
            parent.rmdir()
            parent = parent.parent
