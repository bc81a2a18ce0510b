"""The menu behind `@` and `/` in a prompt: by itself, by keys, and for completion plugins."""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import daemon_id, open_prompt, prompt_text, type_keys

OMNI = "v:lua.require'pygent.prompt.completion'.omnifunc"


def menu(editor: Editor) -> list[str]:
    """Return the words of the menu; empty if it is closed."""
    return editor.lua(
        "return vim.fn.pumvisible() == 1 and vim.iter(vim.fn.complete_info({ 'items' }).items)"
        ":map(function(i) return i.word end):totable() or {}"
    )


def shows(editor: Editor, word: str) -> None:
    editor.until(lambda: word in menu(editor), what=f"{word} in the menu")


def in_project(start: Start, **options: Any) -> Editor:
    editor = start()
    (editor.folder / "src").mkdir()
    for name in ("src/main.py", "src/größe.py", "notes with space.md"):
        (editor.folder / name).write_text("", encoding="utf-8")
    if options:
        editor.lua("require('pygent').setup(...)", options)
    return editor


def test_a_menu_opens_behind_an_at_sign_and_narrows_while_one_types(start: Start) -> None:
    editor = in_project(start)

    open_prompt(editor, "größer als 😀 @")
    shows(editor, "@src/main.py")
    assert {"@diagnostics", "@selection", "@buffer", "@diff"} <= set(menu(editor))
    type_keys(editor, "main")
    editor.until(lambda: menu(editor) == ["@src/main.py"], what="the menu with what fits alone")
    type_keys(editor, "<C-y> and @grö")
    shows(editor, "@src/größe.py")
    type_keys(editor, "<CR>")

    assert prompt_text(editor) == "größer als 😀 @src/main.py and @src/größe.py"
    type_keys(editor, " @notes")
    shows(editor, '@"notes with space.md"')
    type_keys(editor, "<C-y> @src/")
    editor.until(lambda: len(menu(editor)) == 2, what="the menu with both files")
    first, second = menu(editor)
    type_keys(editor, "<C-n>")
    assert prompt_text(editor).endswith(f' @"notes with space.md" {second}')
    assert menu(editor) == [first, second], "going through the menu asks for no other"


def test_a_menu_opens_behind_a_slash_with_what_the_commands_do(start: Start) -> None:
    editor = in_project(start)

    open_prompt(editor, "/comp")

    shows(editor, "/compact")
    info = editor.lua("return vim.fn.complete_info({ 'items' }).items[1]")
    assert info["kind"] == "command"
    assert info["menu"], "it says what the command does"


def test_nothing_opens_where_nothing_is_named_or_where_it_is_not_wanted(start: Start) -> None:
    editor = in_project(start, prompt={"menu": False})

    open_prompt(editor, "@main")
    assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 0, "the daemon was not asked"
    type_keys(editor, "<C-x><C-o>")

    shows(editor, "@src/main.py")


def test_a_completion_plugin_that_calls_again_waits_for_the_same_answer(start: Start) -> None:
    editor = in_project(start, prompt={"menu": False})
    open_prompt(editor, "@main")
    editor.lua("require('pygent.sessions').need(function() end)")
    editor.until("return require('pygent.sessions').current() ~= nil")
    column = f"return vim.fn.eval([[{OMNI}(1, '')]])"
    os.kill(daemon_id(editor), signal.SIGSTOP)

    columns = [editor.lua(column), editor.lua(column)]
    asked = editor.lua("return vim.tbl_values(vim.lsp.get_clients({ name = 'pygent' })[1].requests)")
    os.kill(daemon_id(editor), signal.SIGCONT)

    assert columns == [-2, -2]
    assert [each["method"] for each in asked].count("pygent/complete") == 1
    editor.until(lambda: editor.lua(column) == 0, what="the answer")


def test_a_completion_plugin_gets_all_from_the_omnifunc(start: Start) -> None:
    editor = in_project(start, prompt={"menu": False})
    open_prompt(editor, "see größe<CR>ä @main")
    editor.lua("require('pygent.sessions').need(function() end)")
    editor.until("return require('pygent.sessions').current() ~= nil")
    start_column = editor.until(f"local at = vim.fn.eval([[{OMNI}(1, '')]]); return at >= 0 and at")
    items = editor.lua(f"return vim.fn.eval([[{OMNI}(0, '@main')]])")

    assert start_column == len("ä ".encode())
    assert [each["word"] for each in items["words"]] == ["@src/main.py"]
