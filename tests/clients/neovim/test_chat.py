"""The chat: what is said and done, streamed into a buffer, beside whatever the user does."""

from __future__ import annotations

from tests.clients.neovim.chats import ask, chat, closed, n_ends, open_chat, place, screen, send, view
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Call, Step

LONG = "\n".join(f"{number}. A line of an answer that goes on." for number in range(1, 61))
"""More than a screen of it."""

TOKENS = "".join(f"word{number}" + (".\n\n" if number % 25 == 0 else " ") for number in range(2000))


def read(path: str = "a.py") -> Call:
    return Call(name="read_file", arguments={"path": path})


def test_a_turn_is_shown_from_its_prompt_to_its_end(start: Start) -> None:
    editor = start([Step(text="\n\nHello **there**.\n\n```py\nprint(1)\n\n", thinking="Hm.\nA greeting.")])
    window = open_chat(editor)
    assert any("No messages yet" in line for line in screen(editor))

    lines = ask(editor, "hi\n  you")

    assert lines == [
        "## You",
        "",
        "hi",
        "  you",
        "",
        "## pygent",
        "",
        "◇ Thinking",
        "> Hm.",
        "> A greeting.",
        "",
        "",
        "Hello **there**.",
        "",
        "```py",
        "print(1)",
        "```",
        "",
        "· Done",
    ]
    assert closed(editor, window) == ["◇ Thinking"]
    shown = screen(editor)
    assert any("· Done" in line and "tokens" in line for line in shown)
    assert any("## pygent openai/mock · default" in line for line in shown)
    editor.until(lambda: any("hi you" in line and "tokens" in line for line in screen(editor)[:2]), what="its name")
    assert not editor.messages()


def test_the_user_reads_above_while_2000_tokens_stream(start: Start) -> None:
    editor = start([Step(text=LONG), Step(text=TOKENS, chunk=7)])
    window = open_chat(editor)
    ask(editor, "first")
    editor.keys("20Gzt3l")
    editor.until("return vim.api.nvim_win_get_cursor(0)[1] == 20")
    editor.command("tab split")
    other = editor.lua("return vim.api.nvim_get_current_win()")
    editor.keys("30G")
    editor.until("return vim.api.nvim_win_get_cursor(0)[1] == 30")
    before = view(editor, window), view(editor, other)

    lines = ask(editor, "go on")

    assert "".join(lines).count("word") == 2000
    assert (view(editor, window), view(editor, other)) == before


def test_a_window_at_the_end_follows_what_is_said(start: Start) -> None:
    editor = start([Step(text=LONG), Step(text=LONG)])
    window = open_chat(editor)
    ask(editor, "first")
    editor.command("new")
    editor.lua("vim.api.nvim_set_current_win(...)", window)

    lines = ask(editor, "again")

    assert view(editor, window)["line"] == len(lines)
    assert any("· Done" in line for line in screen(editor))


def test_what_the_user_types_elsewhere_is_theirs(start: Start) -> None:
    editor = start([Step(text=TOKENS, chunk=7, pause_after=50)])
    window = open_chat(editor, enter=False)
    send(editor, "go")
    editor.edit("mine.txt")
    editor.keys("iI type ")
    editor.until("return vim.api.nvim_get_current_line() == 'I type '")
    editor.model.resume()
    for letter in "while it talks":
        editor.keys(letter if letter != " " else "<Space>")
    editor.until(lambda: n_ends(editor) == 1)

    editor.until("return vim.api.nvim_get_current_line() == 'I type while it talks'")
    assert editor.lua("return vim.api.nvim_get_mode().mode") == "i"
    assert view(editor, window)["line"] == len(chat(editor)), "the chat follows its end meanwhile"


def test_a_fold_that_the_user_opens_stays_open_while_more_is_said(start: Start) -> None:
    editor = start(
        [
            Step(text="I look.", calls=(read(), read("b.py"))),
            Step(text="And on.", calls=(read(),)),
            Step(text=LONG, pause_after=3),
        ]
    )
    (editor.folder / "a.py").write_text("x = 1\n")
    (editor.folder / "b.py").write_text("y = 1\n")
    window = open_chat(editor)
    send(editor, "go")
    editor.until(lambda: len(closed(editor, window)) == 3)
    editor.keys(f"{place(editor, '✓ Read b.py')}G<Tab>")
    editor.until(lambda: len(closed(editor, window)) == 2)
    editor.command("leftabove new")
    editor.keys("i")
    editor.model.resume()
    editor.until(lambda: n_ends(editor) == 1)

    assert closed(editor, window) == ["✓ Read a.py", "✓ Read a.py"]


def test_calls_that_come_while_the_user_types_are_folded(start: Start) -> None:
    editor = start(
        [Step(text="I look.", calls=(read(),), pause_after=2), Step(calls=(read("b.py"),)), Step(text="So.")]
    )
    (editor.folder / "a.py").write_text("x = 1\n")
    window = open_chat(editor)
    editor.command("leftabove new")
    editor.keys("iwriting")
    editor.until("return vim.api.nvim_get_mode().mode == 'i'")
    send(editor, "go")
    editor.model.resume()
    editor.until(lambda: n_ends(editor) == 1)

    assert closed(editor, window) == ["✓ Read a.py", "✗ Read b.py"]
    shown = screen(editor)
    assert any("✓ Read a.py" in line for line in shown)
    assert any("✗ Read b.py failed" in line for line in shown)


def test_folds_that_are_turned_off_stay_off_until_they_are_wanted(start: Start) -> None:
    editor = start([Step(text="I look.", calls=(read(),)), Step(text="So.")])
    (editor.folder / "a.py").write_text("x = 1\n")
    window = open_chat(editor)
    editor.keys("zi")
    ask(editor, "go")
    assert closed(editor, window) == []
    editor.keys("zi")

    editor.until(lambda: closed(editor, window) == ["✓ Read a.py"])


MODES = {
    "a menu of completion": ("iapple apricot<CR>ap<C-n>", "return vim.fn.pumvisible() == 1"),
    "an operator": ("ione two<Esc>0d", "return vim.api.nvim_get_mode().mode == 'no'"),
    "a command line": (":echo 'x", 'return vim.fn.getcmdline() == "echo \'x"'),
    "the window of commands": ("q:ihello", "return vim.fn.getcmdwintype() == ':' and vim.fn.mode() == 'i'"),
    "a terminal": (":terminal sh<CR>iecho", "return vim.api.nvim_get_mode().mode == 't'"),
}


def test_whatever_the_user_is_in_the_midst_of_goes_on_while_a_turn_is_drawn(start: Start) -> None:
    turn = [Step(text="I look.", calls=(read(),), pause_after=2), Step(text=LONG, chunk=40)]
    editor = start(turn * len(MODES))
    (editor.folder / "a.py").write_text("x = 1\n")
    window = open_chat(editor, enter=False)
    left = editor.lua("return vim.api.nvim_get_current_win()")
    for n_before, (mode, (keys, holds)) in enumerate(MODES.items()):
        send(editor, mode)
        editor.command("enew!")
        editor.keys(keys)
        editor.until(holds, what=mode)

        editor.model.resume()
        editor.until(lambda n_before=n_before: n_ends(editor) == n_before + 1, what=f"the end of the turn in {mode}")

        assert editor.lua(holds), mode
        assert view(editor, window)["line"] == len(chat(editor)), mode
        editor.keys("<C-\\><C-n><Esc><C-w>:quit<CR>" if "window" in mode else "<C-\\><C-n><Esc>")
        editor.until(lambda: editor.lua("return vim.api.nvim_get_current_win()") == left)
    assert closed(editor, window) == ["✓ Read a.py"] * len(MODES)


def test_a_subagent_is_a_fold_within_which_its_calls_are_folds(start: Start) -> None:
    (task,) = (Call(name="task", arguments={"description": "look around", "prompt": "Read a.py"}),)
    editor = start(
        [Step(calls=(task,)), Step(text="I look.", calls=(read(),)), Step(text="It is x."), Step(text="So.")]
    )
    (editor.folder / "a.py").write_text("x = 1\n")
    window = open_chat(editor)
    lines = ask(editor, "go")

    assert closed(editor, window) == ["✓ Subagent: look around"]
    editor.keys(f"{place(editor, '✓ Subagent')}G<CR>")
    editor.until(lambda: closed(editor, window) == ["  ✓ Read a.py"])
    editor.keys("zc")
    editor.until(lambda: closed(editor, window) == ["✓ Subagent: look around"])
    inner = lines[lines.index("✓ Subagent: look around") :]
    assert inner.index("  I look.") < inner.index("  ✓ Read a.py") < inner.index("  It is x.")


def test_the_window_is_closed_and_opened_again_with_its_folds_while_the_turn_goes_on(start: Start) -> None:
    editor = start([Step(text="I look.", calls=(read(),)), Step(text=LONG, pause_after=3)])
    (editor.folder / "a.py").write_text("x = 1\n")
    window = open_chat(editor)
    send(editor, "go")
    editor.until(lambda: closed(editor, window) == ["✓ Read a.py"])
    editor.keys(f"{place(editor, '✓ Read')}G<Tab>")
    editor.until(lambda: not closed(editor, window))
    editor.keys("q")
    editor.until("return require('pygent.chat').window() == nil")
    editor.model.resume()
    editor.until(lambda: n_ends(editor) == 1)

    again = open_chat(editor)

    assert closed(editor, again) == []
    editor.keys(f"{place(editor, '✓ Read')}Gza")
    editor.until(lambda: closed(editor, again) == ["✓ Read a.py"])
    assert view(editor, again)["line"] == place(editor, "✓ Read")


def test_a_chat_that_is_wiped_out_in_the_middle_of_a_turn_is_made_anew(start: Start) -> None:
    editor = start([Step(text=TOKENS, chunk=7, pause_after=50)])
    open_chat(editor)
    send(editor, "go")
    before = editor.lua("return vim.api.nvim_get_current_buf()")
    editor.command("bwipeout")
    editor.model.resume()
    editor.until_over()

    open_chat(editor)

    editor.until(lambda: n_ends(editor) == 1)
    assert editor.lua("return vim.api.nvim_get_current_buf()") != before
    assert "".join(chat(editor)).count("word") == 2000
    assert not editor.messages()


def test_the_chat_is_written_by_nobody_else_and_redrawn_when_it_was(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    open_chat(editor)
    before = ask(editor, "first")
    editor.command("setlocal modifiable | 1,3delete | edit | setlocal modifiable | silent! normal! Ojunk")

    lines = ask(editor, "second")

    assert lines[: len(before)] == before
    assert lines.count("## You") == 2
    assert "junk" not in lines


def start_two_sessions(editor: Editor) -> tuple[str, str]:
    editor.lua("for _ = 1, 2 do require('pygent.sessions').begin(function(s) table.insert(_G.made, s.id) end) end")
    editor.until("return #_G.made == 2")
    one, other = editor.lua("return _G.made")
    return one, other


def test_two_sessions_have_a_chat_each_in_their_tabs(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two.")], "--cmd", "lua _G.made = {}")
    one, other = start_two_sessions(editor)
    show = "local s = require('pygent.sessions').get(...); require('pygent.chat').open(s); s:send(s.id)"
    editor.lua(show, one)
    editor.until(lambda: "One." in editor.lines(0))
    editor.command("tabnew")
    editor.lua(show, other)
    editor.until(lambda: "Two." in editor.lines(0))

    editor.command("tabprevious")
    assert "One." in editor.lines(0)
    editor.lua("require('pygent.chat').open(require('pygent.sessions').get(...))", other)

    assert "Two." in editor.lines(0)
    assert len(editor.lua("return vim.api.nvim_tabpage_list_wins(0)")) == 2
