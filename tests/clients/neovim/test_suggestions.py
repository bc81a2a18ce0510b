"""Completions as ghost text, and the next edit, in a real Neovim against the real daemon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Step

TEXT = "def total(items):\n    \n\nprint(total([]))\n"

COMPLETING = {"PYGENT_COMPLETION_MODEL": "openai/mock", "PYGENT_COMPLETION_DEBOUNCE_MS": "20"}


def begun(start: Start, script: Sequence[Step], text: str = TEXT, *, options: Any = None, **more: str) -> Editor:
    """An editor in the body of the function, in insert mode."""
    editor = start(script, **{**COMPLETING, **more})
    (editor.folder / "cart.py").write_text(text, encoding="utf-8")
    editor.lua("require('pygent').setup(...)", options or {"root_markers": ["cart.py"]})
    editor.edit("cart.py")
    editor.lua("require('pygent.daemon.client').need(function() end)")
    editor.until("return #vim.lsp.get_clients({ name = 'pygent', bufnr = 0 }) > 0", what="the client of the buffer")
    editor.keys("ggjA")
    editor.until("return vim.api.nvim_get_mode().mode == 'i'")
    return editor


def ghost(editor: Editor) -> str:
    """The ghost text that is shown; empty without any."""
    found = editor.lua(
        "return vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('pygent.ghost_text'), 0, -1, "
        "{ details = true })"
    )
    lines = [
        "".join(text for text, _ in line)
        for *_, details in found
        for line in (details["virt_text"], *details.get("virt_lines", []))
    ]
    return "\n".join(lines)


def until_shown(editor: Editor, text: str) -> None:
    editor.until(lambda: ghost(editor) == text, what=f"the ghost text {text!r}")


def line(editor: Editor) -> str:
    return editor.lua("return vim.api.nvim_get_current_line()")


def test_what_the_model_would_write_is_shown_and_tab_takes_it(start: Start) -> None:
    editor = begun(start, [Step(text="eturn sum(\n        items\n    )")])

    editor.keys("r")
    until_shown(editor, "eturn sum(\n        items\n    )")
    assert editor.lines()[1] == "    r", "it is not in the text"
    editor.keys("<Tab>")

    editor.until(lambda: editor.lines()[1:4] == ["    return sum(", "        items", "    )"])
    assert ghost(editor) == ""
    assert editor.lua("return vim.api.nvim_win_get_cursor(0)") == [4, 5]
    editor.keys("<Esc>u")
    editor.until(lambda: editor.lines()[1] == "    r", what="undo of what was accepted, and of nothing else")
    editor.keys("u")
    editor.until(lambda: editor.lines() == TEXT.splitlines())
    editor.keys("<C-r><C-r>")
    editor.until(lambda: editor.lines()[1] == "    return sum(")


def test_words_and_lines_are_accepted_one_by_one(start: Start) -> None:
    editor = begun(start, [Step(text="eturn größe(\n        items\n    )")])

    editor.keys("r")
    until_shown(editor, "eturn größe(\n        items\n    )")
    editor.keys("<M-Right>")
    editor.until(lambda: line(editor) == "    return")
    editor.keys("<M-Right>")
    editor.until(lambda: line(editor) == "    return größe")
    editor.keys("<M-Right>")
    editor.until(lambda: line(editor) == "    return größe(")
    until_shown(editor, "\n        items\n    )")
    editor.keys("<M-C-Right>")
    editor.until(lambda: line(editor) == "        items")
    until_shown(editor, "\n    )")


def test_what_is_typed_of_it_leaves_the_rest_at_once(start: Start) -> None:
    editor = begun(start, [Step(text="eturn 1")])

    editor.keys("r")
    until_shown(editor, "eturn 1")
    editor.keys("etu")
    until_shown(editor, "rn 1")

    assert len(editor.model.requests) == 1


def test_the_next_key_ends_the_request_and_a_late_answer_is_not_shown(start: Start) -> None:
    editor = begun(start, [Step(text="eturn 111", pause_after=1), Step(text="turn 2")])

    editor.keys("r")
    editor.until(lambda: len(editor.model.requests) == 1)
    editor.keys("e")
    editor.until(lambda: editor.model.disconnects == 1)
    editor.model.resume()

    until_shown(editor, "turn 2")


@pytest.mark.parametrize("keys", ["<Esc>", "<C-]>", "<Left>", "x", "<BS>"])
def test_it_is_gone_with_insert_mode_the_place_and_the_text(start: Start, keys: str) -> None:
    editor = begun(start, [Step(text="eturn 1"), Step(text="", finish="stop")])
    mapped = "return vim.fn.maparg('<Tab>', 'i', false, true).buffer == 1"

    editor.keys("r")
    until_shown(editor, "eturn 1")
    assert editor.lua(mapped)
    editor.keys(keys)

    until_shown(editor, "")
    assert not editor.lua(mapped), "Tab is the user's again"
    assert editor.lines()[1] == {"x": "    rx", "<BS>": "    "}.get(keys, "    r")


def test_a_key_of_the_buffer_comes_back(start: Start) -> None:
    editor = begun(start, [Step(text="eturn 1")])
    editor.lua("vim.keymap.set('i', '<Tab>', 'mine', { buffer = 0 })")

    editor.keys("r")
    until_shown(editor, "eturn 1")
    editor.keys("<Tab>")
    editor.until(lambda: line(editor) == "    return 1")
    editor.keys("<Tab>")

    editor.until(lambda: line(editor) == "    return 1mine")


def test_keys_are_the_users_choice(start: Start) -> None:
    options = {"root_markers": ["cart.py"], "completion": {"keys": {"accept": "<C-y>", "dismiss": False}}}
    editor = begun(start, [Step(text="eturn 1")], options=options)

    editor.keys("r")
    until_shown(editor, "eturn 1")
    editor.keys("<C-y>")

    editor.until(lambda: line(editor) == "    return 1")


def test_mappings_work_without_keys_of_the_plugin(start: Start) -> None:
    editor = begun(start, [Step(text="eturn 1")], options={"root_markers": ["cart.py"], "completion": {"keys": False}})
    editor.lua("vim.keymap.set('i', '<C-a>', '<Plug>(pygent-accept-word)')")

    editor.keys("r")
    until_shown(editor, "eturn 1")
    editor.keys("<C-a>")

    editor.until(lambda: line(editor) == "    return")


@pytest.mark.parametrize("case", ["no model", "disabled"])
def test_it_is_off_without_a_model_or_by_the_options(start: Start, case: str) -> None:
    more = {"PYGENT_COMPLETION_MODEL": ""} if case == "no model" else {}
    options = {"root_markers": ["cart.py"], "completion": {"enabled": case != "disabled"}}
    editor = begun(start, [Step(text="eturn 1")], options=options, **more)

    editor.keys("r<Plug>(pygent-complete)")
    editor.until(lambda: line(editor) == "    r")

    assert editor.lua("return vim.fn.exists('#pygent.suggestions')") == 0
    assert editor.model.requests == []


def test_a_menu_has_precedence(start: Start) -> None:
    editor = begun(start, [Step(text="eturn 1"), Step(text="x")], f"{TEXT}rows\nrest\n")

    editor.keys("r")
    until_shown(editor, "eturn 1")
    editor.keys("<C-n>")

    editor.until("return vim.fn.pumvisible() == 1")
    until_shown(editor, "")


# The next edit

NEXT = {"PYGENT_COMPLETION_NEXT_EDIT": "true"}


def answer(old: str, new: str) -> Step:
    return Step(text=f"<old>\n{old}\n</old>\n<new>\n{new}\n</new>")


def next_edit(editor: Editor) -> list[str]:
    """The lines that the suggested edit adds, as they are shown."""
    found = editor.lua(
        "return vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('pygent.next_edit'), 0, -1, "
        "{ details = true })"
    )
    return ["".join(text for text, _ in each) for *_, details in found for each in details.get("virt_lines", [])]


def until_suggested(editor: Editor, *lines: str) -> None:
    editor.until(lambda: next_edit(editor) == list(lines), what=f"the next edit {lines}")


RENAMING = "def total(items):\n    return sum(items)\n\n\nprint(total([]))\nprint(total([1]))\n"


def renamed(start: Start) -> Editor:
    """An editor in which a function was renamed; the model suggests to rename its first use."""

    def play(request: Any, _: int) -> Step:
        asked = request.texts("user")[0]
        is_renamed = "+def sum_of(items):" in asked
        return answer("print(total([]))", "print(sum_of([]))") if is_renamed else Step(text="NONE")

    editor = start(play, **COMPLETING, **NEXT)
    (editor.folder / "cart.py").write_text(RENAMING, encoding="utf-8")
    editor.lua("require('pygent').setup(...)", {"root_markers": ["cart.py"]})
    editor.edit("cart.py")
    editor.lua("require('pygent.daemon.client').need(function() end)")
    editor.until("return #vim.lsp.get_clients({ name = 'pygent', bufnr = 0 }) > 0", what="the client of the buffer")
    editor.keys("ggwcwsum_of<Esc>")
    editor.until(lambda: editor.lines()[0] == "def sum_of(items):")
    return editor


def test_the_next_edit_is_shown_and_a_key_goes_there_and_makes_it(start: Start) -> None:
    editor = renamed(start)
    until_suggested(editor, "print(sum_of([]))")

    editor.keys("<M-n>")
    editor.until("return vim.api.nvim_win_get_cursor(0)[1] == 5", what="the cursor at the edit")
    assert editor.lines()[4] == "print(total([]))"
    editor.keys("<M-n>")
    editor.until(lambda: editor.lines()[4] == "print(sum_of([]))")
    editor.keys("u")
    editor.until(lambda: editor.lines()[4] == "print(total([]))")


@pytest.mark.parametrize("keys", ["<C-]>", "x", "i", ":enew!<CR>"])
def test_the_next_edit_is_gone_once_the_text_changes(start: Start, keys: str) -> None:
    editor = renamed(start)
    until_suggested(editor, "print(sum_of([]))")

    editor.keys(keys)

    editor.until("return not require('pygent.suggestions.next_edit').is_shown()")
    editor.lua("return require('pygent.suggestions.next_edit').go_or_apply()")
    assert "print(total([]))" in editor.lines("cart.py")
