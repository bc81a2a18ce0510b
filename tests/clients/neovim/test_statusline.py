"""The line for a statusline: short, current, and never in the way."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.changing import bypass_permissions
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Call, Step

SHELL = Call(name="shell", arguments={"command": "echo 50%; while [ ! -e over ]; do sleep 0.05; done"})


def line(editor: Editor) -> str:
    return editor.lua("return require('pygent').statusline()")


def test_it_says_what_runs_and_is_drawn_anew_by_itself(start: Start, home: Path) -> None:
    bypass_permissions(home)
    editor = start([Step(calls=(SHELL,)), Step(text="done")])
    assert line(editor) == ""
    editor.lua(
        "_G.drawn = {}; function _G.Line() local l = require('pygent').statusline(); _G.drawn[l] = true; return l end"
    )
    editor.command("set laststatus=2 statusline=%{v:lua.Line()}")

    editor.command("Pygent ask run it")
    editor.until(lambda: "echo 50;" in line(editor), what="the running call")

    assert line(editor).startswith("pygent: openai/mock · bypass · ")
    assert len(line(editor)) < 70
    editor.until("return vim.iter(pairs(_G.drawn)):any(function(l) return l:find('echo 50;', 1, true) ~= nil end)")
    (editor.folder / "over").touch()
    editor.until_over()
    editor.until(lambda: line(editor) == "pygent: openai/mock · bypass")
    editor.until("return vim.fn.screenstring(vim.o.lines - 1, 1) == 'p'")


def test_it_says_that_something_waits_for_the_user_and_is_empty_without_a_daemon(start: Start) -> None:
    call = Call(name="shell", arguments={"command": "touch made"})
    editor = start([Step(calls=(call,)), Step(text="done")])

    editor.command("Pygent ask make it")
    editor.until(lambda: line(editor) == "pygent: openai/mock · waiting for you")
    editor.command("Pygent stop")
    editor.until(lambda: line(editor) == "pygent: openai/mock")
    editor.lua("for _, c in ipairs(vim.lsp.get_clients({ name = 'pygent' })) do c:stop(true) end")

    editor.until(lambda: line(editor) == "")
