"""Reads files on the disk as documents, with stamps that show whether they changed."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import difflib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pygent_ls.agent.context.images import mime_type_of
from pygent_ls.agent.ports.workspace import MISSING, Document, FileStatus, Stamp
from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.errors import FileTooLargeError, NotTextError, ToolError
from pygent_ls.file_access import check_regular, entries, entries_below, open_file, read_beginning, status_of
from pygent_ls.workspace.files.document_text import document_from_bytes
from pygent_ls.workspace.files.paths import printable

Read = TypeVar("Read")

MAX_DOCUMENT_BYTES = 10_000_000
"""Maximum size of a file read whole: some 2.5 million tokens; editors also refuse or degrade larger files."""

MAX_PIECE_BYTES = 1_000_000
"""Maximum length of a line piece that is read at once."""

MAX_TREE_ENTRIES = 5_000
"""Maximum number of entries in a tree's stamp: about 20 ms of stat calls; more would cost more than a search."""

MAX_NAMES = 2_000
"""Maximum number of names in a folder that are compared with a missing name."""

MAX_NAMES_SEEN = 20_000
"""Maximum number of names searched for files with a given name: some 50 ms."""

MAX_ATTEMPTS = 3
"""Maximum number of attempts to read a file that changes while it is read."""


async def read_document(path: Path, name: str | None = None) -> Document:
    """Read the text file at a resolved path whole. `name` is its name in errors, the path by default.

    Raises `ToolError`: no such file (with the nearest existing name), a folder, a device, not text, too large, not
    readable.
    """
    name = printable(str(path)) if name is None else name
    document = await _read_with(_document_at, path, name)
    if isinstance(document, bytes):
        raise not_text(name, len(document), mime_type_of(document))
    return document


async def read_bytes(path: Path, name: str) -> bytes:
    """Read a file whole, text or not. Raises `ToolError` as `read_document` does."""
    data, _ = await _read_with(_read_bytes, path, name)
    return data


async def _read_with(read: Callable[[Path, str], Read], path: Path, name: str) -> Read:
    """Call `read` in a thread. Raises `ToolError` in place of its OSError."""
    try:
        return await asyncio.to_thread(read, path, name)
    except OSError as error:
        raise await asyncio.to_thread(unreadable, path, name, error) from None


def _document_at(path: Path, name: str) -> Document | bytes:
    """Return the document, or the bytes if they are not text."""
    data, stamp = _read_bytes(path, name)
    document = document_from_bytes(path, data, stamp)
    return data if document is None else document


def beginning_of(path: Path, max_bytes: int) -> bytes:
    """Read the first bytes of a regular file anywhere; a named pipe is not waited for. Blocking.

    Raises OSError, and ValueError for an invalid path.
    """
    return read_beginning(path, max_bytes)


def lines_of(path: Path, numbers: Collection[int]) -> dict[int, bytes]:
    """Return lines of a file for `Workspace.lines_on_disk`. A line beyond `MAX_DOCUMENT_BYTES` is cut to its
    beginning.
    """
    found = dict.fromkeys(numbers, b"")
    last, number = max(numbers, default=0), 1
    try:
        with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
            check_regular(os.fstat(file.fileno()))
            start = file.peek(len(codecs.BOM_UTF8))
            if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                lines = file.read(MAX_DOCUMENT_BYTES).decode("utf-16", "replace").split("\n")
                return {each: lines[each - 1].encode() for each in found if each <= len(lines)}
            if start.startswith(codecs.BOM_UTF8):
                file.read(len(codecs.BOM_UTF8))
            while number <= last and (piece := file.readline(MAX_PIECE_BYTES)):
                if number in found and len(found[number]) < MAX_DOCUMENT_BYTES:
                    found[number] += piece.removesuffix(b"\n")
                number += piece.endswith(b"\n")
    except OSError:
        return {}
    return {each: line for each, line in found.items() if each <= number}


def disk_stamp(path: Path) -> Stamp:
    """Return the file's inode, size and change times, or `MISSING`; links are followed.

    The inode's change time is included, because programs may reset the modification time.
    """
    try:
        return stamp_of(path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        return f"unreadable {errno.errorcode.get(error.errno or 0, '')}"


def status(path: Path) -> FileStatus:
    """Return the kind and facts of what is at a path. Blocking."""
    try:
        found = path.stat()
    except OSError:
        return FileStatus(kind="missing")
    kind = "folder" if stat.S_ISDIR(found.st_mode) else "file"
    return FileStatus(kind=kind, mode=stat.S_IMODE(found.st_mode) & 0o777)


def files_below(path: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, or the file itself; links are not followed. Blocking."""
    for file in (path, *entries_below(path)):
        with contextlib.suppress(OSError):
            if stat.S_ISREG(status_of(file).st_mode):
                yield file


def files_named(folders: Sequence[Path], is_wanted: Callable[[str], bool]) -> list[Path]:
    """Return the files for `Workspace.files_named`. Blocking."""
    found: list[Path] = []
    waiting, n_seen = list(folders), 0
    for folder in waiting:  # the list grows
        with contextlib.suppress(OSError):
            for entry in entries(folder):
                n_seen += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting += [folder / entry.name] if entry.name not in (".git", "node_modules") else []
                elif is_wanted(entry.name):
                    found.append(folder / entry.name)
                if n_seen >= MAX_NAMES_SEEN:
                    return found
    return found


def tree_stamp(folder: Path) -> Stamp | None:
    """Return one digest over the name, inode, size and times of everything below a folder; None beyond
    `MAX_TREE_ENTRIES`. `.git` counts by name only: git itself rewrites it when asked for the status. Links are not
    followed. Blocking: call it in a thread.
    """
    if not folder.is_dir():
        return disk_stamp(folder)
    facts = list(islice(_tree_facts(folder), MAX_TREE_ENTRIES + 1))
    if len(facts) > MAX_TREE_ENTRIES:
        return None
    sha = hashlib.sha256()
    for fact in sorted(facts):
        sha.update(fact + b"\0\0")
    return sha.hexdigest()


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a file with this status."""
    return f"{status.st_ino}.{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}"


def _tree_facts(folder: Path) -> Iterator[bytes]:
    """Yield a line for each entry, unordered; unreadable ones are included, those that vanish meanwhile are not."""
    waiting = [(folder, b"")]
    while waiting:
        current, above = waiting.pop()
        try:
            for entry in entries(current):
                fact = above + os.fsencode(entry.name)
                if entry.name == ".git":
                    yield fact
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    waiting.append((current / entry.name, fact + b"/"))
                    yield fact + b"/"
                else:
                    yield fact + b"\0" + stamp_of(status).encode()
        except FileNotFoundError:
            continue
        except OSError as error:
            yield above + b"\0" + str(error.errno).encode()


def _read_bytes(path: Path, name: str) -> tuple[bytes, Stamp]:
    """Return the whole file and the stamp that belongs to exactly these bytes."""
    data, stamp = b"", MISSING
    for _ in range(MAX_ATTEMPTS):
        with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
            before = os.fstat(file.fileno())
            _check_status(before, name)
            data = file.read(before.st_size + 1)
            stamp = stamp_of(before)
            if len(data) == before.st_size and stamp == stamp_of(os.fstat(file.fileno())):
                return data, stamp
    return data, stamp


def check_kind(status: os.stat_result) -> os.stat_result:
    """Return the status if it is a regular file's. Raises OSError that `unreadable` explains."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.ENXIO, "not a regular file")
    return status


def _check_status(status: os.stat_result, name: str) -> None:
    check_kind(status)
    if status.st_size > MAX_DOCUMENT_BYTES:
        raise _too_large(name, status.st_size)


def not_text(name: str, n_bytes: int, mime_type: str | None) -> NotTextError:
    """Return the error for a file that is not text. `mime_type` is that of an image that models accept, or None."""
    is_image = " It is an image: read_file shows it to you, if you can see images." if mime_type else ""
    return NotTextError(
        f"{name} is not text ({n_bytes:,} bytes, binary). It can be copied, moved or deleted, "
        f"but not read or edited as text.{is_image}",
        mime_type=mime_type,
    )


def _too_large(name: str, n_bytes: int) -> FileTooLargeError:
    return FileTooLargeError(
        f"{name} is too large: {n_bytes / 1e6:,.1f} MB. Only files up to {MAX_DOCUMENT_BYTES // 1_000_000} MB can "
        "be edited or read whole. read_file reads larger ones in parts, and grep_search finds lines in them; to change "
        "one, use shell with a program such as sed."
    )


def unreadable(path: Path, name: str, error: OSError) -> ToolError:
    """Return the error for the model. Blocking."""
    match error:
        case FileNotFoundError():
            return ToolError(f"There is no file {name}.{_nearest(path)}")
        case IsADirectoryError():
            return ToolError(f"{name} is a folder, not a file. Use list_files to see what is in it.")
        case NotADirectoryError():
            return ToolError(f"There is no file {name}: a parent in its path is a file, not a folder.")
        case PermissionError():
            return ToolError(f"{name} cannot be read: permission denied.")
        case OSError(errno=errno.ENXIO):  # a socket cannot be opened at all
            return ToolError(f"{name} is not a regular file but a device, a socket or a named pipe.")
        case _:
            return ToolError(f"{name} cannot be read: {limit_reached(error) or f'{error.strerror}.'}")


def _nearest(path: Path) -> str:
    """Return a sentence that names the nearest existing file, or empty text."""
    try:
        names = [entry.name for entry in islice(entries(path.parent), MAX_NAMES)]
    except OSError:
        return " Its folder does not exist either."
    lowered = {name.lower(): name for name in names}
    for match in difflib.get_close_matches(path.name.lower(), lowered, n=1):
        return f" Did you mean {printable(lowered[match])}, in the same folder?"
    return " Use list_files or find_files to see what exists."
