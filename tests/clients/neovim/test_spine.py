"""A turn from a command to its end."""

from __future__ import annotations

from tests.clients.neovim.conftest import Start
from tests.model_server import Step


def test_a_session_is_made_prompted_and_followed(start: Start) -> None:
    editor = start([Step(text="Hello there")])
    editor.lua("require('pygent.sessions').need(function(s) _G.s = s; s:send('hi', function(e, r) _G.r = r end) end)")

    result = editor.until("return _G.r")

    assert result["text"] == "Hello there"
    assert editor.lua("return vim.lsp.get_clients({ name = 'pygent' })[1].root_dir") == str(editor.folder)


def test_two_commands_one_after_another_begin_one_session(start: Start) -> None:
    editor = start([Step(text="Hello there")])

    editor.command("Pygent chat")
    editor.command("Pygent ask hi")
    editor.until_over()

    assert editor.lua("return #require('pygent.sessions').all()") == 1
