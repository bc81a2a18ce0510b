"""A notebook that is open as cells: read with what was typed, and edited in the editor, or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.documents.open_notebook import OpenNotebook
from pygent_ls.editors.lsp.rpc.converter import structured
from pygent_ls.tools.notebooks.notebook_text import Notebook
from tests.editors.lsp.editor import CAPABILITIES, Editor, Setup, connected
from tests.editors.lsp.editor_notebooks import Notebooks
from tests.fakes import Call, say
from tests.nbformat_api import nbformat, new_code_cell, new_markdown_cell, new_notebook, new_output

EDITS_CELLS: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"notebookEdits": True}}}

READ = Call(name="read_file", arguments={"path": "a.ipynb"})


SEARCH = Call(name="grep_search", arguments={"pattern": "# typed"})


def edit(**arguments: Any) -> Call:
    return Call(name="edit_notebook", arguments={"path": "a.ipynb", **arguments})


def calling(*calls: Call, **setup: Any) -> Setup:
    return Setup(script=[*(say("", call) for call in calls), say("done")], mode="trust", **setup)


@pytest.fixture
def notebook(folder: Path) -> Path:
    """Cells a (text), b (with an output) and c, as Jupyter writes them."""
    printed = [new_output("stream", text="3.14\n")]
    cells = [
        new_markdown_cell("# Title", id="a"),
        new_code_cell("import math\nprint(math.pi)", id="b", execution_count=7, outputs=printed),
        new_code_cell("x = 1", id="c"),
    ]
    path = folder / "a.ipynb"
    path.write_text(nbformat.writes(new_notebook(cells=cells, metadata={"mine": 1})) + "\n")
    return path


def text_of(path: Path) -> str:
    return path.read_text()


def replace_in(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def applied(editor: Editor) -> list[Any]:
    return [asked.params["edit"]["documentChanges"] for asked in editor.requests("workspace/applyEdit")]


async def test_cells_are_read_as_they_are_in_the_editor(folder: Path, notebook: Path) -> None:
    async with connected(folder, calling(READ, SEARCH), capabilities=EDITS_CELLS) as editor:
        notebooks = editor.documents.notebooks
        uri = notebooks.open(notebook)
        notebooks.type_over(uri, 2, "x = 2  # typed")
        notebooks.splice(uri, 3, 0, [{"cell_type": "code", "id": "new", "metadata": {}, "source": "y = x"}])

        await editor.turn()

        shown, found = editor.tool_results
        assert "cell 2 · code · id b · run 7" in shown
        assert "\t3.14\n" in shown
        assert "\tx = 2  # typed\n" in shown
        assert "── cell 4 · code · id new\n" in shown
        assert "\ty = x" in shown
        assert "sources are as they are there, outputs as they were last saved" in shown
        assert 'a.ipynb:37:     "x = 2  # typed"' in found


async def test_an_edit_is_made_in_the_cells_and_left_unsaved(folder: Path, notebook: Path) -> None:
    calls = (
        READ,
        edit(cell="c", source="x = 3"),
        edit(action="insert", cell="a", source="first = 1"),
        edit(action="delete", cell="a"),
        Call(name="edit_file", arguments={"path": "a.ipynb", "old": "math.pi", "new": "math.e"}),
    )
    async with connected(folder, calling(*calls), capabilities=EDITS_CELLS) as editor:
        uri = editor.documents.notebooks.open(notebook)
        text = text_of(notebook)

        await editor.turn()

        assert [each.partition(";")[0] for each in editor.tool_results[1:-1]] == [
            "Edited a.ipynb: replaced cell c",
            "Edited a.ipynb: inserted a cell after cell a",
            "Edited a.ipynb: deleted cell a",
        ]
        assert editor.documents.notebooks.sources(uri) == ["first = 1", "import math\nprint(math.e)", "x = 3"]
        assert text_of(notebook) == text
        saved = json.loads(editor.documents.notebooks.text(uri))
        assert saved["cells"][1]["outputs"] == json.loads(text)["cells"][1]["outputs"]
        assert [len(changes) for changes in applied(editor)] == [2, 1, 1, 2]
        assert applied(editor)[0][0]["splices"] == []


async def test_after_a_save_the_model_may_edit_on_without_reading_again(folder: Path, notebook: Path) -> None:
    setup = Setup(
        script=[
            say("", READ),
            say("", edit(action="insert", cell="c", source="y = 1")),
            say("done"),
            say("", edit(cell="c", source="x = 5")),
            say("done"),
        ],
        mode="trust",
    )
    async with connected(folder, setup, capabilities=EDITS_CELLS) as editor:
        uri = editor.documents.notebooks.open(notebook)
        session = (await editor.request("pygent/session/new"))["sessionId"]
        await editor.turn(sessionId=session)
        editor.documents.notebooks.save(uri)
        await editor.turn(sessionId=session)

        assert editor.tool_results[-1].startswith("Edited a.ipynb: replaced cell c")
        assert editor.documents.notebooks.sources(uri)[2:] == ["x = 5", "y = 1"]


async def test_an_edit_of_cells_that_changed_since_they_were_read_is_refused(folder: Path, notebook: Path) -> None:
    async with connected(folder, calling(READ, edit(cell="c", source="x = 3")), capabilities=EDITS_CELLS) as editor:
        notebooks = editor.documents.notebooks
        uri = notebooks.open(notebook)

        def apply(params: Mapping[str, Any]) -> object:
            notebooks.type_over(uri, 2, "x = 'typed'")
            return editor.documents.apply(params)

        editor.handlers["workspace/applyEdit"] = apply
        await editor.turn()

        assert "The editor did not apply the edit: the cells have changed since" in editor.tool_results[-1]
        assert "x = 'typed'" in editor.tool_results[-1]
        assert notebooks.sources(uri)[2] == "x = 'typed'"


async def test_a_restore_brings_a_deleted_cell_back_into_the_open_notebook(folder: Path, notebook: Path) -> None:
    calls = (READ, edit(action="delete", cell="b"), edit(cell="c", source="x = 9", cell_type="markdown"))
    setup = calling(*calls, checkpoints=True)
    async with connected(folder, setup, capabilities=EDITS_CELLS) as editor:
        notebooks = editor.documents.notebooks
        uri = notebooks.open(notebook)
        notebooks.type_over(uri, 0, "# Typed")
        text = text_of(notebook)
        session = (await editor.request("pygent/session/new"))["sessionId"]
        await editor.turn(sessionId=session)
        assert notebooks.sources(uri) == ["# Typed", "x = 9"]

        (first, *_) = (await editor.request("pygent/checkpoint/list", {"sessionId": session}))["checkpoints"]
        await editor.request(
            "pygent/checkpoint/restore", {"checkpointId": first["checkpointId"], "files": True, "conversation": False}
        )

        assert notebooks.sources(uri) == ["# Typed", "import math\nprint(math.pi)", "x = 1"]
        saved = json.loads(notebooks.text(uri))
        assert saved["cells"][1:] == json.loads(text)["cells"][1:]
        assert text_of(notebook) == text


async def test_an_edit_of_more_than_cells_is_refused_with_the_reason(folder: Path, notebook: Path) -> None:
    calls = (READ, Call(name="edit_file", arguments={"path": "a.ipynb", "old": '"mine": 1', "new": '"mine": 2'}))
    async with connected(folder, calling(*calls), capabilities=EDITS_CELLS) as editor:
        editor.documents.notebooks.open(notebook)

        await editor.turn()

        assert "a.ipynb is open as a notebook in the editor" in editor.tool_results[-1]
        assert "it changes more than cells" in editor.tool_results[-1]
        assert applied(editor) == []


async def test_an_editor_that_cannot_edit_cells_keeps_unsaved_ones(folder: Path, notebook: Path) -> None:
    async with connected(folder, calling(READ, edit(cell="c", source="x = 3"))) as editor:
        notebooks = editor.documents.notebooks
        uri = notebooks.open(notebook)
        notebooks.type_over(uri, 0, "# Typed")
        text = text_of(notebook)

        await editor.turn()

        assert "# Typed" in editor.tool_results[0]
        assert "a.ipynb has unsaved changes, and this editor cannot apply the edit" in editor.tool_results[1]
        assert text_of(notebook) == text


async def test_new_outputs_on_the_disk_are_seen_and_the_edit_stays_in_the_editor(folder: Path, notebook: Path) -> None:
    async with connected(folder, calling(READ, edit(cell="c", source="x = 3")), capabilities=EDITS_CELLS) as editor:
        uri = editor.documents.notebooks.open(notebook)
        replace_in(notebook, "3.14", "2.71")

        await editor.turn()

        assert "\t2.71\n" in editor.tool_results[0]
        assert editor.documents.notebooks.sources(uri)[2] == "x = 3"


async def test_cells_are_edited_although_the_notebook_is_also_open_as_text(folder: Path, notebook: Path) -> None:
    async with connected(folder, calling(READ, edit(cell="c", source="x = 3")), capabilities=EDITS_CELLS) as editor:
        uri = editor.documents.notebooks.open(notebook)
        editor.documents.open(notebook)

        await editor.turn()

        assert editor.documents.notebooks.sources(uri)[2] == "x = 3"
        assert editor.documents.text(uri) == text_of(notebook)


async def test_a_closed_notebook_is_the_file_again(folder: Path, notebook: Path) -> None:
    async with connected(folder, calling(READ, edit(cell="c", source="x = 3")), capabilities=EDITS_CELLS) as editor:
        notebooks = editor.documents.notebooks
        uri = notebooks.open(notebook)
        notebooks.type_over(uri, 0, "# Typed")
        notebooks.close(uri)

        await editor.turn()

        assert "# Typed" not in editor.tool_results[0]
        assert json.loads(text_of(notebook))["cells"][2]["source"] == ["x = 3"]


async def test_a_change_that_does_not_fit_makes_the_text_unknown(folder: Path, notebook: Path) -> None:
    async with connected(folder, calling(READ), capabilities=EDITS_CELLS) as editor:
        uri = editor.documents.notebooks.open(notebook)
        structure = {"array": {"start": 2, "deleteCount": 5}}
        document = {"uri": uri, "version": 2}
        change = {"notebookDocument": document, "change": {"cells": {"structure": structure}}}
        editor.tell("notebookDocument/didChange", change)

        await editor.turn()

        assert "its current text is unknown" in editor.tool_results[0]


KINDS = st.sampled_from(["code", "markdown", "raw"])
SOURCES = st.text('ab\n"\\\u00e9\U0001f600', max_size=8)
CELLS = st.lists(st.tuples(KINDS, SOURCES), max_size=5)
FORMS = st.sampled_from([None, 1, 2])


def written(cells: list[tuple[str, str]], form: int | None, minor: int) -> str:
    value: dict[str, Any] = {"cells": [], "metadata": {"mine": 1}, "nbformat": 4, "nbformat_minor": minor}
    for number, (kind, source) in enumerate(cells):
        cell: dict[str, Any] = {"cell_type": kind, "metadata": {"tag": number}, "source": source.splitlines(True)}
        value["cells"].append({**cell, "id": f"c{number}"} if minor > 4 else cell)
    return json.dumps(value, indent=form)


@given(
    before=CELLS,
    minor=st.sampled_from([4, 5]),
    form=FORMS,
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("type"), st.integers(0, 4), SOURCES),
            st.tuples(st.just("splice"), st.integers(0, 4), CELLS),
            st.tuples(st.just("save"), st.integers(0, 4), FORMS),
            st.tuples(st.just("agent"), st.integers(0, 4), SOURCES),
        ),
        max_size=6,
    ),
)
def test_the_text_has_the_cells_of_the_editor_whatever_happens(
    tmp_path_factory: pytest.TempPathFactory, before: list[tuple[str, str]], minor: int, form: int | None, steps: Any
) -> None:
    path = tmp_path_factory.mktemp("any").resolve() / "a.ipynb"
    path.write_text(written(before, form, minor))
    buffers = Buffers(lambda _: None)

    def tell(method: str, params: dict[str, Any]) -> None:
        match method:
            case "notebookDocument/didOpen":
                buffers.notebook_opened(structured("", params, lsp.DidOpenNotebookDocumentParams))
            case _:
                buffers.notebook_changed(structured("", params, lsp.DidChangeNotebookDocumentParams))

    notebooks = Notebooks(tell)
    uri = notebooks.open(path)
    for n_made, (what, number, given_value) in enumerate(steps):
        cells = notebooks.opened[uri].cells
        buffer = buffers.get(path)
        assert buffer is not None
        assert buffer.notebook is not None
        if what == "type" and cells:
            notebooks.type_over(uri, number % len(cells), given_value)
        elif what == "splice":
            made = json.loads(written(given_value, None, 4))["cells"]
            made = [{**each, "id": f"n{n_made}-{place}"} if minor > 4 else each for place, each in enumerate(made)]
            start = number % (len(cells) + 1)
            notebooks.splice(uri, start, min(1, len(cells) - start), made)
        elif what == "save":
            path.write_text(json.dumps(Notebook(buffer.text).value, indent=given_value))
            buffers.saved(uri, is_notebook=True)
        elif what == "agent":
            carry_out(notebooks, buffers, path, number, given_value)
        buffer = buffers.get(path)
        assert buffer is not None
        shown = [(cell.kind, cell.source) for cell in Notebook(buffer.text).cells]
        assert shown == [(cell.value["cell_type"], cell.text) for cell in notebooks.opened[uri].cells]
        assert (buffer.text == path.read_text()) == (not buffer.is_dirty)


def carry_out(notebooks: Notebooks, buffers: Buffers, path: Path, number: int, source: str) -> None:
    """Edit the text as a tool does, and the cells as the editor does; the text has to become the same."""
    buffer = buffers.get(path)
    assert buffer is not None
    assert isinstance(buffer.notebook, OpenNotebook)
    now = Notebook(buffer.text)
    cell = now.cells[number % len(now.cells)] if now.cells else None
    if cell is None or number == 0:
        text = now.with_new_cell(cell, "code", source)
    elif number == 1:
        text = now.without(cell)
    else:
        text = now.with_source(cell, source)
    seen: list[str] = []
    with buffers.listening(path, seen.append):
        for change in buffer.notebook.document_changes(text, "utf-16"):
            if change.get("kind") == "notebook":
                assert notebooks.objection(change) == ""
                notebooks.carry_out(change)
            else:
                edited = notebooks.cell_of(change["textDocument"]["uri"])
                assert edited is not None
                wanted = source.replace("\r\n", "\n")
                notebooks.change(edited.uri, wanted, [{"text": wanted}])
    assert buffer.text == text
