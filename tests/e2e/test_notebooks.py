"""A notebook over the real daemon: read as cells, edited on the disk or in the editor, undone, and refused if the
editor has changes that it does not report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.e2e.conftest import WITH_HTTP, HttpModel, Rig
from tests.e2e.lsp_client import CAPABILITIES, editor_client
from tests.model_server import Call, ModelServer, Step
from tests.nbformat_api import nbformat, new_code_cell, new_markdown_cell, new_notebook


def written(path: Path) -> str:
    """Write a notebook as Jupyter does; its text."""
    cells = [new_markdown_cell("# Title", id="a"), new_code_cell("x = 1\nprint(x)", id="b")]
    text = nbformat.writes(new_notebook(cells=cells)) + "\n"
    path.write_text(text)
    return text


def call(name: str, **arguments: Any) -> Step:
    return Step(calls=(Call(name=name, arguments=arguments),))


@WITH_HTTP
async def test_a_closed_notebook_is_edited_by_cell_and_the_edit_is_undone(rig: Rig) -> None:
    path, editor = rig.folder / "a.ipynb", rig.editor
    text = written(path)
    editor.choose = lambda _: "Allow once"
    rig.model.play(
        call("read_file", path="a.ipynb"),
        call("edit_notebook", path="a.ipynb", cell="b", source="x = 2\nprint(x)"),
        call("edit_file", path="a.ipynb", old="# Title", new="# Words"),
        Step(text="Done."),
    )
    session = (await editor.ask("pygent/session/new", {}))["sessionId"]

    result = await editor.turn("edit it", sessionId=session)

    assert [ok for ok, _ in editor.results()] == [True, True, True]
    assert "── cell 2 · code · id b" in editor.results()[0][1]
    assert [each["kind"] for each in result["filesChanged"]] == ["edit"]
    cells = json.loads(path.read_text())["cells"]
    assert [each["source"] for each in cells] == [["# Words"], ["x = 2\n", "print(x)"]]
    assert path.read_text() == text.replace("# Title", "# Words").replace("x = 1", "x = 2")
    (first, *_) = (await editor.ask("pygent/checkpoint/list", {"sessionId": session}))["checkpoints"]
    await editor.ask(
        "pygent/checkpoint/restore", {"checkpointId": first["checkpointId"], "files": True, "conversation": False}
    )
    assert path.read_text() == text


@WITH_HTTP
async def test_a_notebook_with_unsaved_cells_is_not_written(rig: Rig) -> None:
    path, editor = rig.folder / "b.ipynb", rig.editor
    text = written(path)
    editor.choose = lambda _: "Allow once"
    editor.tell("pygent/context/didChange", {"unsavedNotebooks": [path.as_uri()]})
    rig.model.play(
        call("read_file", path="b.ipynb"),
        call("edit_notebook", path="b.ipynb", cell="b", source="x = 2"),
        Step(text="Please save it."),
    )

    await editor.turn("edit it")
    editor.tell("pygent/context/didChange", {"unsavedNotebooks": []})
    (read, refused) = editor.results()
    rig.model.play(call("edit_notebook", path="b.ipynb", cell="b", source="x = 2"), Step(text="Done."))
    assert (read[0], "unsaved changes in it, which are not shown" in read[1]) == (True, True)
    assert (refused[0], "Ask the user to save the notebook first" in refused[1]) == (False, True)
    assert path.read_text() == text
    editor.forget()
    await editor.turn("again")

    assert [ok for ok, _ in editor.results()] == [True]
    assert json.loads(path.read_text())["cells"][1]["source"] == ["x = 2"]


CELLS = types.ClientCapabilities(
    workspace=CAPABILITIES.workspace,
    window=CAPABILITIES.window,
    general=CAPABILITIES.general,
    notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
    experimental={"pygent": {"notebookEdits": True}},
)


async def test_an_open_notebook_is_read_edited_and_undone_in_the_editor(folder: Path) -> None:
    path = folder / "c.ipynb"
    text = written(path)
    model = HttpModel()
    async with (
        ModelServer(model.answer) as server,
        editor_client(folder, {**server.env(), "PYGENT_MODEL": "openai/mock"}, capabilities=CELLS) as editor,
    ):
        notebooks = editor.documents.notebooks
        uri = notebooks.open(path)
        notebooks.type_over(uri, 1, "x = 1  # typed")
        notebooks.splice(uri, 2, 0, [new_code_cell("y = x", id="n")])
        model.play(
            call("read_file", path="c.ipynb"),
            call("edit_notebook", path="c.ipynb", cell="b", source="x = 2"),
            call("edit_notebook", path="c.ipynb", action="delete", cell="a"),
            Step(text="Done."),
        )
        session = (await editor.ask("pygent/session/new", {}))["sessionId"]
        await editor.turn("edit it", sessionId=session)

        assert [ok for ok, _ in editor.results()] == [True, True, True]
        assert "x = 1  # typed" in editor.results()[0][1]
        assert "cell 3 · code · id n" in editor.results()[0][1]
        assert notebooks.sources(uri) == ["x = 2", "y = x"]
        assert path.read_text() == text

        (first, *_) = (await editor.ask("pygent/checkpoint/list", {"sessionId": session}))["checkpoints"]
        await editor.ask(
            "pygent/checkpoint/restore", {"checkpointId": first["checkpointId"], "files": True, "conversation": False}
        )
        assert notebooks.sources(uri) == ["# Title", "x = 1  # typed", "y = x"]
        assert path.read_text() == text

        notebooks.type_over(uri, 2, "y = 'mine'")
        model.play(call("edit_notebook", path="c.ipynb", cell="n", source="y = 0"), Step(text="It has changed."))
        editor.forget()
        await editor.turn("edit on", sessionId=session)
        [(ok, refused)] = editor.results()
        assert (ok, "y = 'mine'" in refused) == (False, True)
        assert notebooks.sources(uri) == ["# Title", "x = 1  # typed", "y = 'mine'"]
        notebooks.save(uri)
        nbformat.validate(nbformat.reads(path.read_text(), as_version=4))


@pytest.mark.parametrize("what", ["changed", "deleted", "moved"])
async def test_cells_that_the_user_edits_during_the_question_are_not_overwritten(folder: Path, what: str) -> None:
    path = folder / "d.ipynb"
    written(path)
    model = HttpModel()
    async with (
        ModelServer(model.answer) as server,
        editor_client(folder, {**server.env(), "PYGENT_MODEL": "openai/mock"}, capabilities=CELLS) as editor,
    ):
        notebooks = editor.documents.notebooks
        uri = notebooks.open(path)

        def choose(_: types.ShowMessageRequestParams) -> str:
            match what:
                case "changed":
                    notebooks.type_over(uri, 1, "x = 'mine'")
                case "deleted":
                    notebooks.splice(uri, 1, 1, [])
                case _:
                    notebooks.splice(uri, 0, 1, [])
            return "Allow once"

        editor.choose = choose
        model.play(
            call("read_file", path="d.ipynb"),
            call("edit_notebook", path="d.ipynb", cell="2", source="x = 2"),
            Step(text="It has changed."),
        )
        await editor.turn("edit it")

        assert [ok for ok, _ in editor.results()] == [True, False]
        expected = {"changed": ["# Title", "x = 'mine'"], "deleted": ["# Title"], "moved": ["x = 1\nprint(x)"]}
        assert notebooks.sources(uri) == expected[what]
