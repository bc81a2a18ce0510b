"""The chat of a Neovim, as tests look at it."""

from __future__ import annotations

from typing import cast

from tests.clients.neovim.nvim import Editor

SCREEN = """
local lines = {}
vim.cmd.redraw()
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  lines[row] = vim.trim(table.concat(cells))
end
return lines
"""


def open_chat(editor: Editor, *, enter: bool = True) -> int:
    """Show the chat of the session that prompts go to; its window."""
    editor.lua("require('pygent.chat').open(nil, { enter = ... })", enter)
    return cast("int", editor.until("return require('pygent.chat').window()"))


def send(editor: Editor, prompt: str) -> None:
    """Begin a turn, and wait until the chat shows its prompt."""
    before = count(editor, "## You")
    editor.lua("require('pygent.sessions').current():send(...)", prompt)
    editor.until(lambda: count(editor, "## You") > before, what=f"the prompt {prompt}")


def ask(editor: Editor, prompt: str) -> list[str]:
    """A whole turn; what the chat shows at its end."""
    before = n_ends(editor)
    send(editor, prompt)
    editor.until(lambda: n_ends(editor) > before, what="the end of the turn in the chat")
    return chat(editor)


def chat(editor: Editor) -> list[str]:
    """The text of the chat of the session that prompts go to."""
    return cast(
        "list[str]",
        editor.lua(
            "local buffer = require('pygent.chat.buffer_names').buffer(require('pygent.sessions').current())\n"
            "return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)"
        ),
    )


def count(editor: Editor, line: str) -> int:
    return chat(editor).count(line)


def n_ends(editor: Editor) -> int:
    """How many turns are over, as the chat shows it."""
    return len([line for line in chat(editor) if line.startswith(("· Done", "! Stopped", "! Interrupted"))])


def place(editor: Editor, line: str) -> int:
    """The number of the last line that begins so, from 1."""
    lines = chat(editor)
    return max(number for number, each in enumerate(lines, 1) if each.startswith(line))


def view(editor: Editor, window: int) -> dict[str, int]:
    """Where the cursor and the top of a window are."""
    return cast(
        "dict[str, int]",
        editor.lua(
            "return vim.api.nvim_win_call(..., function()\n"
            "  local view = vim.fn.winsaveview()\n"
            "  return { line = view.lnum, column = view.col, top = view.topline }\n"
            "end)",
            window,
        ),
    )


def closed(editor: Editor, window: int) -> list[str]:
    """The lines of the chat at which a closed fold begins."""
    numbers = editor.lua(
        "return vim.api.nvim_win_call(..., function()\n"
        "  local found = {}\n"
        "  for line = 1, vim.fn.line('$') do\n"
        "    if vim.fn.foldclosed(line) == line then table.insert(found, vim.fn.getline(line)) end\n"
        "  end\n"
        "  return found\n"
        "end)",
        window,
    )
    return cast("list[str]", numbers)


def screen(editor: Editor) -> list[str]:
    """What is on the screen, line by line."""
    return cast("list[str]", editor.lua(SCREEN))
