"""Chat documents on disk: their paths, and reading and writing at resolved paths. Blocking."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from pygent_ls.editors.lsp.chat_document.document import NEW_DOCUMENT, SUFFIX
from pygent_ls.file_access import is_there, make_folders, read_file
from pygent_ls.workspace.files.writer import replace_file, write_error

MAX_BYTES = 20_000_000
"""Maximum size of a document that is read: twice the limit of the tools."""

_MARK = "\ufeff"


class ChatFileError(Exception):
    """Raised when a document cannot be read or written; the message says why."""


def chat_path(state_folder: Path, workspace: Path | None) -> Path:
    """Return the path of a workspace's chat document."""
    name = workspace.name if workspace and workspace.name else "pygent"
    tag = hashlib.sha256(str(workspace).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return (state_folder / "chats" / f"{name}-{tag}{SUFFIX}").absolute()


def make_chat(path: Path) -> None:
    """Create a document with its first heading if it is missing. Raises `ChatFileError`."""
    try:
        if is_there(path):
            return
        make_folders(path.parent, 0o700)
    except OSError as error:
        raise ChatFileError(str(error)) from None
    write_chat(path, NEW_DOCUMENT)


def read_chat(path: Path) -> str:
    """Return the text; empty if the file does not exist. Raises `ChatFileError`."""
    try:
        return read_file(path, MAX_BYTES)[0].decode("utf-8").removeprefix(_MARK)
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise ChatFileError("the file is not UTF-8 text") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise ChatFileError(f"the file is larger than {MAX_BYTES // 1_000_000} MB") from None
        raise ChatFileError(str(error)) from None


def replace_chat(path: Path, before: str, after: str) -> bool:
    """Write `after` if the file still holds `before`; returns whether it did. Raises `ChatFileError`."""
    if read_chat(path) != before:
        return False
    write_chat(path, after)
    return True


def write_chat(path: Path, text: str) -> None:
    """Write the file. Raises `ChatFileError` and leaves the file unchanged on failure."""
    try:
        has_mark = is_there(path) and read_file(path)[0].startswith(_MARK.encode())
        data = text.encode("utf-8", "replace")  # a buffer may contain half of a surrogate pair
        replace_file(path, _MARK.encode() + data if has_mark else data)
    except OSError as error:
        raise ChatFileError(str(write_error(path.name, error))) from None
