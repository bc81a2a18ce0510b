"""What tests of prompts look at."""

from __future__ import annotations

import os
import signal

from tests.clients.neovim.nvim import Editor

PROMPT = "vim.bo.filetype == 'pygent-prompt'"


def last_prompt(editor: Editor) -> str:
    """What the model was asked last, attachments included."""
    return editor.model.requests[-1].texts("user")[-1]


def prompt_text(editor: Editor) -> str:
    """What stands in the draft that counts now."""
    code = "local drafts = require('pygent.prompt.drafts'); return drafts.text(drafts.current())"
    return editor.lua(code)


def open_prompt(editor: Editor, keys: str = "") -> None:
    """Open the prompt and type there; what was typed is in the buffer, and the mode is insert."""
    editor.command("Pygent ask")
    editor.until(f"return {PROMPT} and vim.fn.mode() == 'i'", what="the prompt in insert mode")
    if keys:
        type_keys(editor, keys)


def type_keys(editor: Editor, keys: str) -> None:
    """Type, and wait until Neovim has taken it all in."""
    editor.lua("vim.g.n_typed = (vim.g.n_typed or 0) + 1")
    n_typed = editor.lua("return vim.g.n_typed")
    editor.keys(f"{keys}<Cmd>let g:taken = {n_typed}<CR>")
    editor.until("return vim.g.taken == ...", n_typed, what=f"{keys} to be taken in")


def told(editor: Editor, part: str) -> None:
    """Wait until that was said to the user."""
    editor.until(lambda: part in editor.messages(), what=f"a message with {part!r}")


def bar(editor: Editor) -> str:
    """What stands above the prompt."""
    return editor.lua(
        "for _, w in ipairs(vim.api.nvim_list_wins()) do\n"
        "  if vim.bo[vim.api.nvim_win_get_buf(w)].filetype == 'pygent-prompt' then\n"
        "    return vim.api.nvim_eval_statusline(vim.wo[w].winbar, { winid = w, use_winbar = true }).str\n"
        "  end\n"
        "end\n"
        "return ''"
    )


def daemon_id(editor: Editor) -> int:
    """Its process."""
    own = editor.lua("return vim.lsp.get_clients({ name = 'pygent' })[1].server_capabilities.experimental.pygent")
    return own["processId"]


def kill_daemon(editor: Editor) -> None:
    """As the system does it where memory is short."""
    os.kill(daemon_id(editor), signal.SIGKILL)
    editor.until("return #vim.lsp.get_clients({ name = 'pygent' }) == 0", what="the daemon to be gone")
