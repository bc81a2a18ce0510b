"""Edits of the agent that meet the user's own: typing, completing, selecting, and undo."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.changing import (
    TRUSTING,
    answer_to_edit,
    begin_to_apply,
    change,
    connect,
    edits,
    of_file,
    replaced,
    results,
    text_edit,
    turn,
    version_of,
)
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Step

IS_TYPING = "return vim.fn.mode() == 'i'"


def opened(start: Start, folder: Path, text: str = "one\ntwo\nthree\n", **environment: str) -> tuple[Editor, int]:
    """An editor with a file that the daemon sees."""
    (folder / "a.txt").write_text(text)
    editor = start(**environment)
    buffer = editor.edit("a.txt")
    connect(editor)
    return editor, buffer


def typed(editor: Editor, keys: str, line: str) -> None:
    """Type, and wait until the line is so."""
    editor.keys(keys)
    editor.until(lambda: line in editor.lines(), what=f"{line!r} in the buffer")


def test_what_is_typed_on_the_line_of_an_edit_stays_and_the_user_is_told(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    typed(editor, "2GA typed", "two typed")

    answer = change(editor, buffer, text_edit((1, 0), (1, 3), "deux"), text_edit((0, 0), (0, 0), "zero\n"))

    assert answer == {"applied": True}
    typed(editor, " more<Esc>", "deux typed more")
    assert editor.lines(buffer) == ["zero", "one", "deux typed more", "three"]
    assert "your current line was changed: a.txt:3 (Edit a file)" in editor.messages()
    signs = "return vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('pygent.edits'), 0, -1, {})"
    assert [mark[1] for mark in editor.lua(signs)] == [2]


def test_an_edit_of_another_line_says_nothing(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    typed(editor, "2GA typed", "two typed")

    change(editor, buffer, text_edit((0, 0), (0, 3), "ONE"))

    typed(editor, " more", "two typed more")
    assert "you type in" not in editor.messages()


def test_typing_goes_on_through_many_edits_of_the_same_line(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    typed(editor, "2GA ", "two ")
    for number in range(10):
        typed(editor, str(number), f"{'x' * number}two {'0123456789'[: number + 1]}")
        change(editor, buffer, text_edit((1, 0), (1, 0), "x"))
    editor.keys("<Esc>")
    editor.until("return vim.fn.mode() == 'n'")

    assert editor.lines(buffer) == ["one", "xxxxxxxxxxtwo 0123456789", "three"]


def test_a_line_in_a_manual_fold_keeps_what_is_typed(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.command("setlocal foldmethod=manual")
    editor.command("2,3fold")
    editor.command("2foldopen")
    typed(editor, "2GA typed", "two typed")

    change(editor, buffer, text_edit((1, 0), (1, 3), "deux"))

    typed(editor, " more", "deux typed more")
    assert editor.lua("return { vim.fn.foldlevel(2), vim.fn.foldlevel(3) }") == [1, 1]


def test_an_edit_waits_for_a_completion_to_end(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder, "wonderful\nwonderland\n\n")
    editor.keys("3Giwon<C-n>")
    editor.until("return vim.fn.pumvisible() == 1")

    edit = of_file(folder / "a.txt", [text_edit((0, 0), (0, 0), "x")], version_of(editor, buffer))
    begin_to_apply(editor, edit)
    assert editor.lua("return _G.answer == nil")
    assert editor.lines(buffer)[0] == "wonderful"
    editor.keys("<C-y>")

    assert answer_to_edit(editor) == {"applied": True}
    assert editor.lines(buffer) == ["xwonderful", "wonderland", "wonderful"]


def test_an_edit_waits_for_an_operator_and_not_for_a_command_line(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.keys("2Gd")
    editor.until("return vim.api.nvim_get_mode().mode == 'no'")
    edit = of_file(folder / "a.txt", [text_edit((0, 0), (0, 0), "zero\n")], version_of(editor, buffer))
    begin_to_apply(editor, edit)
    assert editor.lua("return _G.answer == nil")
    editor.keys("<Esc>")
    assert answer_to_edit(editor) == {"applied": True}
    editor.keys(":s/two/2")
    editor.until("return vim.fn.mode() == 'c'")

    change(editor, buffer, text_edit((0, 0), (0, 4), "ZERO"))

    editor.keys("<CR>")
    editor.until("return vim.fn.mode() == 'n'")
    assert editor.lines(buffer) == ["ZERO", "one", "2", "three"]


def test_an_edit_gives_up_where_the_user_takes_long(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.keys("2Gd")
    editor.until("return vim.api.nvim_get_mode().mode == 'no'")

    answer = change(editor, buffer, text_edit((0, 0), (0, 3), "ONE"))

    assert answer["applied"] is False
    assert answer["failureReason"] == "the user has an operator pending in it: try again later"
    assert editor.lines(buffer) == ["one", "two", "three"]


def test_each_edit_is_one_step_of_undo_apart_from_typing(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    typed(editor, "2GA typed", "two typed")
    change(editor, buffer, text_edit((0, 0), (0, 3), "ONE"), text_edit((2, 0), (2, 5), "THREE"))
    typed(editor, " more<Esc>", "two typed more")
    change(editor, buffer, text_edit((0, 0), (0, 0), "zero\n"))

    states = [editor.lines(buffer)]
    for _ in range(4):
        editor.command("silent undo")
        states.append(editor.lines(buffer))

    assert states == [
        ["zero", "ONE", "two typed more", "THREE"],
        ["ONE", "two typed more", "THREE"],
        ["ONE", "two typed", "THREE"],
        ["one", "two typed", "three"],
        ["one", "two", "three"],
    ]
    for _ in range(4):
        editor.command("silent redo")
    assert editor.lines(buffer) == states[0]


def test_with_undojoin_all_edits_of_a_turn_are_one_step(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    steps = [edits(replaced("a.txt", old, old.upper())) for old in ("one", "two", "three")]
    editor = start([*steps, Step(text="done"), steps[0], steps[0], Step(text="done")], **TRUSTING)
    editor.lua("require('pygent').setup({ edits = { undojoin = true } })")
    buffer = editor.edit("a.txt")

    turn(editor)
    assert editor.lines(buffer) == ["ONE", "TWO", "THREE"], results(editor)
    editor.command("silent undo")

    assert editor.lines(buffer) == ["one", "two", "three"]
    turn(editor)
    assert editor.lines(buffer) == ["ONE", "two", "three"], results(editor)
    editor.command("silent undo")
    assert editor.lines(buffer) == ["one", "two", "three"]


def test_with_undojoin_a_change_of_the_user_between_two_edits_is_a_step_of_its_own(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    steps = [edits(replaced("a.txt", old, old.upper())) for old in ("one", "two")]
    editor = start([*steps, Step(text="done")], **TRUSTING)
    editor.lua("require('pygent').setup({ edits = { undojoin = true } })")
    editor.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'PygentToolResult', once = true, "
        "callback = function() vim.api.nvim_buf_set_lines(0, 2, 3, true, { 'mine' }) end })"
    )
    buffer = editor.edit("a.txt")

    turn(editor)

    if results(editor)[1][0]:  # else it was refused, as one that met what the user did
        editor.command("silent undo")
        assert editor.lines(buffer) == ["ONE", "two", "mine"]
    editor.command("silent undo")
    assert editor.lines(buffer) == ["ONE", "two", "three"]
