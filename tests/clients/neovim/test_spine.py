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


def test_a_prompt_right_behind_resume_is_for_the_session_that_is_resumed(start: Start) -> None:
    editor = start([Step(text="A plum."), Step(text="An oak."), Step(text="As I said.")])
    editor.command("Pygent ask fruit?")
    editor.until_over(1)
    editor.command("Pygent new trees")
    editor.until("return require('pygent.sessions').current().info.name == 'trees'")
    editor.command("Pygent ask tree?")
    editor.until_over(2)

    editor.lua("vim.cmd.Pygent('resume fruit?'); vim.cmd.Pygent('ask sure?'); vim.cmd.Pygent('cost')")
    editor.until_over(3)

    said = [message["content"] for message in editor.model.requests[2].messages if message["role"] != "system"]
    assert said == ["fruit?", "A plum.", "sure?"]
    assert "still opening" in editor.messages()


def test_a_prompt_right_behind_a_resume_that_fails_is_not_lost(start: Start) -> None:
    editor = start([Step(text="A plum."), Step(text="Still a plum.")])
    editor.command("Pygent resume nothing")
    editor.command("Pygent ask fruit?")
    editor.until_over(1)
    editor.command("Pygent resume nothing")
    editor.command("Pygent ask sure?")
    editor.until_over(2)

    assert [message["content"] for message in editor.model.requests[1].messages][-3:] == ["fruit?", "A plum.", "sure?"]
    assert "no session named nothing" in editor.messages()
