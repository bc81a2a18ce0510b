"""Front matter of Markdown files: a table in YAML between two lines `---`, before the text."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pygent_ls.data_files import read_yaml
from pygent_ls.file_access import read_file

MAX_HEAD_BYTES = 10_000
"""Maximum size of the front matter, which a YAML parser reads."""


class BrokenFileError(Exception):
    """The file cannot be used; the text says why."""


_HINT = re.compile(r"^(argument-hint:[ \t]*)(\[.*\S)[ \t]*$", re.MULTILINE)
"""Hints are often written as `[file] [line]`, which is not valid YAML."""

_HEAD = re.compile(r"---[ \t]*\n(?P<head>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the front matter and the text after it. Raises `BrokenFileError`."""
    found = _HEAD.match(text)
    if found is None:
        if re.match(r"---[ \t]*\n", text):
            raise BrokenFileError("its front matter does not end: the second line `---` is missing")
        return {}, text.strip()
    head = found["head"]
    if len(head.encode()) > MAX_HEAD_BYTES:
        raise BrokenFileError(f"its front matter is longer than {MAX_HEAD_BYTES:,} bytes")
    try:
        documents = read_yaml(_HINT.sub(lambda found: found[1] + json.dumps(found[2]), head))
    except (ValueError, RecursionError):
        raise BrokenFileError("its front matter is not YAML") from None
    if len(documents) > 1:
        raise BrokenFileError("its front matter is not YAML")
    given: object = documents[0] if documents else None
    if given is None:
        return {}, text[found.end() :].strip()
    if not isinstance(given, Mapping):
        raise BrokenFileError("its front matter is not a table of `key: value`")
    return cast("Mapping[str, Any]", given), text[found.end() :].strip()


def line_of(head: Mapping[str, Any], key: str) -> str:
    """Return the value as one line; empty if the key is missing. Raises `BrokenFileError`."""
    value = head.get(key)
    if value is not None and not isinstance(value, str | int | float):
        raise BrokenFileError(f"`{key}` in its front matter is not a string")
    return "" if value is None else " ".join(str(value).split())


def text_of(path: Path, root: Path | None, max_bytes: int) -> str:
    """Return the text of a file with `\\n` as line ends. Blocking. Raises `BrokenFileError`.

    Below `root`, the file must not be a link or lie behind one; None follows links.
    """
    try:
        resolved = path.resolve() if root is None else root.resolve() / path.relative_to(root)
        content, _ = read_file(resolved, max_bytes)
    except OSError as error:
        match error.errno:
            case errno.ELOOP:
                why = "it is a link or lies behind one, which is not allowed in a workspace"
            case errno.EINVAL:
                why = "it is not a file"
            case errno.EFBIG:
                why = f"it is longer than {max_bytes:,} bytes"
            case _:
                why = f"it cannot be read: {error.strerror}"
        raise BrokenFileError(why) from None
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise BrokenFileError("it is not UTF-8") from None
