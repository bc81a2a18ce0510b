"""Notebooks of an editor that behaves: it reports cells as LSP has it, and carries out `NotebookEdit` or refuses it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.nbformat_api import nbformat

Tell = Callable[[str, dict[str, Any]], None]


@dataclass(slots=True)
class CellDocument:
    """A cell and its buffer; `value` is the cell as the editor has it, except for its source."""

    uri: str
    value: dict[str, Any]
    text: str
    version: int = 1

    @property
    def item(self) -> dict[str, Any]:
        """The text document."""
        language = {"markdown": "markdown", "raw": "raw"}.get(self.value["cell_type"], "python")
        return {"uri": self.uri, "languageId": language, "version": self.version, "text": self.text}

    @property
    def told(self) -> dict[str, Any]:
        """The cell as LSP has it."""
        kind = 1 if self.value["cell_type"] == "markdown" else 2
        metadata = {key: self.value[key] for key in ("id", "metadata", "execution_count") if key in self.value}
        return {"kind": kind, "document": self.uri, "metadata": metadata}


@dataclass(slots=True)
class OpenNotebookDocument:
    """A notebook in the editor."""

    path: Path
    value: dict[str, Any]
    cells: list[CellDocument]
    version: int = 1


class Notebooks:
    """What is open as notebooks, by URI."""

    def __init__(self, tell: Tell) -> None:
        self.opened: dict[str, OpenNotebookDocument] = {}
        self._tell = tell
        self._numbers = itertools.count()

    # What the user does

    def open(self, path: Path) -> str:
        """Open a file as a notebook; returns its URI."""
        uri, value = path.as_uri(), json.loads(path.read_text())
        notebook = OpenNotebookDocument(path, value, [self._cell(path, each) for each in value["cells"]])
        self.opened[uri] = notebook
        document = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": self._told(notebook)}
        items = [cell.item for cell in notebook.cells]
        self._tell("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": items})
        return uri

    def type_over(self, uri: str, number: int, text: str) -> None:
        """The cell of that index holds this text now, unsaved."""
        self.change(self.opened[uri].cells[number].uri, text, [{"text": text}])

    def splice(self, uri: str, start: int, n_deleted: int, cells: Sequence[Mapping[str, Any]]) -> None:
        """Replace cells by others, given as in a file."""
        notebook = self.opened[uri]
        made = [self._cell(notebook.path, each) for each in cells]
        gone = notebook.cells[start : start + n_deleted]
        notebook.cells[start : start + n_deleted] = made
        structure = {
            "array": {"start": start, "deleteCount": n_deleted, "cells": [cell.told for cell in made]},
            "didOpen": [cell.item for cell in made],
            "didClose": [{"uri": cell.uri} for cell in gone],
        }
        self._changed(uri, {"structure": structure})

    def save(self, uri: str) -> None:
        """Write the notebook to the disk, in the form of Jupyter."""
        self.opened[uri].path.write_text(self.text(uri))
        self._tell("notebookDocument/didSave", {"notebookDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        """Close the notebook."""
        cells = [{"uri": cell.uri} for cell in self.opened.pop(uri).cells]
        self._tell("notebookDocument/didClose", {"notebookDocument": {"uri": uri}, "cellTextDocuments": cells})

    def sources(self, uri: str) -> list[str]:
        """What the user sees in the cells."""
        return [cell.text for cell in self.opened[uri].cells]

    def text(self, uri: str) -> str:
        """The file as it would be saved."""
        notebook = self.opened[uri]
        cells = [{**cell.value, "source": cell.text} for cell in notebook.cells]
        value = nbformat.from_dict({**notebook.value, "cells": cells})
        nbformat.validate(value)
        return nbformat.writes(value) + "\n"

    # What the daemon asks for

    def cell_of(self, uri: str) -> CellDocument | None:
        """The cell whose document has this URI."""
        return next((cell for each in self.opened.values() for cell in each.cells if cell.uri == uri), None)

    def objection(self, edit: Mapping[str, Any]) -> str:
        """Why a `NotebookEdit` does not fit; empty if it does."""
        notebook = self.opened.get(edit["uri"])
        if notebook is None:
            return "it is not open as a notebook"
        now = [{"uri": cell.uri, "version": cell.version} for cell in notebook.cells]
        return "" if now == edit["cells"] else "the cells have changed since"

    def carry_out(self, edit: Mapping[str, Any]) -> None:
        """Replace the cells; places are those before the edit."""
        for each in reversed(edit["splices"]):
            self.splice(edit["uri"], each["start"], each["deleteCount"], each["cells"])

    def change(self, cell_uri: str, text: str, changes: Sequence[Mapping[str, Any]]) -> None:
        """The buffer of a cell holds this text now."""
        [uri] = [uri for uri, each in self.opened.items() if any(cell.uri == cell_uri for cell in each.cells)]
        cell = self.cell_of(cell_uri)
        assert cell is not None
        cell.text = text
        cell.version += 1
        document = {"uri": cell.uri, "version": cell.version}
        self._changed(uri, {"textContent": [{"document": document, "changes": list(changes)}]})

    def _cell(self, path: Path, value: Mapping[str, Any]) -> CellDocument:
        source = value["source"] if isinstance(value["source"], str) else "".join(value["source"])
        return CellDocument(f"vscode-notebook-cell:{path}#W{next(self._numbers)}", dict(value), source)

    def _changed(self, uri: str, cells: Mapping[str, Any]) -> None:
        notebook = self.opened[uri]
        notebook.version += 1
        document = {"uri": uri, "version": notebook.version}
        self._tell("notebookDocument/didChange", {"notebookDocument": document, "change": {"cells": cells}})

    def _told(self, notebook: OpenNotebookDocument) -> list[dict[str, Any]]:
        return [cell.told for cell in notebook.cells]
