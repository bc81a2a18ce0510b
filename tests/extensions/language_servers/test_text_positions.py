"""Positions and edits agree with those of the editor's documents, and malformed answers never raise anything else."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pygent_ls.editors.lsp.documents.positions import apply_change, offset_at
from pygent_ls.editors.lsp.standard import Position
from pygent_ls.errors import ToolError
from pygent_ls.extensions.language_servers.answers import (
    calls_of,
    hover_of,
    locations_of,
    problems_of,
    symbols_of,
)
from pygent_ls.extensions.language_servers.text_positions import Encoding, TextLines, edited, path_of_uri, position_of
from pygent_ls.extensions.language_servers.workspace_edits import parts_of

TEXTS = st.text(st.sampled_from("ab \n\r\té€\U0001f600\u2028\f"), max_size=40)
ENCODINGS: st.SearchStrategy[Encoding] = st.sampled_from(["utf-8", "utf-16", "utf-32"])
NUMBERS = st.integers(0, 12)

KEYS = (
    *("uri", "range", "start", "end", "line", "character", "name", "kind", "location", "children", "selectionRange"),
    *("from", "to", "fromRanges", "contents", "value", "language", "message", "severity", "code", "source"),
    *("changes", "documentChanges", "textDocument", "edits", "newText", "oldUri", "newUri", "targetUri", "version"),
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5) | st.text(max_size=3) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)


@given(TEXTS, NUMBERS, NUMBERS, ENCODINGS)
def test_an_offset_is_that_of_the_editors_documents(text: str, line: int, character: int, encoding: Encoding) -> None:
    found = TextLines(text, encoding).offset({"line": line, "character": character})

    assert found == offset_at(text, Position(line, character), encoding)


@given(TEXTS, NUMBERS, NUMBERS, ENCODINGS)
def test_a_position_leads_back_to_its_column(text: str, line: int, column: int, encoding: Encoding) -> None:
    lines = TextLines(text, encoding)
    column = min(column, len(lines.line(line)))
    position = lines.position(line, column)

    assert lines.column(position["line"], position["character"]) == column


@given(TEXTS, st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS, NUMBERS), TEXTS, ENCODINGS)
def test_one_edit_is_made_as_an_editor_makes_it(
    text: str, one: tuple[int, int], other: tuple[int, int], new: str, encoding: Encoding
) -> None:
    start, end = sorted([Position(*one), Position(*other)])
    edit = {"range": {"start": structs.asdict(start), "end": structs.asdict(end)}, "newText": new}

    assert edited(text, [edit], encoding) == apply_change(text, start, end, new, encoding)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 0.5, -1, True, "1", None])
def test_a_position_that_is_no_whole_number_is_malformed(number: Any) -> None:
    for position in ({"line": number, "character": 0}, {"line": 0, "character": number}):
        with pytest.raises(ToolError, match="a position that cannot be understood"):
            position_of(position)


def test_a_number_beyond_the_largest_is_the_end_of_the_text() -> None:
    assert TextLines("one\ntwo", "utf-16").offset({"line": 1.7976931348623157e308, "character": 10**400}) == 7


@given(JSON, TEXTS, ENCODINGS)
def test_no_answer_makes_anything_fail(value: Any, text: str, encoding: Encoding) -> None:
    locations_of(value, path_of_uri)
    hover_of(value)
    symbols_of(value, None, path_of_uri)
    items: list[Any] = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]
    problems_of(items, text, encoding)
    for direction in ("incoming", "outgoing"):
        calls_of(cast("Any", value), direction, None, path_of_uri)  # pyright: ignore[reportArgumentType]
    try:
        for part in parts_of(cast("Any", value)):
            edited(text, getattr(part, "edits", ()), encoding)
    except ToolError:
        pass
