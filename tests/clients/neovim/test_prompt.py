"""The prompt's buffer: written in, sent, kept."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor, neovim
from tests.clients.neovim.prompts import (
    PROMPT,
    bar,
    daemon_id,
    kill_daemon,
    last_prompt,
    open_prompt,
    prompt_text,
    told,
    type_keys,
)
from tests.model_server import Step

CHAT = "vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(function(w) return vim.bo[vim.api.nvim_win_get_buf(w)].filetype == 'pygent-chat' end)"  # noqa: E501


def window_kind(editor: Editor) -> str:
    """`float`, or `split`, of the window that the cursor is in."""
    return editor.lua("return vim.api.nvim_win_get_config(0).relative == '' and 'split' or 'float'")


@contextmanager
def another(folder: Path, state: Path) -> Generator[Editor]:
    """A Neovim that keeps its state there, and is killed in the end, as with its terminal's window."""
    with (
        tempfile.TemporaryDirectory(prefix="pv-") as home,
        neovim(folder, Path(home), (), XDG_STATE_HOME=str(state)) as editor,
    ):
        yield editor


def test_what_is_written_is_sent_and_the_chat_is_shown_beside_the_window_that_one_was_in(start: Start) -> None:
    editor = start([Step(text="Hello there"), Step(text="Again")])

    open_prompt(editor, "say hello<CR>in two lines<Esc>")
    assert window_kind(editor) == "float"
    editor.keys("<CR>")
    editor.until_over()

    assert last_prompt(editor) == "say hello\nin two lines"
    assert prompt_text(editor) == ""
    editor.until(f"return {CHAT} and not ({PROMPT})", what="the chat in place of the float")
    open_prompt(editor, "once more<C-s>")
    editor.until(lambda: len(editor.model.requests) == 2)
    assert window_kind(editor) == "split"
    assert last_prompt(editor) == "once more"
    assert editor.lua(f"return {PROMPT}"), "the prompt below the chat stays open for the next one"


def test_a_draft_outlives_its_window_and_its_buffer_and_each_session_has_its_own(start: Start) -> None:
    editor = start()

    open_prompt(editor, "half a thou<Esc>q")
    assert not editor.lua(f"return {PROMPT}")
    open_prompt(editor, "ght<Esc>")
    assert prompt_text(editor) == "half a thought"
    editor.command("bwipeout!")
    assert prompt_text(editor) == "half a thought"

    editor.command("Pygent new other")
    editor.until("return require('pygent.sessions').current() ~= nil")
    assert prompt_text(editor) == "half a thought", "what was written before there was a session belongs to the first"
    editor.command("Pygent new second")
    editor.until("return require('pygent.sessions').current().info.name == 'second'")
    assert prompt_text(editor) == ""
    open_prompt(editor, "<Esc>")
    assert "<C-s> send" in bar(editor)


def test_what_was_not_sent_when_neovim_was_left_is_in_the_first_prompt_of_the_project_again(
    folder: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with another(folder, state) as editor:
        open_prompt(editor, "größer<CR>half a thought<Esc>")
    kept = state / "nvim/pygent-drafts.json"
    assert kept.stat().st_mode & 0o077 == 0, "it is nobody else's business"

    with another(folder, state) as editor:
        open_prompt(editor, "!")
        assert prompt_text(editor) == "größer\nhalf a thought!"
        type_keys(editor, "<Esc>ggdG")
        editor.command("doautocmd VimLeavePre")

    with another(folder, state) as editor:
        assert prompt_text(editor) == ""


def test_history_goes_through_what_was_asked_and_comes_back_to_what_is_being_written(start: Start) -> None:
    editor = start([Step(text="ok")] * 2)
    for words in ("one", "two\\nlines"):
        editor.lua(f"require('pygent').ask('{words}')")
        editor.until_over()

    open_prompt(editor, "thr<Up>")
    assert prompt_text(editor) == "two\nlines"
    type_keys(editor, "<Up>")
    assert prompt_text(editor) == "two\nlines", "in the second line the key moves the cursor"
    type_keys(editor, "<Up>")
    assert prompt_text(editor) == "one"
    type_keys(editor, "<C-p>")
    assert prompt_text(editor) == "one", "there is nothing older"
    type_keys(editor, "<C-n><C-n>")
    assert prompt_text(editor) == "thr"
    type_keys(editor, "<Esc><C-p><C-p>")
    assert prompt_text(editor) == "one"


def test_while_a_turn_runs_a_prompt_waits_or_is_said_to_it(start: Start) -> None:
    editor = start([Step(text="working", pause_after=2), Step(text="steered"), Step(text="queued")])
    editor.command("Pygent ask begin")
    editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    editor.model.wait_for(lambda: len(editor.model.requests) == 1)

    open_prompt(editor, "next one")
    editor.until(lambda: "<C-s> next · <M-CR> now" in bar(editor))
    type_keys(editor, "<Esc><CR>")
    editor.until("return #require('pygent.sessions').current().conversation.queue == 1")
    type_keys(editor, "ilook here<M-CR>")
    assert prompt_text(editor) == ""
    editor.until("return #require('pygent.prompt.drafts').current().sent == 1", what="the daemon to take what was said")
    editor.model.resume()
    editor.model.wait_for(lambda: len(editor.model.answered_s) == 3)
    editor.until("return #require('pygent.prompt.drafts').current().sent == 0", what="the queued prompt to begin")

    said = [request.texts("user") for request in editor.model.requests]
    assert said == [["begin"], ["begin", "look here"], ["begin", "look here", "next one"]]


def test_ctrl_c_stops_the_turn_and_what_is_being_written_stays(start: Start) -> None:
    editor = start([Step(text="endless", stall_after=2)])
    editor.command("Pygent ask begin")
    editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")

    open_prompt(editor, "wait<C-c>")
    editor.until_over()

    assert prompt_text(editor) == "wait"
    assert editor.lua("return vim.fn.mode()") == "i"


def test_a_daemon_that_is_killed_loses_nothing_that_was_written_and_the_next_prompt_starts_another(
    start: Start,
) -> None:
    editor = start([Step(text="endless", stall_after=2), Step(text="fresh")])
    editor.command("Pygent ask begin")
    editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    answer = "vim.inspect(require('pygent.sessions').current().conversation)"
    editor.until(f"return {answer}:find('endless', 1, true)", what="the beginning of the answer, which is kept")
    open_prompt(editor, "it waits<C-s>")
    editor.until("return #require('pygent.sessions').current().conversation.queue == 1")
    type_keys(editor, "and a draft")

    kill_daemon(editor)

    editor.until(lambda: prompt_text(editor) == "it waits\n\nand a draft", what="what was sent in vain")
    type_keys(editor, "<C-s>")
    editor.until(lambda: len(editor.model.requests) == 2)
    assert last_prompt(editor) == "it waits\n\nand a draft"
    assert prompt_text(editor) == ""
    editor.until("return #require('pygent.sessions').current().conversation.queue == 0", what="what is written again")


def test_two_prompts_of_the_same_words_are_two_turns_and_the_one_that_waits_stays_known(start: Start) -> None:
    editor = start([Step(text="working", pause_after=2), Step(text="again")])
    editor.command("Pygent ask the same")
    editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    editor.command("Pygent ask the same")
    editor.until("return #require('pygent.sessions').current().conversation.queue == 1")

    known = "return vim.tbl_map(function(each) return each.turn_id end, require('pygent.prompt.drafts').current().sent)"
    waiting = "return require('pygent.sessions').current().conversation.queue[1].turnId"
    assert editor.lua(known) == [editor.lua(waiting)]
    editor.model.resume()
    editor.until("return #require('pygent.prompt.drafts').current().sent == 0", what="the queued prompt to begin")


def test_a_daemon_that_dies_before_it_has_made_the_session_leaves_the_text_to_be_sent_again(start: Start) -> None:
    editor = start([Step(text="there")])
    editor.lua("require('pygent.daemon.client').need(function() end)")
    editor.until("return require('pygent.daemon.client').ready() ~= nil")
    os.kill(daemon_id(editor), signal.SIGSTOP)

    open_prompt(editor, "hello<C-s>")
    editor.command("Pygent ask direct")
    assert prompt_text(editor) == "hello"
    kill_daemon(editor)

    editor.until(lambda: prompt_text(editor) == "direct\n\nhello")
    told(editor, "prompts that were not started are in the prompt window again")
    type_keys(editor, "<C-s>")
    editor.until_over()
    assert last_prompt(editor) == "direct\n\nhello"


def test_what_was_written_for_a_session_that_is_deleted_stays(start: Start) -> None:
    editor = start()
    editor.command("Pygent new")
    editor.until("return require('pygent.sessions').current() ~= nil")
    open_prompt(editor, "half a thought")

    editor.command("Pygent! delete")
    editor.until("return require('pygent.sessions').current() == nil")

    assert prompt_text(editor) == "half a thought"


def test_without_a_daemon_the_text_stays_and_the_user_is_told_what_to_install(start: Start) -> None:
    editor = start()
    editor.lua("require('pygent').setup({ cmd = { 'no-such-daemon' } })")

    open_prompt(editor, "hello<C-s>")

    told(editor, "nstall it with")
    assert prompt_text(editor) == "hello"
    editor.command("Pygent ask direct")
    editor.until(lambda: prompt_text(editor) == "direct\n\nhello")


def test_an_empty_prompt_is_not_sent(start: Start) -> None:
    editor = start()

    open_prompt(editor, "  <CR><C-s>")

    told(editor, "the prompt is empty")
    assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 0
