"""Text of a notebook with the places of its cells: edits change only what they are about, byte for byte."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, cast
from uuid import uuid4

from msgspec import Struct

from pygent_ls.errors import ToolError

CellType = Literal["code", "markdown", "raw"]

SUFFIX = ".ipynb"

MAX_DIGITS = 9
"""Maximum number of digits of a cell's number."""

_DECODER = json.JSONDecoder()

_SPACE = re.compile(r"[ \t\r\n]*")


class Cell(Struct, frozen=True, kw_only=True):
    """Cell of a notebook, with its place in the text."""

    number: int
    """Position, from 1."""
    value: Mapping[str, Any]
    start: int
    end: int
    source_span: tuple[int, int] | None
    """Place of the value of `source`."""

    @property
    def kind(self) -> str:
        """Type of the cell: code, markdown or raw."""
        return str(self.value.get("cell_type", "raw"))

    @property
    def id(self) -> str:
        """Id of the cell; empty before format 4.5."""
        return str(self.value.get("id", ""))

    @property
    def source(self) -> str:
        """Source, with `\\n` line ends."""
        return joined(self.value.get("source", ""))


class Notebook:
    """Parsed text of a notebook of format 4."""

    def __init__(self, text: str) -> None:
        """Raises `ToolError` if the text is not such a notebook."""
        self.text = text
        try:
            self.value = _value(text)
            self.cells_span, self.cells = _cells(text)
        except (ValueError, RecursionError) as error:
            raise ToolError(f"it is not a notebook that can be read: {error}") from None

    @property
    def minor(self) -> int:
        """Minor version of the format."""
        minor = self.value.get("nbformat_minor", 0)
        return minor if isinstance(minor, int) else 0

    def cell(self, wanted: str) -> Cell:
        """Return the cell of that id or number. Raises `ToolError`."""
        by_id = [cell for cell in self.cells if cell.id and cell.id == wanted]
        if len(by_id) > 1:
            numbers = " and ".join(str(cell.number) for cell in by_id)
            raise ToolError(f"The cells {numbers} have the id {wanted!r}. Name the cell by its number.")
        if by_id:
            return by_id[0]
        if wanted.isdecimal() and len(wanted) <= MAX_DIGITS and 1 <= int(wanted) <= len(self.cells):
            return self.cells[int(wanted) - 1]
        last = f"they have the numbers 1 to {len(self.cells)}" if self.cells else "it has no cells"
        raise ToolError(f"There is no cell {wanted!r} in the notebook; {last}, and the ids that read_file shows.")

    def with_source(self, cell: Cell, source: str) -> str:
        """Return the text with another source of a cell."""
        if cell.source_span is None:
            return self.with_cell(cell, {**cell.value, "source": lines_of(source)})
        return self.with_sources([(cell, source)])

    def with_sources(self, sources: Sequence[tuple[Cell, str]]) -> str:
        """Return the text with other sources of cells that have one, in their order."""
        pieces: list[str] = []
        done = 0
        for cell, source in sources:
            start, end = cell.source_span or (cell.end, cell.end)
            pieces += [self.text[done:start], self._source_text(cell, source)]
            done = end
        return "".join([*pieces, self.text[done:]])

    def with_cells(self, cells: Sequence[tuple[Mapping[str, Any], str]]) -> str:
        """Return the text with these cells instead, given as values and sources. A value of a cell of this notebook
        keeps its text, apart from another source."""
        own = {id(cell.value): cell for cell in self.cells}
        at = self.cells[0].start if self.cells else self.cells_span[0]
        is_spread = self._unit is not None and (not self.cells or "\n" in self.text[at : self.cells[0].end])
        texts = [
            self._cell_text(own[id(value)], source)
            if id(value) in own
            else self._dumped({**value, "source": lines_of(source)}, at, is_spread=is_spread, extra=not self.cells)
            for value, source in cells
        ]
        start, end = self.cells_span
        if not texts:
            return f"{self.text[:start]}[]{self.text[end:]}"
        if not self.cells:
            line = f"{self._line_end}{self._indent_at(start)}" if self._unit else ""
            gap = f"{line}{self._unit}" if self._unit else ""
            between = f",{gap or ' '}"
            return f"{self.text[:start]}[{gap}{between.join(texts)}{line}]{self.text[end:]}"
        between, last = f",{self._gap(self.cells[0])}", self.cells[-1].end
        return f"{self.text[:at]}{between.join(texts)}{self.text[last:]}"

    def with_cell(self, cell: Cell, value: Mapping[str, Any]) -> str:
        """Return the text with another cell in place of one."""
        is_spread = "\n" in self.text[cell.start : cell.end]
        return self.text[: cell.start] + self._dumped(value, cell.start, is_spread=is_spread) + self.text[cell.end :]

    def with_new_cell(self, after: Cell | None, kind: CellType, source: str) -> str:
        """Return the text with a new cell after another one, or at the beginning."""
        value = self.new_cell(kind, source)
        if not self.cells:
            return self.with_cells([(value, source)])
        near = after or self.cells[0]
        made = self._dumped(value, near.start, is_spread="\n" in self.text[near.start : near.end])
        gap = self._gap(near)
        if after is None:
            return f"{self.text[: near.start]}{made},{gap}{self.text[near.start :]}"
        return f"{self.text[: near.end]},{gap}{made}{self.text[near.end :]}"

    def without(self, cell: Cell) -> str:
        """Return the text without a cell."""
        at = cell.number - 1
        if at + 1 < len(self.cells):
            start, end = cell.start, self.cells[at + 1].start
        elif at:
            start, end = self.cells[at - 1].end, cell.end
        else:
            start, end = self.cells_span[0] + 1, self.cells_span[1] - 1
        return self.text[:start] + self.text[end:]

    def new_cell(self, kind: CellType, source: str) -> dict[str, Any]:
        """Return a new cell, its keys in the order in which Jupyter writes them."""
        value: dict[str, Any] = {"cell_type": kind}
        if kind == "code":
            value["execution_count"] = None
        if self.minor >= 5:
            value["id"] = uuid4().hex[:8]
        value["metadata"] = {}
        if kind == "code":
            value["outputs"] = []
        value["source"] = lines_of(source)
        return value

    # Form of the file

    def _cell_text(self, cell: Cell, source: str) -> str:
        """Text of a cell with this source."""
        if source == cell.source:
            return self.text[cell.start : cell.end]
        if cell.source_span is None:
            is_spread = "\n" in self.text[cell.start : cell.end]
            return self._dumped({**cell.value, "source": lines_of(source)}, cell.start, is_spread=is_spread)
        start, end = cell.source_span
        return self.text[cell.start : start] + self._source_text(cell, source) + self.text[end : cell.end]

    def _source_text(self, cell: Cell, source: str) -> str:
        """Text of the value of `source`, in the form of the cell's."""
        start, end = cell.source_span or (cell.end, cell.end)
        before = cell.value.get("source")
        given = source if isinstance(before, str) else lines_of(source)
        is_spread = "\n" in self.text[start:end] or (before == [] and self._unit is not None)
        return self._dumped(given, start, is_spread=is_spread)

    def _gap(self, near: Cell) -> str:
        """Space between two cells, after the comma."""
        is_apart = "\n" in self.text[self.cells_span[0] : self.cells[0].start]
        return f"{self._line_end}{self._indent_at(near.start)}" if is_apart else " "

    @property
    def _unit(self) -> str | None:
        """Indentation of one level; None for a notebook on one line."""
        found = re.match(r"\s*\{\r?\n([ \t]*)\S", self.text)
        return found[1] if found else None

    @property
    def _line_end(self) -> str:
        return "\r\n" if "\r\n" in self.text[: self.cells_span[0] + 1000] else "\n"

    def _indent_at(self, at: int) -> str:
        """Indentation of the line that contains an offset."""
        begin = self.text.rfind("\n", 0, at) + 1
        found = re.match(r"[ \t]*", self.text[begin:at])
        return found[0] if found else ""

    def _dumped(self, value: Any, at: int, *, is_spread: bool, extra: bool = False) -> str:
        ascii_only = self.text.isascii() and "\\u" in self.text
        if not is_spread:
            return json.dumps(value, ensure_ascii=ascii_only)
        indent = self._indent_at(at) + ((self._unit or "") if extra else "")
        made = json.dumps(value, ensure_ascii=ascii_only, indent=self._unit or " ")
        return made.replace("\n", self._line_end + indent)


def joined(value: object) -> str:
    """Return a text that may be stored as a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(each for each in cast("list[object]", value) if isinstance(each, str))
    return ""


def lines_of(source: str) -> list[str]:
    """Return a source in the form in which notebooks store it: lines with their ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", source.replace("\r\n", "\n"))


def problem_of(text: str) -> str | None:
    """Return why the text is not a valid notebook; None if it is. Blocking: the first call imports nbformat."""
    import nbformat
    from nbformat.validator import NotebookValidationError

    try:
        value = json.loads(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nbformat.validate(nbformat.from_dict(value))  # pyright: ignore[reportUnknownMemberType]
    except NotebookValidationError as error:
        return str(error).partition("\n")[0]
    except (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError) as error:
        return str(error) or "it is not in the form of a notebook"
    return None


def _value(text: str) -> Mapping[str, Any]:
    value = json.loads(text.lstrip("\ufeff"))
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    given = cast("dict[str, Any]", value)
    if given.get("nbformat") != 4 or not isinstance(given.get("cells"), list):
        raise ValueError("it has another format than 4")
    return given


def _cells(text: str) -> tuple[tuple[int, int], Sequence[Cell]]:
    """Return the place of the list of cells, and the cells."""
    begin = _skip(text, 1 if text.startswith("\ufeff") else 0)
    span = next((start, end) for key, start, end, _ in reversed(list(_members(text, begin))) if key == "cells")
    cells: list[Cell] = []
    for start, end, value in _elements(text, span[0]):
        if not isinstance(value, dict):
            raise ValueError(f"cell {len(cells) + 1} is not a JSON object")
        sources = [(first, last) for key, first, last, _ in _members(text, start) if key == "source"]
        cells.append(
            Cell(
                number=len(cells) + 1,
                value=cast("dict[str, Any]", value),
                start=start,
                end=end,
                source_span=sources[-1] if sources else None,
            )
        )
    return span, cells


def _members(text: str, at: int) -> Iterator[tuple[str, int, int, Any]]:
    """Yield key, start, end and value of each member of the object at an offset."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        value, end = _DECODER.raw_decode(text, start)
        yield key, start, end, value
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _elements(text: str, at: int) -> Iterator[tuple[int, int, Any]]:
    """Yield start, end and value of each element of the list at an offset."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield at, end, value
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
