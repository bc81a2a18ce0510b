"""Reads parts of text files that are too large to be read whole, in one pass and in bounded memory."""

from __future__ import annotations

import asyncio
import codecs
import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pygent_ls.agent.context.images import mime_type_of
from pygent_ls.agent.ports.workspace import LargeFilePart, PartWanted
from pygent_ls.errors import ToolError
from pygent_ls.file_access import open_file
from pygent_ls.workspace.files.document_text import BYTE_ORDER_MARKS
from pygent_ls.workspace.files.reader import check_kind, not_text, stamp_of, unreadable

PIECE_CHARS = 262_144
"""Number of characters that are decoded at a time."""

MAX_SURROUNDING_CHARS = 65_536
"""Maximum number of characters kept before and after a part: more than any private key has (`secrets/stream.py`)."""

MAX_SCAN_S = 20.0
"""Maximum duration of a pass: some 10 GB. It is shorter than a tool's time limit."""

N_SAMPLE_BYTES = 1_000_000
"""Number of bytes that decide on the encoding, and on whether a file is text."""


async def read_part(path: Path, name: str, wanted: PartWanted) -> LargeFilePart:
    """Return a part of a text file of any size. `name` is its name in errors.

    Raises `ToolError`: not readable, not text, no such line or column, or not reached in time.
    """
    try:
        return await asyncio.to_thread(_read_part, path, name, wanted)
    except OSError as error:
        raise await asyncio.to_thread(unreadable, path, name, error) from None


def _read_part(path: Path, name: str, wanted: PartWanted) -> LargeFilePart:
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        status = check_kind(os.fstat(file.fileno()))
        found = scan(file, name, status.st_size, wanted)
    return LargeFilePart(
        path=path,
        stamp=stamp_of(status),
        n_bytes=status.st_size,
        before=found.before,
        lines=tuple(found.lines),
        lengths=tuple(found.lengths),
        after=found.after,
        n_lines=found.n_lines,
        counted_all=found.counted_all,
    )


def scan(file: BinaryIO, name: str, n_bytes: int, wanted: PartWanted, piece_chars: int = PIECE_CHARS) -> Scan:
    """Return a finished scan of a file. Blocking. Raises `ToolError` as `read_part` does."""
    sample = file.read(N_SAMPLE_BYTES)
    encoding, bom = _encoding_of(sample, name, n_bytes)
    file.seek(len(bom))
    errors = "backslashreplace" if encoding.startswith("utf") else "replace"
    text = io.TextIOWrapper(file, encoding=encoding, errors=errors, newline=None)
    try:
        found = Scan(text, wanted, name, piece_chars)
        found.run()
        return found
    finally:
        text.detach()  # the file is its opener's


def _encoding_of(sample: bytes, name: str, n_bytes: int) -> tuple[str, bytes]:
    """Return the encoding and the byte order mark. Raises `NotTextError`."""
    for bom, encoding in BYTE_ORDER_MARKS:
        if sample.startswith(bom):
            return encoding, bom
    if b"\0" in sample:
        raise not_text(name, n_bytes, mime_type_of(sample))
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return "cp1252", b""
    return "utf-8", b""


class Scan:
    """One pass over a text: finds the part, collects it, and counts the lines of the rest."""

    def __init__(self, text: io.TextIOWrapper, wanted: PartWanted, name: str, piece_chars: int) -> None:
        self._pieces = self._timed_pieces(text, piece_chars)
        self._wanted = wanted
        self._name = name
        self._rest = ""
        """Text that was decoded but not used yet."""
        self._line = 1
        """Number of the line in which the rest begins."""
        self._ends_line = True
        """Whether the text so far ends with the end of a line, or is empty."""
        self._until_s = time.monotonic() + MAX_SCAN_S
        self._room = wanted.max_chars
        self.before = ""
        self.after = ""
        self.lines: list[str] = []
        self.lengths: list[int] = []
        self.counted_all = False

    @property
    def n_lines(self) -> int:
        """Number of lines so far."""
        return self._line - self._ends_line

    def run(self) -> None:
        """Find and collect the part."""
        self._skip_lines()
        self._skip_columns()
        self._collect()
        if len(self._rest) < MAX_SURROUNDING_CHARS:
            self._next()
        self.after = self._rest[:MAX_SURROUNDING_CHARS]
        self._count()

    def _timed_pieces(self, text: io.TextIOWrapper, piece_chars: int) -> Iterator[str]:
        while time.monotonic() < self._until_s:
            piece = text.read(piece_chars)
            if not piece:
                self.counted_all = True
                return
            yield piece.replace("\0", "\u2400")

    def _next(self) -> bool:
        """Add the next piece to the rest; return whether there is one."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._rest += piece
        return True

    def _pass(self, n_chars: int) -> str:
        """Take characters from the rest, and keep them as what comes before the part."""
        passed, self._rest = self._rest[:n_chars], self._rest[n_chars:]
        self.before = (self.before + passed[-MAX_SURROUNDING_CHARS:])[-MAX_SURROUNDING_CHARS:]
        if passed:
            self._ends_line = passed.endswith("\n")
            self._line += passed.count("\n")
        return passed

    def _skip_lines(self) -> None:
        """Go to the beginning of the wanted line."""
        while self._line < self._wanted.line:
            n_left = self._wanted.line - self._line
            if self._rest.count("\n") < n_left:
                self._pass(len(self._rest))
                if not self._next():
                    self._must_exist()
                continue
            at = 0
            for _ in range(n_left):
                at = self._rest.index("\n", at) + 1
            self._pass(at)
        if not self._rest and not self._next():
            self._must_exist()

    def _must_exist(self) -> None:
        if not self.counted_all:
            raise ToolError(
                f"Line {self._wanted.line:,} of {self._name} was not reached within {MAX_SCAN_S:g} s: the lines before "
                "it are too much text. Use grep_search to find lines, or shell with tail or sed -n."
            )
        if self._wanted.line > self.n_lines:
            lines = "line" if self.n_lines == 1 else "lines"
            raise ToolError(
                f"{self._name} has {self.n_lines:,} {lines}, so start_line {self._wanted.line:,} does not exist."
            )

    def _skip_columns(self) -> None:
        """Go to the wanted character of the line."""
        n_left = self._wanted.column - 1
        while n_left > 0:
            if not self._rest and not self._next():
                break
            end = self._rest.find("\n")
            passed = self._pass(min(n_left, len(self._rest) if end < 0 else end))
            n_left -= len(passed)
            if n_left and self._rest.startswith("\n"):
                break
        if n_left > 0:
            if not self.counted_all and not self._rest:
                raise ToolError(f"Column {self._wanted.column:,} was not reached within {MAX_SCAN_S:g} s.")
            n_chars = self._wanted.column - 1 - n_left
            raise ToolError(
                f"Line {self._wanted.line:,} of {self._name} has {n_chars:,} characters, so start_column "
                f"{self._wanted.column:,} does not exist."
            )

    def _collect(self) -> None:
        """Collect lines while they fit. Of a long one only the beginning is kept."""
        while len(self.lines) < self._wanted.max_lines and self._room > 0:
            if not self._rest and not self._next():
                return
            self._collect_line()
            self._room -= min(self.lengths[-1], self._wanted.max_line_chars) + self._wanted.line_cost

    def _collect_line(self) -> None:
        kept, n_chars = "", 0
        room = self._wanted.max_line_chars + MAX_SURROUNDING_CHARS
        while True:
            end = self._rest.find("\n")
            piece = self._rest if end < 0 else self._rest[:end]
            kept += piece[: room - len(kept)]
            n_chars += len(piece)
            self._rest = self._rest[len(piece) + (end >= 0) :]
            if piece or end >= 0:
                self._ends_line = end >= 0
            if end >= 0:
                self._line += 1
                break
            if not self._next():
                break
        self.lines.append(kept)
        self.lengths.append(n_chars)

    def _count(self) -> None:
        while self._rest:
            self._line += self._rest.count("\n")
            self._ends_line = self._rest.endswith("\n")
            self._rest = ""
            self._next()
