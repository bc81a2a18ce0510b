"""The prompt's buffer: written in, sent, kept."""

from __future__ import annotations

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Step


def last_prompt(editor: Editor) -> str:
    """The words that the model was asked last."""
    return editor.model.requests[-1].texts("user")[-1]


def prompt_lines(editor: Editor) -> list[str]:
    return editor.lines("pygent://prompt")


def test_what_is_written_is_sent_and_the_chat_shows_it(start: Start) -> None:
    editor = start([Step(text="Hello there")])

    editor.command("Pygent ask")
    editor.until("return vim.bo.filetype == 'pygent-prompt' and vim.fn.mode() == 'i'")
    editor.keys("say hello<Esc><CR>")
    editor.until_over()

    assert last_prompt(editor) == "say hello"
    assert prompt_lines(editor) == [""]
    assert editor.until(
        "return vim.iter(vim.api.nvim_list_wins()):any(function(w) return "
        "vim.bo[vim.api.nvim_win_get_buf(w)].filetype == 'pygent-chat' end)"
    )
