"""What the keys of the chat do."""

from __future__ import annotations

import pytest

from tests.clients.neovim.chats import ask, chat, closed, n_ends, open_chat, place, screen, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Call, Step


def line(editor: Editor) -> str:
    return str(editor.lua("return vim.api.nvim_get_current_line()"))


def test_turns_are_gone_through_from_heading_to_heading(start: Start) -> None:
    editor = start([Step(text="## You\n\nOne."), Step(text="Two.")])
    open_chat(editor)
    ask(editor, "first")
    ask(editor, "second")
    headings = [number for number, each in enumerate(chat(editor), 1) if each == "## You"]

    seen: list[int] = []
    for keys in ("gg]]", "]]", "[[", "[[", "2]]"):
        editor.keys(keys)
        seen.append(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]"))

    end = len(chat(editor))
    assert seen == [headings[2], end, headings[2], headings[0], end], "a heading of the model's is none of a turn"


def test_q_closes_the_window_and_the_last_one_stays_with_an_empty_buffer(start: Start) -> None:
    editor = start()
    open_chat(editor)
    editor.keys("q")
    editor.until("return #vim.api.nvim_tabpage_list_wins(0) == 1")
    open_chat(editor)
    editor.command("only")
    editor.keys("q")

    editor.until("return require('pygent.chat').window() == nil")
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1
    assert not editor.messages()


def test_ctrl_c_stops_the_turn(start: Start) -> None:
    editor = start([Step(text="It goes on and on", pause_after=2)])
    open_chat(editor)
    send(editor, "go")
    editor.until("return require('pygent.sessions').current():is_running()")
    editor.keys("<C-c>")
    editor.until(lambda: n_ends(editor) == 1)

    assert chat(editor)[-3:] == ["! Stopped", "", "R  Continue"]
    editor.keys("<C-c>")
    editor.until(lambda: "no turn is running" in editor.messages())


@pytest.mark.parametrize("key", ["i", "a", "o"])
def test_a_prompt_is_written_from_the_chat(start: Start, key: str) -> None:
    editor = start()
    open_chat(editor)
    editor.keys(key)

    editor.until("return vim.bo.filetype == 'pygent-prompt'")


def test_the_keys_are_shown(start: Start) -> None:
    editor = start()
    open_chat(editor)
    editor.keys("g?")
    editor.until("return vim.api.nvim_win_get_config(0).relative ~= ''")
    shown = "\n".join(screen(editor))
    for key in ("]]", "<CR>", "<C-c>", "g?"):
        assert key in shown
    editor.keys("q")

    editor.until("return vim.bo.filetype == 'pygent-chat'")


def test_a_file_that_is_named_opens_beside_the_chat_at_its_line(start: Start) -> None:
    editor = start([Step(text="Look at `sub/a.py:3` or [there](sub/a.py#L2), not at nowhere.py:9.")])
    (editor.folder / "sub").mkdir()
    (editor.folder / "sub" / "a.py").write_text("one\ntwo\nthree\n")
    window = open_chat(editor)
    ask(editor, "where?")
    where = "return vim.fn.expand('%:.') .. ':' .. vim.fn.line('.')"

    editor.keys("gg/a.py:3<CR><CR>")
    editor.until(f"{where} == 'sub/a.py:3'")
    editor.lua("vim.api.nvim_set_current_win(...)", window)
    editor.keys("gg/a.py#<CR>gf")
    editor.until(f"{where} == 'sub/a.py:2'")
    editor.lua("vim.api.nvim_set_current_win(...)", window)
    editor.keys("gg/nowhere<CR>gf")
    editor.until(lambda: "no file name at the cursor" in editor.messages())

    assert editor.lua("return vim.api.nvim_get_current_win()") == window


def test_the_file_of_a_call_opens_at_the_line_of_the_diff_and_the_diff_by_itself(start: Start) -> None:
    edit = Call(name="edit_file", arguments={"path": "a.py", "old": "line 9", "new": "line nine"})
    editor = start([Step(calls=(edit,)), Step(text="Done.")])
    (editor.folder / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    window = open_chat(editor)
    send(editor, "go")
    editor.until("return require('pygent.sessions').current().asks[1] ~= nil")
    editor.lua("require('pygent.sessions').current().asks[1].answer({ optionId = 'allow_once' })")
    editor.until(lambda: n_ends(editor) == 1)
    editor.lua("vim.api.nvim_set_current_win(...)", window)

    editor.keys(f"{place(editor, '✓ Edit')}Ggd")
    editor.until("return vim.bo.filetype == 'diff'")
    assert "+line nine" in editor.lines(0)
    editor.keys("q")
    editor.until("return vim.bo.filetype == 'pygent-chat'")
    editor.keys(f"{place(editor, '✓ Edit')}Gzo/+line nine<CR>gf")

    editor.until("return vim.fn.expand('%:.') .. ':' .. vim.fn.line('.') == 'a.py:9'")


def test_code_is_yanked_without_its_fences_and_an_answer_whole(start: Start) -> None:
    answer = "So:\n\n```py\nprint(1)\nprint(2)\n```\n\nThat is it."
    editor = start([Step(text=answer)])
    open_chat(editor)
    ask(editor, "how?")

    editor.keys(f'{place(editor, "print(2)")}G"agy')
    editor.until("return vim.fn.getreg('a') == 'print(1)\\nprint(2)\\n'")
    editor.keys(f'{place(editor, "That")}G"bgy')

    assert editor.until("local b = vim.fn.getreg('b') return b ~= '' and b") == answer + "\n"


def test_a_model_that_failed_is_asked_again_at_once(start: Start) -> None:
    editor = start([Step(status=529, error="busy", headers={"retry-after": "25"}), Step(text="Here I am.")])
    open_chat(editor)
    send(editor, "go")
    editor.until(lambda: any("next attempt at" in each for each in chat(editor)))
    editor.keys("R")
    editor.until(lambda: n_ends(editor) == 1)

    assert "Here I am." in chat(editor)
    assert any(each.endswith("; retried.") for each in chat(editor))


def test_a_key_of_the_users_own_replaces_one_of_the_chat(start: Start) -> None:
    editor = start([Step(text="Hi.")])
    editor.command("autocmd FileType pygent-chat nnoremap <buffer> q <Cmd>let g:mine = 1<CR>")
    window = open_chat(editor)
    editor.keys("q")
    editor.until("return vim.g.mine == 1")

    assert editor.lua("return require('pygent.chat').window()") == window
    assert closed(editor, window) == []
