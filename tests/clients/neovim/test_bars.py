"""The lines above the chat and above the prompt, as the screen shows them at any width."""

from __future__ import annotations

import pytest

from tests.clients.neovim.chats import open_chat, screen, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import PROMPT
from tests.model_server import Step

PATH = "a/long/path/through/many/folders/日本語の長いファイル名.py"

CELLS = """
local window = ...
vim.cmd.redraw()
local row, column = unpack(vim.api.nvim_win_get_position(window))
local cells = {}
for each = 1, vim.api.nvim_win_get_width(window) do
  cells[each] = vim.fn.screenstring(row + 1, column + each)
end
return table.concat(cells)
"""


def bar(editor: Editor, filetype: str) -> str:
    """The first row of the window with a buffer of that filetype."""
    window = editor.lua(
        "local filetype = ...\n"
        "return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(window)\n"
        "  return vim.bo[vim.api.nvim_win_get_buf(window)].filetype == filetype\n"
        "end)",
        filetype,
    )
    return editor.lua(CELLS, window)


@pytest.mark.parametrize("columns", [60, 100, 130, 135, 140])
def test_long_names_leave_room_for_what_else_the_bars_say(start: Start, columns: int) -> None:
    editor = start([Step(text="One."), Step(text="Two.", pause_after=1)])
    editor.lua("vim.fn.mkdir(vim.fs.dirname(...), 'p')", PATH)
    (editor.folder / PATH).write_text("x = 1\n" * 10, encoding="utf-8")
    editor.nvim.api.ui_try_resize(columns, 30)
    editor.until("return vim.o.columns == ...", columns)
    editor.edit(PATH)
    editor.command("Pygent model anthropic/claude-with-a-very-long-name-and-a-date-20250929-v1:0")
    editor.until("local s = require('pygent.sessions').current(); return s and s.info.model:find('20250929')")
    editor.command("Pygent model openai/mock")
    editor.until("return require('pygent.sessions').current().info.model == 'openai/mock'")
    editor.command("Pygent rename 日本語の長い名前のセッションを説明してください and a tail")
    editor.until("return require('pygent.sessions').current().info.name:find('tail')")
    window = open_chat(editor, enter=False)
    width = editor.lua("return vim.api.nvim_win_get_width(...)", window)
    editor.command("2,5Pygent attach")
    editor.until(f"return {PROMPT}")

    idle = bar(editor, "pygent-prompt")
    assert idle.startswith(" about …")
    assert "py:2-5 " in idle
    assert idle.endswith("g? keys ")
    assert bar(editor, "pygent-chat").startswith(" 日本語の長い")
    send(editor, "first")
    editor.until_over()
    send(editor, "second")
    editor.until(lambda: "working" in bar(editor, "pygent-chat"))

    above_chat, above_prompt = bar(editor, "pygent-chat"), bar(editor, "pygent-prompt")
    assert above_chat.startswith(" 日本")
    assert "…  ● working" in above_chat
    assert (" 120 tokens" in above_chat) == (width > 45)
    assert above_prompt.startswith(" about …")
    assert "py:2-5" in above_prompt
    assert above_prompt.endswith(" <C-s> next · <C-c> stop " if width > 45 else " g? keys ")
    assert "<" not in above_chat
    assert ">" not in above_chat
    editor.model.resume()
    editor.until_over(2)


def test_the_bar_above_the_prompt_has_all_that_fits(start: Start) -> None:
    editor = start()
    (editor.folder / "a.py").write_text("x = 1\n", encoding="utf-8")
    editor.edit("a.py")
    editor.command("1Pygent attach")
    editor.until(f"return {PROMPT}")
    [shown] = [line for line in screen(editor) if "about a.py:1" in line]

    assert shown.strip("~│ ").startswith("about a.py:1 · <BS> removes it  ")
    assert shown.strip("~│ ").endswith("  <C-s> send · g? keys")


def test_a_model_with_a_long_name_is_left_out_before_the_session_is(start: Start) -> None:
    editor = start()
    editor.command("Pygent model anthropic/claude-with-a-very-long-name-and-a-date-20250929-v1:0")
    editor.until("local s = require('pygent.sessions').current(); return s and s.info.model:find('20250929')")
    editor.command("Pygent rename " + "日本語" * 5)
    editor.until("return require('pygent.sessions').current().info.name == ...", "日本語" * 5)
    window = open_chat(editor)

    editor.lua("vim.api.nvim_win_set_width(..., 100)", window)
    assert "anthropic/claude-with-a-very-long-name-… · default" in bar(editor, "pygent-chat")
    editor.lua("vim.api.nvim_win_set_width(..., 60)", window)
    assert bar(editor, "pygent-chat").strip() == "日本語" * 5
