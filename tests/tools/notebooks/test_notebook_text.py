"""An edit of a notebook changes its cell and nothing else, whatever wrote the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import ToolError
from pygent_ls.tools.notebooks.notebook_text import Notebook, lines_of, problem_of
from tests.nbformat_api import nbformat

SOURCES = st.text('ab\n"\\\u00e9\U0001f600#{}[], ', max_size=30)


def cell_of(kind: str, source: str, listed: bool) -> tuple[str, Any]:
    """A kind, and a source in one of its two forms."""
    return kind, lines_of(source) if listed else source


CELLS = st.lists(
    st.builds(
        cell_of,
        st.sampled_from(["code", "markdown", "raw"]),
        SOURCES,
        st.booleans(),
    ),
    max_size=5,
)
FORMS = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 1, 2, 4]), "ensure_ascii": st.booleans(), "sort_keys": st.booleans()}
)


def value_of(cells: list[tuple[str, Any]]) -> dict[str, Any]:
    made: list[dict[str, Any]] = []
    for number, (kind, source) in enumerate(cells):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"c{number}", "metadata": {"mine": [1]}, "source": source}
        if kind == "code":
            outputs = [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]
            cell |= {"execution_count": 3, "outputs": outputs}
        made.append(cell)
    return {"cells": made, "metadata": {"unknown": {"x": 1.50}}, "nbformat": 4, "nbformat_minor": 5}


@given(
    cells=CELLS, form=FORMS, at=st.integers(0, 4), source=SOURCES, kind=st.sampled_from(["replace", "insert", "delete"])
)
def test_the_other_cells_and_all_else_stay_byte_for_byte(
    cells: list[tuple[str, Any]], form: dict[str, Any], at: int, source: str, kind: str
) -> None:
    text = json.dumps(value_of(cells), **form) + "\n"
    notebook = Notebook(text)
    cell = notebook.cells[at % len(cells)] if cells else None
    expected = json.loads(text)
    if kind == "insert" or cell is None:
        made = notebook.with_new_cell(cell, "code", source)
        place = cell.number if cell else 0
        got = json.loads(made)
        assert "".join(got["cells"][place]["source"]) == source.replace("\r\n", "\n")
        del got["cells"][place]
    elif kind == "delete":
        made = notebook.without(cell)
        got = json.loads(made)
        del expected["cells"][cell.number - 1]
    else:
        made = notebook.with_source(cell, source)
        got = json.loads(made)
        before = expected["cells"][cell.number - 1]["source"]
        expected["cells"][cell.number - 1]["source"] = source if isinstance(before, str) else lines_of(source)
        assert (made[: cell.start], made[made.rindex(text[cell.end :]) :]) == (text[: cell.start], text[cell.end :])
    assert got == expected
    assert problem_of(made) is None


@given(cells=CELLS, source=SOURCES)
def test_what_jupyter_writes_keeps_its_form(cells: list[tuple[str, Any]], source: str) -> None:
    text = nbformat.writes(nbformat.from_dict(value_of(cells or [("code", "x")])))
    notebook = Notebook(text)

    made = notebook.with_source(notebook.cells[-1], source)

    assert made == nbformat.writes(nbformat.from_dict(json.loads(made)))


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", '{"cells": []}', '{"nbformat": 3, "worksheets": []}', '{"nbformat": 4, "cells": {}}'),
        *('{"nbformat": 4, "cells": [1]}', "[" * 100_000, '{"nbformat": 4, "cells": [' + "[" * 100_000),
    ],
)
def test_what_is_no_notebook_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match="not a notebook that can be read"):
        Notebook(text)


def test_a_cell_is_found_by_its_id_before_its_number() -> None:
    value = value_of([("code", "a"), ("code", "b")])
    value["cells"][0]["id"] = "2"
    notebook = Notebook(json.dumps(value))

    assert (notebook.cell("2").number, notebook.cell("1").number, notebook.cell("c1").number) == (1, 1, 2)
    for wanted in ("0", "3", "x", "", "-1", "²", "9" * 5_000):
        with pytest.raises(ToolError, match="There is no cell"):
            notebook.cell(wanted)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "[" * 100_000,
        '{"nbformat": {}}',
        '{"nbformat": 4, "nbformat_minor": "x", "metadata": {}, "cells": []}',
    ],
)
def test_what_is_in_no_form_of_a_notebook_has_a_problem(text: str) -> None:
    assert problem_of(text)
