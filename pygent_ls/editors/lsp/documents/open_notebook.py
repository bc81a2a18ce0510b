"""A notebook that the editor shows as cells, as LSP's notebook synchronisation reports it, and as the text of its file.

LSP reports the cells' sources, kinds and metadata. Everything else, such as outputs, comes from the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from msgspec import Struct

from pygent_ls.agent.edits.differences import Block, differing_blocks
from pygent_ls.editors.lsp.documents.minimal_edits import minimal_edits
from pygent_ls.editors.lsp.documents.positions import PositionEncoding, apply_change
from pygent_ls.editors.lsp.documents.text_edits import text_edits
from pygent_ls.editors.lsp.standard import (
    NotebookCell,
    NotebookCellKind,
    NotebookDocument,
    NotebookDocumentCellChangeStructure,
    NotebookDocumentChangeEvent,
    TextDocumentContentChangeEvent,
    TextDocumentItem,
)
from pygent_ls.errors import RefusedEditError, ToolError
from pygent_ls.tools.notebooks.notebook_text import Cell, CellType, Notebook

EMPTY = '{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n'
"""Text of a notebook whose file is empty."""


class OpenCell(Struct):
    """Cell in the editor. Its document has a URI and a version of its own."""

    uri: str
    version: int
    kind: CellType
    text: str
    """Source, with the editor's line ends."""
    told_id: str = ""
    """Id that the editor reported, if any."""
    value: Mapping[str, Any] | None = None
    """The cell in the file that it comes from; its source may differ. None only while cells are compared."""

    @property
    def source(self) -> str:
        """Source, with `\\n` line ends."""
        return self.text.replace("\r\n", "\n")

    @property
    def id(self) -> str:
        """Id, whether the editor reports it or only the file has it."""
        return self.told_id or str((self.value or {}).get("id", ""))


class OpenNotebook:
    """Cells of a notebook in the editor, and the text of the file with these cells."""

    def __init__(self, notebook: NotebookDocument, documents: Sequence[TextDocumentItem], on_disk: str) -> None:
        """`on_disk` is the text of the file. Raises `ToolError` if that is not a notebook of format 4."""
        self._uri = notebook.uri
        items = {item.uri: item for item in documents}
        self.cells = [_opened(cell, items[cell.document]) for cell in notebook.cells]
        self._on_disk = on_disk
        self._base = self._disk = Notebook(on_disk if on_disk.strip() else EMPTY)
        self._planned: Notebook | None = None
        self._values: dict[str, Mapping[str, Any]] = {}
        """Cells by id, those that were taken out included: an undo brings them back."""
        self._take(self._base)

    @property
    def text(self) -> str:
        """Text of the file with the cells as they are in the editor."""
        if self._is_same(self._base):
            return self._base.text
        return self._base.with_cells([(self._value_of(cell), cell.source) for cell in self.cells])

    def change(self, change: NotebookDocumentChangeEvent, encoding: PositionEncoding) -> None:
        """Handle `notebookDocument/didChange`. Raises `LookupError` if it does not match the cells."""
        cells = change.cells
        if cells is None:
            return
        if cells.structure is not None:
            self._splice(cells.structure)
        by_uri = {cell.uri: cell for cell in self.cells}
        for data in cells.data or ():
            cell = by_uri[data.document]
            cell.told_id = _id_of(data) or cell.told_id
            cell.kind = _kind_of(data.kind, "raw" if cell.kind == "raw" else "")
        for content in cells.text_content or ():
            cell = by_uri[content.document.uri]
            cell.version = content.document.version
            for each in content.changes:
                cell.text = _changed(cell.text, each, encoding)
        for known in (self._planned, self._disk):
            if known is not None and self._is_same(known):
                self._take(known)
                return
        for cell in self.cells:
            cell.value = self._value_of(cell)

    def look_at_disk(self, text: str, *, is_saved: bool = False) -> bool:
        """Take over what else is in the file, if it has the same cells or was saved by the editor; returns whether.
        A text that is known already, or not a notebook, is ignored."""
        if text == self._on_disk and not is_saved:
            return False
        self._on_disk = text
        try:
            self._disk = Notebook(text)
        except ToolError:
            return False
        if not is_saved and not self._is_same(self._disk):
            return False
        self._planned = None
        self._take(self._disk)
        return True

    def document_changes(self, text: str, encoding: PositionEncoding) -> list[dict[str, Any]]:
        """Return the changes of a workspace edit after which the file would have this text: a `NotebookEdit`, and edits
        of cells.

        Raises `RefusedEditError` if the text is not a notebook, or changes more than the list of cells, their
        types and sources.
        """
        try:
            target = Notebook(text)
        except ToolError as error:
            raise self._refusal(str(error)) from None
        if _apart_from(target.value, "cells") != _apart_from(self._base.value, "cells"):
            raise self._refusal("it changes more than cells")
        pairs = _pairs([_key(cell) for cell in self.cells], [_key(cell) for cell in target.cells])
        splices: list[dict[str, Any]] = []
        done = (0, 0)
        for old, new in (*pairs, (len(self.cells), len(target.cells))):
            if (old, new) != done:
                values = [cell.value for cell in target.cells[done[1] : new]]
                splices.append({"start": done[0], "deleteCount": old - done[0], "cells": values})
            done = (old + 1, new + 1)
        versions = [{"uri": cell.uri, "version": cell.version} for cell in self.cells]
        changes: list[dict[str, Any]] = [{"kind": "notebook", "uri": self._uri, "cells": versions, "splices": splices}]
        for old, new in pairs:
            cell, wanted = self.cells[old], target.cells[new]
            if _apart_from(wanted.value, "source") != _apart_from(self._value_of(cell), "source"):
                raise self._refusal(f"it changes outputs or metadata of cell {old + 1}")
            if wanted.source != cell.source:
                source = wanted.source.replace("\n", "\r\n") if "\r\n" in cell.text else wanted.source
                edits = text_edits(cell.text, minimal_edits(cell.text, source), encoding)
                changes.append({"textDocument": versions[old], "edits": edits})
        self._planned = target
        return changes

    def _refusal(self, reason: str) -> RefusedEditError:
        name = unquote(self._uri.rpartition("/")[2])
        return RefusedEditError(
            f"{name} is open as a notebook in the editor, which can edit sources, types and the list of cells, but not "
            f"this: {reason}. Nothing was written. Ask the user to close the notebook first."
        )

    def _splice(self, structure: NotebookDocumentCellChangeStructure) -> None:
        array = structure.array
        if array.start + array.delete_count > len(self.cells):
            raise LookupError(array.start)
        known = {cell.uri: cell for cell in self.cells}
        items = {item.uri: item for item in structure.did_open or ()}
        made = [
            _opened(cell, items[cell.document])
            if cell.document in items
            else _moved(known[cell.document], cell)  # only moved, so its document stays open
            for cell in array.cells or ()
        ]
        self.cells[array.start : array.start + array.delete_count] = made

    def _is_same(self, notebook: Notebook) -> bool:
        """Whether a notebook has the same cells, apart from outputs and metadata."""
        return len(self.cells) == len(notebook.cells) and all(
            cell.kind == other.kind
            and cell.source == other.source
            and (not cell.told_id or not other.id or cell.told_id == other.id)
            for cell, other in zip(self.cells, notebook.cells, strict=True)
        )

    def _take(self, base: Notebook) -> None:
        """Compare the cells with those of this notebook from now on."""
        self._values |= {cell.id: cell.value for cell in base.cells if cell.id}
        self._base = base
        for cell in self.cells:
            cell.value = None
        if self._is_same(base):
            pairs = [(place, place) for place in range(len(self.cells))]
        else:
            pairs = _pairs([_key(cell) for cell in base.cells], [_key(cell) for cell in self.cells])
        for old, new in pairs:
            self.cells[new].value = base.cells[old].value
        for cell in self.cells:
            cell.value = self._value_of(cell)

    def _value_of(self, cell: OpenCell) -> Mapping[str, Any]:
        """Return the cell in the file that a cell comes from, or a new one."""
        known = cell.value or self._values.get(cell.told_id)
        if known is None or known.get("cell_type", "raw") != cell.kind:
            known = self._base.new_cell(cell.kind, "")
        if cell.told_id and known.get("id") != cell.told_id:
            known = {**known, "id": cell.told_id}
        return known


class _Key(NamedTuple):
    id: str
    kind: str
    source: str


def _key(cell: OpenCell | Cell) -> _Key:
    return _Key(cell.id, cell.kind, cell.source)


def _pairs(old: Sequence[_Key], new: Sequence[_Key]) -> list[tuple[int, int]]:
    """Return which of the new cells are old ones, both in ascending order. Without ids, cells are compared by source,
    and a stretch of differing cells counts as changed if it has the same length and kinds."""
    have_ids = all(key.id for key in (*old, *new))
    names = [[f"{key.kind} {key.id if have_ids else key.source}" for key in keys] for keys in (old, new)]
    pairs: list[tuple[int, int]] = []
    done = (0, 0)
    for block in (*differing_blocks(*names), Block(len(old), len(old), len(new), len(new))):
        pairs += zip(range(done[0], block.old_start), range(done[1], block.new_start), strict=True)
        between = range(block.old_start, block.old_end), range(block.new_start, block.new_end)
        if not have_ids and len(between[0]) == len(between[1]):
            pairs += [(one, two) for one, two in zip(*between, strict=True) if old[one].kind == new[two].kind]
        done = (block.old_end, block.new_end)
    return pairs


def _opened(cell: NotebookCell, item: TextDocumentItem) -> OpenCell:
    kind = _kind_of(cell.kind, str(item.language_id))
    return OpenCell(uri=item.uri, version=item.version, kind=kind, text=item.text, told_id=_id_of(cell))


def _moved(known: OpenCell, cell: NotebookCell) -> OpenCell:
    known.told_id = _id_of(cell) or known.told_id
    return known


def _kind_of(kind: int, language: str) -> CellType:
    if kind == NotebookCellKind.MARKUP:
        return "markdown"
    return "raw" if language == "raw" else "code"


def _id_of(cell: NotebookCell) -> str:
    metadata: Any = cell.metadata
    found = cast("Mapping[str, Any]", metadata).get("id") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, str) else ""


def _changed(text: str, change: TextDocumentContentChangeEvent, encoding: PositionEncoding) -> str:
    if change.range is None:
        return change.text
    return apply_change(text, change.range.start, change.range.end, change.text, encoding)


def _apart_from(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != name}
