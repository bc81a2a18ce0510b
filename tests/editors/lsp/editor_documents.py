"""The documents of an editor that behaves: it tells of each change, and carries out workspace edits or refuses them.

Positions are counted here one character at a time, apart from the daemon's own way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from pygent_ls.workspace.files.document_text import digest
from tests.editors.lsp.editor_notebooks import CellDocument, Notebooks

Tell = Callable[[str, dict[str, Any]], None]
"""Sends a notification to the daemon."""


@dataclass(slots=True)
class OpenDocument:
    """A buffer: the text that the user sees."""

    text: str
    version: int
    saved: str | None = None
    """Text that the buffer last loaded or saved; None for one that was opened with a text of its own."""


class Documents:
    """What is open in the editor, by URI. `closed_files` says where edits of files that are not open go."""

    def __init__(self, tell: Tell, encoding: str, closed_files: Literal["disk", "buffer"] = "disk") -> None:
        self.encoding = encoding
        self.closed_files = closed_files
        self.drops_edits = False
        """Whether the editor drops edits but reports them as applied: some editors do so with a stale version."""
        self.open_documents: dict[str, OpenDocument] = {}
        self.notebooks = Notebooks(tell)
        self._tell = tell

    # What the user does

    def open(self, path: Path, *, text: str | None = None, uri: str | None = None, version: int = 1) -> str:
        """Open a file, or a new one with this text; returns its URI."""
        uri = uri or path.as_uri()
        held = OpenDocument(path.read_bytes().decode() if text is None else text, version)
        held.saved = held.text if text is None else None
        self.open_documents[uri] = held
        item = {"uri": uri, "languageId": "python", "version": version, "text": held.text}
        self._tell("textDocument/didOpen", {"textDocument": item})
        return uri

    def type_over(self, uri: str, text: str) -> None:
        """The buffer holds this now, unsaved; told as the whole text."""
        self._change(uri, text, [{"text": text}])

    def insert(self, uri: str, before: str, typed: str) -> None:
        """Type something where `before` begins for the first time; told as an incremental change."""
        held = self.open_documents[uri]
        place = position_of(held.text, held.text.index(before), self.encoding)
        self.edit(uri, [{"range": {"start": place, "end": place}, "newText": typed}])

    def save(self, uri: str) -> None:
        """Write the buffer to the disk."""
        held = self.open_documents[uri]
        path_of(uri).write_bytes(held.text.encode())
        held.saved = held.text
        self._tell("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        """Drop the buffer."""
        del self.open_documents[uri]
        self._tell("textDocument/didClose", {"textDocument": {"uri": uri}})

    def text(self, uri: str) -> str:
        """What the user sees."""
        return self.open_documents[uri].text

    # What the daemon asks for

    def apply(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`workspace/applyEdit`, all of it or nothing: a stale version, or a file that is in the way, refuses it."""
        changes = [] if self.drops_edits else document_changes(params["edit"])
        for change in changes:
            if reason := self._objection(change):
                return {"applied": False, "failureReason": reason}
        for change in changes:
            self._carry_out(change)
        return {"applied": True}

    def edit(self, uri: str, edits: Sequence[Mapping[str, Any]]) -> None:
        """Text edits of an open document, told as one incremental change, the last place first."""
        told = [{"range": each["range"], "text": each["newText"]} for each in from_the_end(edits)]
        held = self._held(uri)
        assert held is not None
        change = self.notebooks.change if isinstance(held, CellDocument) else self._change
        change(uri, edited(held.text, edits, self.encoding), told)

    def _held(self, uri: str) -> OpenDocument | CellDocument | None:
        return self.open_documents.get(uri) or self.notebooks.cell_of(uri)

    def _objection(self, change: Mapping[str, Any]) -> str:
        if change.get("kind") in ("create", "rename"):
            return "the file exists" if path_of(change.get("newUri", change.get("uri"))).exists() else ""
        if change.get("kind") == "notebook":
            return self.notebooks.objection(change)
        document = change.get("textDocument")
        if document and "digest" in document and digest(self._text_now(document["uri"])) != document["digest"]:
            return "another program has changed it"
        held = self._held(document["uri"]) if document else None
        if document and held and document["version"] not in (None, held.version):
            return f"version {document['version']} is stale, the buffer is at {held.version}"
        return ""

    def _text_now(self, uri: str) -> str:
        held = self.open_documents.get(uri)
        return held.text if held else path_of(uri).read_bytes().decode()

    def _carry_out(self, change: Mapping[str, Any]) -> None:
        match change.get("kind"):
            case "create":
                path_of(change["uri"]).parent.mkdir(parents=True, exist_ok=True)
                path_of(change["uri"]).touch()
            case "notebook":
                self.notebooks.carry_out(change)
            case "rename":
                self._rename(change["oldUri"], change["newUri"])
            case "delete":
                path_of(change["uri"]).unlink()
                if change["uri"] in self.open_documents:
                    self.close(change["uri"])
            case _:
                self._edit_any(change["textDocument"]["uri"], change["edits"])

    def _rename(self, old: str, new: str) -> None:
        path_of(new).parent.mkdir(parents=True, exist_ok=True)
        path_of(old).rename(path_of(new))
        held = self.open_documents.get(old)
        if held is not None:
            self.close(old)
            uri = self.open(path_of(new), text=held.text)
            self.open_documents[uri].saved = held.saved

    def _edit_any(self, uri: str, edits: Sequence[Mapping[str, Any]]) -> None:
        if not self._held(uri) and self.closed_files == "buffer":
            self.open(path_of(uri), uri=uri)
        if self._held(uri):
            self.edit(uri, edits)
        else:
            path = path_of(uri)
            path.write_bytes(edited(path.read_bytes().decode(), edits, self.encoding).encode())

    def _change(self, uri: str, text: str, told: Sequence[Mapping[str, Any]]) -> None:
        held = self.open_documents[uri]
        held.text = text
        held.version += 1
        document = {"uri": uri, "version": held.version}
        self._tell("textDocument/didChange", {"textDocument": document, "contentChanges": list(told)})


def document_changes(edit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A workspace edit in its newer form, whichever it has."""
    if "documentChanges" in edit:
        return edit["documentChanges"]
    return [
        {"textDocument": {"uri": uri, "version": None}, "edits": edits}
        for uri, edits in edit.get("changes", {}).items()
    ]


def path_of(uri: str) -> Path:
    """The file of a URI."""
    return Path(unquote(urlsplit(uri).path))


def edited(text: str, edits: Sequence[Mapping[str, Any]], encoding: str) -> str:
    """The text after edits whose places are all places of the text as it is."""
    starts = _line_starts(text)
    parts: list[str] = []
    left = len(text)
    for each in from_the_end(edits):
        start, end = (_offset_of(text, starts, each["range"][side], encoding) for side in ("start", "end"))
        parts += text[end:left], each["newText"]
        left = start
    return text[:left] + "".join(reversed(parts))


def from_the_end(edits: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """So that each place is still right when its turn comes."""
    return sorted(edits, key=lambda each: _order(each["range"]), reverse=True)


def _order(where: Mapping[str, Mapping[str, int]]) -> tuple[int, int, int, int]:
    start, end = where["start"], where["end"]
    return start["line"], start["character"], end["line"], end["character"]


_BREAK = re.compile(r"\r\n|\n|\r")


def n_units(character: str, encoding: str) -> int:
    """How much of a position's `character` one character takes."""
    if encoding == "utf-8":
        return len(character.encode("utf-8", "surrogatepass"))
    if encoding == "utf-32":
        return 1
    return len(character.encode("utf-16-le", "surrogatepass")) // 2


def offset_of(text: str, position: Mapping[str, int], encoding: str) -> int:
    """Where a position is; beyond a line's end it is the end."""
    return _offset_of(text, _line_starts(text), position, encoding)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in _BREAK.finditer(text))]


def _offset_of(text: str, starts: Sequence[int], position: Mapping[str, int], encoding: str) -> int:
    if position["line"] >= len(starts):
        return len(text)
    left, offset = position["character"], starts[position["line"]]
    if text.isascii():
        end = starts[position["line"] + 1] if position["line"] + 1 < len(starts) else len(text)
        return min(offset + left, offset + len(text[offset:end].rstrip("\r\n")))
    while offset < len(text) and text[offset] not in "\r\n" and left >= n_units(text[offset], encoding):
        left -= n_units(text[offset], encoding)
        offset += 1
    return offset


def position_of(text: str, offset: int, encoding: str) -> dict[str, int]:
    """The position of an offset."""
    starts = [start for start in _line_starts(text) if start <= offset]
    return {"line": len(starts) - 1, "character": sum(n_units(each, encoding) for each in text[starts[-1] : offset])}
