"""Notes about a workspace: a Markdown file in the state folder, which the user and, with permission, the model change.

A note is a list item on one line, `- text`. All other text of the file is the user's and is kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.ports.workspace import Document
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.reader import read_document
from pygent_ls.workspace.files.writer import alone_in, write_atomically

MAX_NOTE_CHARS = 500
"""Maximum length of one note: a few sentences."""

MAX_FILE_CHARS = 100_000
"""Maximum length of the file when the model adds a note."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

_NOTE = re.compile(r"[-*+][ \t](?P<text>.*)")


class NotesFile(Struct, frozen=True, kw_only=True):
    """The notes about one workspace folder."""

    path: Path
    open_document: Callable[[Path], Document | None]
    """Returns the buffer that the editor has open for a path."""

    async def read(self) -> str:
        """Implement `Notes`. The text of an open buffer counts."""
        document = self.open_document(self.path)
        return document.text if document is not None else await self._on_disk()

    async def change(self, note: str, replaces: str) -> None:
        """Implement `Notes`. Raises `ToolError` while a buffer with unsaved text is open, which would overwrite it."""
        document = self.open_document(self.path)
        if document is not None and document.text != await self._on_disk():
            raise ToolError("The user is editing the notes. Ask them to save the file, then try again.")
        await asyncio.to_thread(self._change, note, replaces)

    def _change(self, note: str, replaces: str) -> None:
        with alone_in(self.path.parent):
            before = self._bytes()
            try:
                text = before.decode("utf-8")
            except UnicodeDecodeError as error:
                raise ToolError(f"The notes in {self.path} cannot be read: {error}") from None
            new = changed(text, note, replaces).encode()
            if self._bytes() != before:  # an editor that saves the file takes no lock
                raise ToolError("The notes were changed meanwhile. Read them with /memory, then try again.")
            write_atomically(self.path, new, 0o600)

    def _bytes(self) -> bytes:
        """Return what the file holds; nothing if there is no file. Raises `ToolError`."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise ToolError(f"The notes in {self.path} cannot be read: {error.strerror}.") from None

    async def _on_disk(self) -> str:
        if not await asyncio.to_thread(self.path.exists):
            return ""
        return (await read_document(self.path, str(self.path))).text


def notes_file(
    state_folder: Path, workspace: Path, open_document: Callable[[Path], Document | None] = lambda _: None
) -> NotesFile:
    """Return the notes about a workspace folder."""
    digest = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
    name = re.sub(r"[^\w.-]", "_", workspace.name)[:60]
    return NotesFile(path=state_folder / "memory" / f"{name}-{digest}.md", open_document=open_document)


def changed(text: str, note: str, replaces: str) -> str:
    """Return the text with the note added at its end, or in the place of the note `replaces`, which an empty note
    removes. Raises `ToolError`."""
    note, replaces = " ".join(note.split()), " ".join(replaces.split())
    if not note.isprintable():
        raise ToolError("A note must be plain text, without control characters.")
    if len(note) > MAX_NOTE_CHARS:
        raise ToolError(f"A note has at most {MAX_NOTE_CHARS} characters; this one has {len(note)}. Shorten it.")
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)  # `splitlines` would split the user's text at other characters
    known = _notes_in(lines)
    if note and note in known:
        raise ToolError("This note exists already.")
    if note and len(text) - len(replaces) > MAX_FILE_CHARS:
        raise ToolError(f"The notes have more than {MAX_FILE_CHARS:,} characters. Remove some first.")
    if not replaces:
        if not note:
            raise ToolError("Give a note to add, or the text of one to remove in `replaces`.")
        return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}- {note}\n"
    if replaces not in known:
        listed = "\n".join(f"- {each}" for each in known if each) or "There are no notes."
        raise ToolError(f"No note reads {replaces!r}. The notes are:\n{listed}")
    at = known.index(replaces)
    ending = lines[at][len(lines[at].rstrip("\r\n")) :]
    lines[at : at + 1] = [f"- {note}{ending}"] if note else []
    return "".join(lines)


def within(text: str, max_chars: int) -> str:
    """Return the text without its oldest lines if it is longer; a line then says how many were left out."""
    lines = text.strip().splitlines()
    n_left_out, n_chars = 0, sum(len(each) + 1 for each in lines)
    while lines and n_chars > max_chars:
        n_chars -= len(lines.pop(0)) + 1
        n_left_out += 1
    return "\n".join([f"[{n_left_out} older lines are left out]", *lines] if n_left_out else lines)


def _notes_in(lines: Sequence[str]) -> list[str]:
    """Return the note of each line, or an empty text. Lines in a fence are not notes, unless it is never closed."""
    found = [_note_in(line) for line in lines]
    fence, begins = "", 0
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark is None:
            continue
        if not fence:
            fence, begins = mark[1], at
        elif mark[1].startswith(fence) and not line[mark.end() :].strip():
            found[begins:at] = [""] * (at - begins)
            fence = ""
    return found


def _note_in(line: str) -> str:
    """Return the text of the note on this line; empty if the line is something else."""
    found = _NOTE.fullmatch(line.rstrip("\r\n"))
    return " ".join(found["text"].split()) if found else ""
