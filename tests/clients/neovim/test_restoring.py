"""Buffers of the plugin that Neovim reads again: with a session that `:mksession` wrote, or by their names."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.clients.neovim.chats import ask, chat, open_chat, screen
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor, bare_neovim
from tests.clients.neovim.prompts import bar, last_prompt, open_prompt, prompt_text, told, type_keys
from tests.model_server import Step

NAME = "return vim.fn.expand('%:t')"

LONG = "How much is one and one and one and one"
"""A name of a session that is as long as names of buffers can be."""


@contextmanager
def restarted(editor: Editor, home: Path) -> Generator[Editor]:
    """A Neovim with the session of another one, whose daemon has ended."""
    kept = home / "session.vim"
    editor.command(f"mksession! {kept}")
    editor.command("doautocmd VimLeavePre")
    editor.lua("for _, each in ipairs(vim.lsp.get_clients({ name = 'pygent' })) do each:stop() end")
    editor.until("return #vim.lsp.get_clients({ name = 'pygent' }) == 0", what="the end of the daemon")
    later_home = home / "later"
    later_home.mkdir()
    with bare_neovim(editor.environment, later_home, editor.folder, "-S", str(kept)) as nvim:
        yield replace(editor, nvim=nvim)


def test_a_chat_is_restored_with_a_session_of_vim(start: Start, home: Path) -> None:
    editor = start([Step(text="One."), Step(text="Two."), Step(text="Three.")])
    editor.edit("mine.txt")
    open_chat(editor)
    ask(editor, "first")
    editor.command("Pygent new second")
    editor.until(f"{NAME} == 'second'")
    ask(editor, "second")
    editor.command("Pygent resume first")
    editor.until(f"{NAME} == 'first'")

    with restarted(editor, home) as later:
        later.until("return require('pygent.sessions').current() ~= nil")
        later.until(lambda: "One." in chat(later))

        later.until(lambda: any("· Done" in line for line in screen(later)))
        assert later.nvim.funcs.winnr("$") == 2
        assert later.lua("return require('pygent.chat').window() ~= nil")
        assert ask(later, "third")[-3:] == ["Three.", "", "· Done"]
        assert "pygent: " not in later.messages()


def test_a_prompt_is_restored_with_what_was_written_in_it(start: Start, home: Path) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    editor.edit("mine.txt")
    open_chat(editor)
    ask(editor, "first")
    open_prompt(editor, "half a thought<Esc>")

    with restarted(editor, home) as later:
        later.until(lambda: any("half a thought" in line for line in screen(later)))
        later.until("local s = require('pygent.sessions').current(); return s and s.info.name == 'first'")
        assert later.nvim.funcs.winnr("$") == 3
        assert "<C-s> send" in bar(later)
        later.until(lambda: prompt_text(later) == "half a thought")
        later.command("wincmd b")
        type_keys(later, "A and on<C-s>")
        later.until_over(2)
        assert last_prompt(later).startswith("half a thought and on\n")


def test_of_two_sessions_of_one_name_the_one_that_was_shown_is_restored(start: Start, home: Path) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    open_chat(editor)
    ask(editor, LONG)
    editor.until(f"{NAME} == ...", LONG)
    first = editor.lua("return vim.api.nvim_get_current_buf()")
    editor.command("Pygent new")
    editor.until(f"{NAME} == 'New session'")
    ask(editor, LONG)
    editor.until(f"{NAME} == ...", LONG)
    editor.command(f"buffer {first}")

    with restarted(editor, home) as later:
        later.until("return require('pygent.sessions').current() ~= nil")
        later.until(lambda: "One." in chat(later))
        assert "Two." not in chat(later)
        assert later.messages() == ""
        assert later.lua("return vim.o.shortmess") == editor.lua("return vim.o.shortmess")


def test_a_name_of_several_sessions_opens_the_last_used_and_says_so(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    for _ in range(2):
        editor.command("Pygent new")
        editor.until(f"{NAME} == 'New session'")
        ask(editor, "hi")
        editor.until(f"{NAME} == 'hi'")
    editor.command("enew")

    editor.command("edit pygent://chat/hi")

    told(editor, "2 sessions are named hi, and the one used last is open; `:Pygent sessions` lists all")
    editor.until(lambda: "Two." in editor.lines(0))


def test_a_session_that_is_gone_is_named(start: Start, home: Path) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    open_chat(editor)
    ask(editor, "first")
    editor.command("Pygent new second")
    editor.until(f"{NAME} == 'second'")
    ask(editor, "second")
    editor.command("Pygent! delete first")
    told(editor, "first deleted")
    editor.command("Pygent! delete second")
    told(editor, "second deleted")

    with restarted(editor, home) as later:
        told(later, "there is no session second in ")
        [line] = later.lines(0)
        assert line.startswith("There is no session second in ")
        assert line.endswith("`:Pygent sessions` lists the sessions")
        assert later.lua("return vim.bo.buftype") == "nofile"


def test_a_chat_is_opened_by_its_name(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    open_chat(editor)
    ask(editor, "first")
    buffer = editor.lua("return vim.api.nvim_get_current_buf()")
    editor.command("Pygent new second")
    editor.until(f"{NAME} == 'second'")

    editor.command("edit pygent://chat/first")
    editor.until(lambda: "One." in editor.lines(0))
    assert editor.lua("return vim.api.nvim_get_current_buf()") == buffer
    session = editor.lua("return require('pygent.chat').of(0 + vim.api.nvim_get_current_buf()).session.id")
    editor.command(f"tabedit pygent://chat/{session}")
    editor.until(lambda: "One." in editor.lines(0))
    assert editor.lua("return vim.api.nvim_get_current_buf()") == buffer, "a session has one chat"
    editor.command("edit pygent://chat/nobody")
    told(editor, "there is no session nobody in ")


def test_a_chat_in_which_nothing_was_said_is_that_of_a_new_session(start: Start, home: Path) -> None:
    editor = start([Step(text="One.")])
    open_chat(editor)

    with restarted(editor, home) as later:
        later.until("return require('pygent.sessions').current() ~= nil")
        assert "One." in ask(later, "first")
