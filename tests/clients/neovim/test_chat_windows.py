"""Where the chat is shown."""

from __future__ import annotations

import pytest

from tests.clients.neovim.chats import ask, chat, open_chat, screen, view
from tests.clients.neovim.conftest import Start
from tests.model_server import Step


@pytest.mark.parametrize("position", ["right", "left", "below", "above", "tab", "float"])
def test_it_opens_where_the_options_say_and_is_hidden_and_shown_again(start: Start, position: str) -> None:
    editor = start([Step(text="One.")])
    editor.edit("mine.txt")
    editor.lua("require('pygent').setup({ chat = { position = ..., size = 0.3 } })", position)
    window = open_chat(editor)
    row, column = editor.lua("return vim.api.nvim_win_get_position(...)", window)
    width, height = editor.lua("return { vim.api.nvim_win_get_width(...), vim.api.nvim_win_get_height(...) }", window)
    beside = {"right": (84, 36), "left": (0, 36)}
    if position in beside:
        assert (column, width) == beside[position]
    elif position in ("below", "above"):
        assert height == 12
        assert (row == 0) == (position == "above")
    else:
        assert width in (36, 120)
    ask(editor, "first")

    editor.lua("require('pygent.chat').toggle()")
    assert editor.lua("return require('pygent.chat').window()") is None
    assert editor.lua("return vim.fn.expand('%:t')") == "mine.txt"
    again = open_chat(editor)

    assert view(editor, again)["line"] == len(chat(editor))
    assert any("· Done" in line for line in screen(editor))


def test_it_is_shown_beside_what_the_user_does_without_taking_the_cursor(start: Start) -> None:
    editor = start([Step(text="One.")])
    editor.edit("mine.txt")
    before = editor.lua("return vim.api.nvim_get_current_win()")

    window = open_chat(editor, enter=False)

    assert window != before
    assert editor.lua("return vim.api.nvim_get_current_win()") == before
    assert editor.lua("return vim.wo.winbar .. vim.wo.foldtext") == "foldtext()", "what is set for the chat is its own"


def test_the_line_above_it_says_how_the_session_is_set_where_there_is_room(start: Start) -> None:
    editor = start([Step(text="One.")])
    editor.lua("require('pygent').setup({ chat = { size = 80 } })")
    window = open_chat(editor)
    ask(editor, "100% sure?")
    [wide] = editor.until(lambda: [line for line in screen(editor)[:2] if "100% sure?" in line], what="its name")
    assert "openai/mock · default" in wide
    assert "120 tokens" in wide

    editor.lua("vim.api.nvim_win_set_width(..., 45)", window)

    [narrow] = [line for line in screen(editor)[:2] if "100% sure?" in line]
    assert "default" not in narrow
    assert "120 tokens" in narrow


def test_its_buffer_is_named_as_its_session(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    editor.edit("mine.txt")
    open_chat(editor)
    name = "return vim.fn.expand('%:t')"
    assert editor.lua(name) == "New session"
    alternate = editor.nvim.funcs.bufname("#")
    ask(editor, "Is it a/b [or] c?")
    editor.until(lambda: editor.lua(name) == "Is it a-b -or- c-")
    assert editor.nvim.funcs.bufname("#") == alternate
    editor.command("edit")
    editor.until(lambda: editor.lua(name) == "Is it a-b -or- c-" and "One." in chat(editor))
    editor.command("Pygent! chat")
    editor.until(lambda: editor.lua(name) == "New session")
    ask(editor, "Is it a/b [or] c?")

    editor.until(lambda: editor.lua(name) == "Is it a-b -or- c-")
    session = editor.lua("return require('pygent.sessions').current().id")
    assert editor.nvim.api.buf_get_name(0) == f"pygent://chat/{session[:8]}/Is it a-b -or- c-"
    left = editor.lua(
        "return vim.tbl_filter(function(b) return vim.api.nvim_buf_get_name(b):find('New session') end, "
        "vim.api.nvim_list_bufs())"
    )
    assert left == []


def test_another_session_takes_its_place_in_a_window_that_is_fixed(start: Start) -> None:
    editor = start([Step(text="One.")])
    window = open_chat(editor)
    ask(editor, "first")
    editor.command("set winfixbuf")
    editor.command("Pygent new second")

    editor.until("return vim.fn.expand('%:t') == 'second'")
    assert editor.lua("return { vim.api.nvim_get_current_win(), vim.wo.winfixbuf }") == [window, True]
    editor.command("only")
    editor.keys("q")
    editor.until("return vim.api.nvim_buf_get_name(0) == ''")
    assert editor.messages() == ""


def test_a_paragraph_that_is_higher_than_its_window_is_shown_as_far_as_there_is_room(start: Start) -> None:
    editor = start([Step(text="word " * 400), Step(text="Two.")])
    open_chat(editor)
    ask(editor, "first")
    editor.command("Pygent new")
    editor.until("return vim.fn.expand('%:t') == 'New session'")
    editor.command("Pygent resume first")

    editor.until(lambda: any("· Done" in line for line in screen(editor)))
    assert len([line for line in screen(editor) if "word" in line]) > 20


def test_it_fits_in_a_screen_that_is_smaller_than_asked_for_and_follows_as_that_changes(start: Start) -> None:
    editor = start([Step(text="One.\n\n" * 30)])
    editor.lua("require('pygent').setup({ chat = { size = 500 } })")
    editor.nvim.api.ui_try_resize(40, 10)
    editor.until("return vim.o.columns == 40")
    window = open_chat(editor)
    ask(editor, "first")
    editor.nvim.api.ui_try_resize(100, 30)
    editor.until("return vim.o.columns == 100")

    assert any("· Done" in line for line in screen(editor))
    assert view(editor, window)["line"] == len(chat(editor))


def test_another_buffer_in_its_window_has_none_of_its_options(start: Start) -> None:
    editor = start([Step(text="One.")])
    window = open_chat(editor)
    editor.edit("mine.txt")
    assert editor.lua("return vim.wo.winbar .. vim.wo.foldtext") == "foldtext()"
    assert editor.lua("return require('pygent.chat').window()") is None
    editor.command("buffer pygent://chat")

    assert editor.lua("return require('pygent.chat').window()") == window
    assert "winbar" in editor.lua("return vim.wo.winbar")
