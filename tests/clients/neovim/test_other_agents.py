"""An agent that others wrote, in Neovim: it asks, edits what is unsaved, and its edit is reviewed and undone."""

from __future__ import annotations

from pathlib import Path

from tests.clients import qwen
from tests.clients.neovim.changing import connect, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.dialogs import answer
from tests.clients.neovim.reviews import until_waiting


def test_its_edit_of_unsaved_text_is_asked_about_reviewed_and_undone(start: Start, folder: Path, home: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one\ntwo\n")
    qwen.set_up(home, home / "config" / "pygent-ls")
    editor = start(qwen.editing(path, "two", "three"), PYGENT_MODEL=qwen.MODEL)
    editor.command(f"edit {path}")
    buffer = editor.nvim.api.get_current_buf()
    editor.keys("Otyped<Esc>")
    editor.until(lambda: editor.lines(buffer) == ["typed", "one", "two"])
    connect(editor)

    send(editor, "Make it three.")
    answer(editor, "Qwen Code: Edit a.txt", "o")
    editor.until_over()

    assert editor.lines(buffer) == ["typed", "one", "three"]
    assert path.read_text() == "one\ntwo\n"

    until_waiting(editor, 1)
    editor.keys("gg]h")
    editor.until("return vim.fn.line('.') == 3")
    editor.keys("gdrih")
    until_waiting(editor, 0)
    assert editor.lines(buffer) == ["typed", "one", "two"]

    send(editor, "Once more.")
    answer(editor, "Qwen Code: Edit a.txt", "o")
    editor.until(lambda: editor.lines(buffer) == ["typed", "one", "three"])
    editor.until_over()
    editor.command("Pygent! undo")
    editor.until(lambda: editor.lines(buffer) == ["typed", "one", "two"])
