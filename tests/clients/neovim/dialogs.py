"""What pygent asks in a window over the text, as the user sees and answers it."""

from __future__ import annotations

from tests.clients.neovim.nvim import Editor

FOUND = """
for _, window in ipairs(vim.api.nvim_list_wins()) do
  if vim.bo[vim.api.nvim_win_get_buf(window)].filetype == "pygent-ask" then return window end
end
"""


def dialog(editor: Editor) -> int | None:
    """The window of the dialog that is shown."""
    return editor.lua(FOUND)


def shown(editor: Editor) -> list[str]:
    """The lines of the dialog that is shown."""
    return editor.lines(editor.lua("return vim.api.nvim_win_get_buf(...)", dialog(editor)))


def border(editor: Editor, part: str) -> str:
    """Title or footer of its border."""
    parts = editor.lua("local w, name = ...; return vim.api.nvim_win_get_config(w)[name]", dialog(editor), part)
    return "".join(text for text, *_ in parts)


def until_asked(editor: Editor, words: str) -> None:
    """A dialog with these words is shown."""
    editor.until(lambda: dialog(editor) and any(words in line for line in shown(editor)), what=f"a dialog: {words}")


def until_it_counts(editor: Editor) -> None:
    """The dialog has the focus, and takes keys."""
    editor.until(lambda: dialog(editor) and border(editor, "footer").startswith(" <CR>"), what="keys that count")


def until_gone(editor: Editor) -> None:
    """No dialog is shown."""
    editor.until(lambda: dialog(editor) is None, what="the end of the dialog")


def answer(editor: Editor, words: str, keys: str) -> None:
    """Wait for the dialog with these words, go there, and press keys."""
    until_asked(editor, words)
    editor.command("Pygent answer")
    until_it_counts(editor)
    editor.keys(keys)
