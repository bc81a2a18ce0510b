"""Headers of the files in a diff."""

from __future__ import annotations

import re
from collections import deque

_FIRST_NAME = r"^(?:---|\*\*\*) (?!\d+(?:,\d+)? [*-]{4})([^\t\r\n]+)(?:\t[^\n]*)?\r?\n"

PATCH_HEADER = re.compile(
    _FIRST_NAME + r"(?:\+\+\+|---) (?!\d+(?:,\d+)? -{4})([^\t\r\n]+)(?:\t[^\n]*)?\r?\n", re.MULTILINE
)
"""The two lines with file names at the top of each file in a unified, combined or context diff."""

NEXT_PATCH = re.compile(rf"^diff |{PATCH_HEADER.pattern}", re.MULTILINE)

_HALF_A_HEADER = re.compile(_FIRST_NAME + r"\Z", re.MULTILINE)


def open_header(text: str) -> str:
    """Return the header of the file whose lines continue after the text; empty if no file's lines do."""
    last = next(iter(deque(PATCH_HEADER.finditer(text), maxlen=1)), None)
    half = _HALF_A_HEADER.search(text, max(text.rfind("\n", 0, max(len(text) - 1, 0)), 0))
    goes_on = last is not None and not NEXT_PATCH.search(text, last.end())
    return (last[0] if last and goes_on else "") + (half[0] if half else "")
