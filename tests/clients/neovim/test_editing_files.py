"""Files that the agent makes, moves and deletes, and the buffers that show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.clients.neovim.changing import apply, connect, of_file, text_edit
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor


def opened(start: Start, folder: Path) -> tuple[Editor, int]:
    """An editor with a file that the daemon sees."""
    (folder / "a.txt").write_text("one\n")
    editor = start()
    buffer = editor.edit("a.txt")
    connect(editor)
    return editor, buffer


def operation(**given: object) -> dict[str, Any]:
    return {"documentChanges": [given]}


def moved(folder: Path, old: str, new: str) -> dict[str, Any]:
    return operation(kind="rename", oldUri=(folder / old).as_uri(), newUri=(folder / new).as_uri())


def deleted(folder: Path, name: str, **options: object) -> dict[str, Any]:
    return operation(kind="delete", uri=(folder / name).as_uri(), options=options)


def test_a_file_is_made_and_filled_in_folders_that_were_not_there(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    edit = operation(kind="create", uri=(folder / "x/y/new.txt").as_uri())
    filling = of_file(folder / "x/y/new.txt", [text_edit((0, 0), (0, 0), "a\nb\n")])
    edit["documentChanges"] += filling["documentChanges"]

    assert apply(editor, edit) == {"applied": True}

    assert editor.lines("new.txt") == ["a", "b"]
    assert editor.lua("return vim.api.nvim_get_current_buf()") == buffer
    assert apply(editor, edit)["failureReason"] == "x/y/new.txt already exists"


def test_a_moved_file_keeps_its_buffer_with_its_undo_and_can_be_written(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.lua("vim.api.nvim_buf_set_lines(0, 1, 1, true, { 'unsaved' })")

    assert apply(editor, moved(folder, "a.txt", "sub/b.txt")) == {"applied": True}

    assert editor.nvim.api.buf_get_name(buffer) == str(folder / "sub/b.txt")
    assert editor.lines(buffer) == ["one", "unsaved"]
    assert not (folder / "a.txt").exists()
    assert editor.lua("return vim.fn.bufexists(...)", str(folder / "a.txt")) == 0
    editor.lua("vim.api.nvim_buf_set_lines(0, 2, 2, true, { 'more' })")
    editor.command("silent write")
    assert (folder / "sub/b.txt").read_text() == "one\nunsaved\nmore\n"
    editor.command("silent undo 0")
    assert editor.lines(buffer) == ["one"]
    attached = "return #vim.lsp.get_clients({ name = 'pygent', bufnr = ... }) == 1"
    assert editor.lua(attached, buffer)


def test_a_moved_folder_takes_its_buffers_along(start: Start, folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "old/c.txt").write_text("c\n")
    editor, _ = opened(start, folder)
    buffer = editor.edit("old/c.txt")

    assert apply(editor, moved(folder, "old", "new")) == {"applied": True}

    assert editor.nvim.api.buf_get_name(buffer) == str(folder / "new/c.txt")


def test_a_file_is_not_moved_onto_another(start: Start, folder: Path) -> None:
    (folder / "b.txt").write_text("b\n")
    editor, _ = opened(start, folder)

    assert apply(editor, moved(folder, "a.txt", "b.txt"))["failureReason"] == "b.txt already exists"
    assert apply(editor, moved(folder, "none.txt", "c.txt"))["failureReason"] == "none.txt does not exist"
    assert (folder / "b.txt").read_text() == "b\n"


def test_the_windows_of_a_deleted_file_stay(start: Start, folder: Path) -> None:
    (folder / "b.txt").write_text("b\n")
    editor, _ = opened(start, folder)
    editor.command("split b.txt")

    assert apply(editor, deleted(folder, "b.txt")) == {"applied": True}

    assert not (folder / "b.txt").exists()
    assert editor.lua("return #vim.api.nvim_list_wins()") == 2
    assert editor.lua("return vim.fn.bufexists(...)", str(folder / "b.txt")) == 0


def test_unsaved_changes_of_a_deleted_file_stay_in_its_buffer(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.lua("vim.api.nvim_buf_set_lines(0, 1, 1, true, { 'unsaved' })")

    assert apply(editor, deleted(folder, "a.txt")) == {"applied": True}

    assert not (folder / "a.txt").exists()
    assert editor.lines(buffer) == ["one", "unsaved"]


def test_an_edit_of_an_unknown_kind_is_refused(start: Start, folder: Path) -> None:
    editor, _ = opened(start, folder)

    answer = apply(editor, operation(kind="shred", uri=(folder / "a.txt").as_uri()))

    assert answer == {"applied": False, "failureReason": "unknown kind of edit: shred"}
