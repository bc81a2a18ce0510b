"""Chat documents on the disk: where they are, and how they are read and written at resolved paths. Blocking."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from pygent_ls.editors.lsp.chat.document import NEW_DOCUMENT, SUFFIX
from pygent_ls.file_access import is_there, make_folders, read_file
from pygent_ls.workspace.writing import replace_file, write_error

MAX_BYTES = 20_000_000
"""Of a document that is read: twice what tools read."""

_MARK = "\ufeff"


class ChatFileError(Exception):
    """A document cannot be read or written; the message says why."""


def chat_path(state_folder: Path, workspace: Path | None) -> Path:
    """Where the chat document of a workspace is kept."""
    name = workspace.name if workspace and workspace.name else "pygent"
    tag = hashlib.sha256(str(workspace).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return (state_folder / "chats" / f"{name}-{tag}{SUFFIX}").absolute()


def make_chat(path: Path) -> None:
    """A new document with its first heading, where there is none. Raises `ChatFileError`."""
    try:
        if is_there(path):
            return
        make_folders(path.parent, 0o700)
    except OSError as error:
        raise ChatFileError(str(error)) from None
    write_chat(path, NEW_DOCUMENT)


def read_chat(path: Path) -> str:
    """The text; empty where there is no file. Raises `ChatFileError`."""
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
    """Let the file hold `after`, if it still holds `before`; returns whether it did. Raises `ChatFileError`."""
    if read_chat(path) != before:
        return False
    write_chat(path, after)
    return True


def write_chat(path: Path, text: str) -> None:
    """Let the file hold this. Raises `ChatFileError`, and then it holds what it held."""
    try:
        has_mark = is_there(path) and read_file(path)[0].startswith(_MARK.encode())
        data = text.encode("utf-8", "replace")  # half of a surrogate pair may stand in a buffer
        replace_file(path, _MARK.encode() + data if has_mark else data)
    except OSError as error:
        raise ChatFileError(str(write_error(path.name, error))) from None
