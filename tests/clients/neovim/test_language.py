"""What the language servers of Neovim answer the daemon: real ones, pyright and ruff."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.clients.neovim.changing import TRUSTING, edits, replaced, results, turn
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Call, Step

BIN = Path(sys.executable).parent

SERVERS = f"""
vim.lsp.config("pyright", {{
  cmd = {{ "{BIN / "pyright-langserver"}", "--stdio" }}, filetypes = {{ "python" }}, root_markers = {{ "main.py" }},
}})
vim.lsp.config("ruff", {{
  cmd = {{ "{BIN / "ruff"}", "server" }}, filetypes = {{ "python" }}, root_markers = {{ "main.py" }},
}})
vim.lsp.enable({{ "pyright", "ruff" }})
"""

CHECKED = "return #vim.diagnostic.get(0) == ..."

SHAPES = "def area(width: int, height: int) -> int:\n    return width * height\n"
MAIN = 'from shapes import area\n\nprint(area(2, "3"))\n'

PATIENT = {**TRUSTING, "PYGENT_EDITS_DIAGNOSTICS_WAIT_S": "40"}


def opened(start: Start, folder: Path, *steps: Step, **environment: str) -> Editor:
    """A Neovim that has main.py open, with its one problem shown."""
    (folder / "shapes.py").write_text(SHAPES)
    (folder / "main.py").write_text(MAIN)
    editor = start([*steps, Step(text="done")], **(environment or PATIENT))
    editor.lua(SERVERS)
    editor.edit("main.py")
    editor.until(CHECKED, 1, what="pyright")
    return editor


def look(**given: object) -> Step:
    return Step(calls=(Call(name="code_navigation", arguments=given),))


def test_an_edit_reports_the_problems_that_it_has_brought(start: Start, folder: Path) -> None:
    editor = opened(
        start,
        folder,
        edits(replaced("main.py", "from shapes", "import os\n\nfrom shapes")),
        edits(replaced("main.py", "area(2,", "area(2, 4,")),
        edits(replaced("main.py", 'area(2, 4, "3")', "area(2, 4)")),
    )

    turn(editor)

    first, second, third = (text for _, text in results(editor))
    assert "1 new problem in main.py after this edit:" in first
    assert "1:8 warning: `os` imported but unused" in first
    assert "new problem" in second
    assert "Expected 2 positional arguments" in second
    assert "F401" not in second
    assert "problem" not in third


def test_code_is_looked_up_and_renamed_by_the_editors_servers(start: Start, folder: Path) -> None:
    editor = opened(
        start,
        folder,
        look(operation="definition", path="main.py", line=3, symbol="area"),
        look(operation="references", path="shapes.py", symbol="area"),
        look(operation="hover", path="main.py", line=3, symbol="area"),
        look(operation="document_symbols", path="shapes.py"),
        look(operation="workspace_symbols", symbol="area"),
        look(operation="incoming_calls", path="shapes.py", symbol="area"),
        Step(calls=(Call(name="code_actions", arguments={"path": "main.py", "line": 3}),)),
        edits({"path": "main.py", "line": 3, "symbol": "area", "new_name": "surface"}, name="rename_symbol"),
    )

    turn(editor)

    definition, references, hover, symbols, found, calls, actions, renamed = (text for _, text in results(editor))
    assert definition == f"shapes.py:1: {SHAPES.splitlines()[0]}"
    assert references.splitlines()[:2] == ["main.py:1: from shapes import area", 'main.py:3: print(area(2, "3"))']
    assert "width: int" in hover
    assert symbols.startswith("1: function area")
    assert "shapes.py:1: function area" in found
    assert "called at main.py:3" in calls
    assert "Ruff: Organize imports" in actions
    assert renamed.startswith("Renamed area to surface in 2 files:")
    assert editor.lines("main.py") == ["from shapes import surface", "", 'print(surface(2, "3"))']
    assert editor.lines("shapes.py")[0].startswith("def surface(")


def test_a_code_action_becomes_an_edit_of_the_agent(start: Start, folder: Path) -> None:
    title = "Ruff (F401): Remove unused import: `os`"
    editor = opened(
        start,
        folder,
        edits(replaced("main.py", "from shapes", "import os\n\nfrom shapes")),
        edits({"path": "main.py", "line": 1, "title": title}, name="apply_code_action"),
    )

    turn(editor)

    assert results(editor)[1] == (True, f"Applied {title} in 1 file:\nmain.py: +0 −1 lines")
    assert editor.lines("main.py")[:2] == ["", "from shapes import area"]


def test_a_text_is_formatted_by_the_editors_server_before_its_diff(start: Start, folder: Path) -> None:
    editor = opened(
        start,
        folder,
        edits(replaced("shapes.py", "width * height", "width  *  height*2")),
        **TRUSTING,
        PYGENT_EDITS_FORMAT="on",
    )

    turn(editor)

    assert editor.lines("shapes.py")[1] == "    return width * height * 2"
    assert "The formatter has changed your text of shapes.py" in results(editor)[0][1]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".pygent-format")) == []


def test_without_servers_an_edit_waits_for_nothing(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    editor = start([edits(replaced("a.txt", "one", "two")), Step(text="done")], **PATIENT)
    editor.edit("a.txt")

    turn(editor)

    assert editor.lines("a.txt") == ["two"]
