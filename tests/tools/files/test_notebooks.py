"""read_file shows a notebook as cells; edit_notebook and edit_file change them, as edits like any other."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import StaleDocumentError, ToolError
from pygent_ls.tools.files.edit_file import edit_file
from pygent_ls.tools.files.edit_notebook import edit_notebook
from pygent_ls.tools.files.read_file import read_file
from pygent_ls.tools.search.grep import grep_search
from pygent_ls.workspace.pictures.converter import PictureConverter
from tests.nbformat_api import nbformat, new_code_cell, new_markdown_cell, new_notebook, new_output
from tests.pictures import picture_file
from tests.tools.masked_bench import MaskedBench
from tests.tools.tool_bench import Bench


class NotebookBench(Bench):
    """A bench whose calls can show pictures."""

    def new_context(self) -> ToolContext:
        self.reads.forget_all()  # what a call wrote is recorded by its executor
        context = super().new_context()
        context.pictures = PictureConverter(self.processes)
        return context


@pytest.fixture
def bench(tmp_path: Path) -> NotebookBench:
    return NotebookBench(tmp_path.resolve())


def notebook(*cells: Any) -> str:
    """A notebook as Jupyter writes it, with ids a, b, …"""
    for name, cell in zip("abcdefgh", cells, strict=False):
        cell["id"] = name
    return nbformat.writes(new_notebook(cells=list(cells), metadata={"mine": {"kept": True}})) + "\n"


def printing() -> Any:
    """A cell with an output."""
    outputs = [new_output("stream", text="3.14\n")]
    return new_code_cell("import math\nprint(math.pi)", execution_count=7, outputs=outputs)


def sample() -> str:
    return notebook(new_markdown_cell("# Title\n\nwords"), printing(), new_code_cell(""))


async def test_cells_are_shown_with_their_sources_and_outputs(bench: NotebookBench) -> None:
    bench.write("a.ipynb", sample())

    assert await bench.call(read_file, path="a.ipynb") == (
        "     1\t── cell 1 · markdown · id a\n     2\t# Title\n     3\t\n     4\twords\n"
        "     5\t── cell 2 · code · id b · run 7\n     6\timport math\n     7\tprint(math.pi)\n"
        "     8\t── output of cell 2: stdout\n     9\t3.14\n    10\t── cell 3 · code · id c\n"
        "[These are the cells of the notebook: edit them with edit_notebook.]"
    )


async def test_long_outputs_are_shortened_errors_are_plain_and_pictures_are_shown(bench: NotebookBench) -> None:
    picture = base64.b64encode(picture_file(20, 10)).decode()
    outputs = [
        new_output("stream", text="x" * 5_000),
        new_output("display_data", data={"image/png": picture, "text/plain": "<Figure>", "text/html": "<b>"}),
        new_output("display_data", data={"image/png": "AAAA"}),
        new_output("error", ename="ValueError", evalue="no", traceback=["\x1b[31mValueError\x1b[0m: no"]),
    ]
    bench.write("a.ipynb", notebook(new_code_cell("plot()", outputs=outputs)))

    shown = await bench.call(read_file, path="a.ipynb")

    assert "[… 3000 more characters of this output]" in shown
    assert "<Figure>\n" in shown
    assert "[also as text/html]" in shown
    assert "\tValueError: no" in shown
    assert "A picture in a.ipynb cannot be shown" in shown or "A picture in a.ipynb is not" in shown
    assert [image.mime_type for image in bench.context.images] == ["image/png"]


async def test_a_cell_is_replaced_inserted_and_deleted_and_the_rest_stays(bench: NotebookBench) -> None:
    text = sample()
    bench.write("a.ipynb", text)

    said = await bench.call(edit_notebook, path="a.ipynb", cell="b", source="print(1)\n")
    assert said == "Edited a.ipynb: replaced cell b; +1 −2 lines; it has 3 cells now."
    await bench.call(edit_notebook, path="a.ipynb", action="insert", cell="1", source="new", cell_type="markdown")
    await bench.call(edit_notebook, path="a.ipynb", action="insert", source="first = 1")
    await bench.call(edit_notebook, path="a.ipynb", action="delete", cell="c")

    after = bench.bytes_of("a.ipynb").decode()
    cells = json.loads(after)["cells"]
    assert [(each["cell_type"], "".join(each["source"])) for each in cells] == [
        ("code", "first = 1"),
        ("markdown", "# Title\n\nwords"),
        ("markdown", "new"),
        ("code", "print(1)\n"),
    ]
    assert cells[3]["outputs"] == json.loads(text)["cells"][1]["outputs"]
    assert json.loads(after)["metadata"] == {"mine": {"kept": True}}
    nbformat.validate(nbformat.reads(after, as_version=4))
    assert after == nbformat.writes(nbformat.reads(after, as_version=4)) + "\n"


async def test_edit_file_replaces_text_of_one_cell(bench: NotebookBench) -> None:
    bench.write("a.ipynb", sample())

    await bench.call(edit_file, path="a.ipynb", old="import math\nprint(math.pi)", new='print("\u00e9")')

    assert json.loads(bench.bytes_of("a.ipynb"))["cells"][1]["source"] == ['print("\u00e9")']
    bench.write("b.ipynb", notebook(new_code_cell("x = 1"), new_code_cell("x = 1")))
    with pytest.raises(ToolError, match=r"occurs in 2 cells of b\.ipynb: 1, 2"):
        await bench.call(edit_file, path="b.ipynb", old="x = 1", new="y")


async def test_a_type_can_change_and_outputs_go_with_it(bench: NotebookBench) -> None:
    bench.write("a.ipynb", sample())

    await bench.call(edit_notebook, path="a.ipynb", cell="2", source="text", cell_type="markdown")

    cell = json.loads(bench.bytes_of("a.ipynb"))["cells"][1]
    assert cell == {"cell_type": "markdown", "id": "b", "metadata": {}, "source": ["text"]}


async def test_the_buffer_counts_and_a_change_since_the_reading_is_refused(bench: NotebookBench) -> None:
    file = bench.write("a.ipynb", sample())
    bench.workspace.type_into(file, notebook(new_code_cell("typed")))

    assert "\ttyped" in await bench.call(read_file, path="a.ipynb")
    known = bench.reads.known(file)
    bench.workspace.type_into(file, notebook(new_code_cell("typed again")))
    with pytest.raises(StaleDocumentError):
        await plan_with(bench, file, known)


async def plan_with(bench: NotebookBench, file: Path, known: str | None) -> None:
    """Plan an edit by a model that has read this version of the file."""
    context = bench.new_context()
    bench.reads.take_back(file, known)
    await edit_notebook.run(context, path="a.ipynb", action="replace", cell="1", source="x", cell_type=None)


async def test_what_is_not_a_notebook_is_shown_as_text_with_the_reason(bench: NotebookBench) -> None:
    bench.write("broken.ipynb", '{"cells": [\n')
    bench.write("old.ipynb", '{"nbformat": 3, "worksheets": []}\n')
    bench.write("empty.ipynb", "")

    assert "is shown as text: it is not a notebook" in await bench.call(read_file, path="broken.ipynb")
    assert "another format than 4" in await bench.call(read_file, path="old.ipynb")
    assert await bench.call(read_file, path="empty.ipynb") == "empty.ipynb is empty."
    with pytest.raises(ToolError, match=r"cells of broken\.ipynb cannot be edited.*Use edit_file on its text"):
        await bench.call(edit_notebook, path="broken.ipynb", cell="1", source="x")


async def test_ten_thousand_cells_are_read_in_parts_edited_and_searched(bench: NotebookBench) -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "raw", "id": f"n{n}", "metadata": {}, "source": [f"word {n}\n"]} for n in range(10_000)
    ]
    value: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    bench.write("many.ipynb", json.dumps(value, indent=1))

    shown = await bench.call(read_file, path="many.ipynb", start_line=19_999)
    await bench.call(edit_notebook, path="many.ipynb", cell="n9999", source="changed")
    await bench.call(edit_file, path="many.ipynb", old="word 9998", new="term 9998")

    assert "cell 10000 · raw · id n9999" in shown
    after = json.loads(bench.bytes_of("many.ipynb"))["cells"]
    assert ("".join(after[9998]["source"]), after[9999]["source"]) == ("term 9998\n", ["changed"])
    assert "many.ipynb:" in await bench.call(grep_search, pattern="word 77\\b")


async def test_secrets_in_cells_are_masked_and_kept_by_an_edit(tmp_path: Path) -> None:
    bench = MaskedBench(tmp_path)
    key = "AKIAQ3EGRIPPLETESTK7"
    (tmp_path / "a.ipynb").write_text(notebook(new_code_cell(f'key = "{key}"\nx = 1')))

    shown = await bench.call("read_file", path="a.ipynb")
    await bench.call("edit_file", path="a.ipynb", old="x = 1", new="x = 2")

    assert key not in shown
    assert "{{SECRET_" in shown
    assert json.loads((tmp_path / "a.ipynb").read_text())["cells"][0]["source"] == [f'key = "{key}"\n', "x = 2"]


async def test_of_cells_with_the_same_id_none_is_edited_by_it(bench: NotebookBench) -> None:
    bench.write("a.ipynb", text := sample().replace('"id": "c"', '"id": "b"'))
    await bench.call(read_file, path="a.ipynb")
    with pytest.raises(ToolError, match="The cells 2 and 3 have the id 'b'"):
        await bench.call(edit_notebook, path="a.ipynb", cell="b", source="new")
    assert (bench.folder / "a.ipynb").read_text() == text
    await bench.call(edit_notebook, path="a.ipynb", cell="3", source="new")
    assert [each["source"] for each in json.loads((bench.folder / "a.ipynb").read_text())["cells"]][2] == ["new"]


async def test_pictures_in_a_text_stay_if_it_becomes_raw(bench: NotebookBench) -> None:
    pictures = {"p.png": {"image/png": "iVBORw0KGgo="}}
    bench.write("a.ipynb", notebook(new_markdown_cell("![](attachment:p.png)", attachments=pictures)))
    await bench.call(read_file, path="a.ipynb")
    await bench.call(edit_notebook, path="a.ipynb", cell="a", source="words", cell_type="raw")
    [cell] = json.loads((bench.folder / "a.ipynb").read_text())["cells"]
    assert (cell["cell_type"], cell["attachments"]) == ("raw", pictures)
