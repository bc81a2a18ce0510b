"""What the daemon is told of where the user is and what is wrong, as the model reads it."""

from __future__ import annotations

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import last_prompt, type_keys
from tests.model_server import Step

RECORD = """
_G.contexts = {}
vim.api.nvim_create_autocmd('LspNotify', { callback = function(about)
  if about.data.method == 'pygent/context/didChange' then
    table.insert(_G.contexts, vim.deepcopy(about.data.params))
  end
end })
"""


def ask(editor: Editor, words: str) -> str:
    n_before = len(editor.model.answered_s)
    editor.command(f"Pygent ask {words}")
    editor.until(lambda: len(editor.model.answered_s) > n_before)
    editor.until_over()
    return last_prompt(editor)


def in_files(start: Start) -> Editor:
    editor = start([Step(text="ok")] * 4)
    for name in ("one.py", "zwei.py"):
        (editor.folder / name).write_text("ä = 'größer 😀'\nb = 2\n", encoding="utf-8")
    editor.lua(RECORD)
    editor.edit("one.py")
    editor.command("Pygent new")
    editor.until("return require('pygent.sessions').current() ~= nil")
    editor.until("return #_G.contexts > 0")
    return editor


def until_told(editor: Editor, condition: str) -> None:
    """The last context fulfils it; `c` is the context."""
    editor.until(f"local c = _G.contexts[#_G.contexts]; return c and ({condition})", what=condition)


def test_the_active_file_stays_the_one_that_the_user_was_in_before_the_chat(start: Start) -> None:
    editor = in_files(start)
    editor.command("wincmd p")
    editor.command("only")
    editor.command(f"vsplit {editor.folder}/zwei.py")
    until_told(editor, "vim.endswith(c.activeUri, '/zwei.py') and #c.visibleUris == 2")

    editor.command("Pygent ask")
    type_keys(editor, "hello<Esc>")
    prompt = ask(editor, "where am I?")

    assert "Active file: zwei.py" in prompt
    assert "one.py" in prompt


def test_a_prompt_that_is_sent_right_after_a_move_says_where_the_user_is(start: Start) -> None:
    editor = in_files(start)
    editor.command("wincmd p")

    editor.lua("vim.cmd.edit(...); vim.cmd('Pygent ask where am I?')", f"{editor.folder}/zwei.py")
    editor.until(lambda: editor.model.answered_s)
    editor.until_over()

    assert "Active file: zwei.py" in last_prompt(editor)


def test_a_selection_counts_until_the_cursor_moves_on(start: Start) -> None:
    editor = in_files(start)
    editor.command("wincmd p")

    type_keys(editor, "gg0f'vf'")
    until_told(editor, "type(c.selection) == 'table'")
    until_told(editor, "c.selection.range.start.character == 5 and c.selection.range['end'].character == 20")
    type_keys(editor, "<Esc>")
    assert "größer" in ask(editor, "what is @selection")
    editor.command("wincmd p") if editor.lua("return vim.bo.filetype") == "pygent-chat" else None
    type_keys(editor, "j")
    until_told(editor, "c.selection == vim.NIL")


def test_diagnostics_of_others_are_told_once_in_the_encoding_of_the_wire(start: Start) -> None:
    editor = in_files(start)
    number = editor.nvim.funcs.bufnr("one.py")
    editor.lua("_G.contexts = {}")

    editor.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('lint'), ..., {"
        "{ lnum = 0, col = 5, end_lnum = 0, end_col = 20, message = 'odd\\nthing', severity = 2, source = 'lint', "
        "code = 'E1' } })",
        number,
    )
    until_told(editor, "c.diagnostics ~= nil")

    told = editor.lua("return _G.contexts[#_G.contexts].diagnostics[1].items[1]")
    assert told == {
        "range": {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 20}},
        "message": "odd\nthing",
        "severity": 2,
        "source": "lint",
        "code": "E1",
    }
    editor.command("wincmd p")
    prompt = ask(editor, "what is wrong? @diagnostics")
    assert "odd" in prompt
    editor.lua("vim.diagnostic.reset(nil, ...)", number)
    until_told(editor, "c.diagnostics and #c.diagnostics[1].items == 0")
    assert "odd" not in ask(editor, "and now? @diagnostics")


def test_what_happens_in_quick_succession_is_told_together(start: Start) -> None:
    editor = in_files(start)
    editor.lua("_G.contexts = {}")

    editor.lua("for i = 1, 200 do vim.api.nvim_exec_autocmds('BufEnter', {}) end")
    until_told(editor, "c.activeUri ~= nil")

    assert editor.lua("return #_G.contexts") <= 3
