"""What the model, tools and files say, as the chat shows it: bounded, on their lines, and never taken for its own."""

from __future__ import annotations

import re

import pytest

from tests.clients.neovim.chats import ask, chat, closed, n_ends, open_chat, place, screen, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import open_prompt
from tests.model_server import Call, Step

REQUEST = """
local session = require("pygent.sessions").current()
session:request(..., { sessionId = session.id }, function() end)
"""


def allow(answer: str = "allow_once") -> str:
    return f"require('pygent.sessions').current().asks[1].answer({{ optionId = '{answer}' }})"


def test_what_waits_for_the_user_stands_at_the_end_until_it_is_answered(start: Start) -> None:
    run = Call(name="shell", arguments={"command": "rm a.py\n\x1b[2J"})
    editor = start([Step(calls=(run,)), Step(text="Then not.")])
    open_chat(editor)
    send(editor, "go")
    editor.until(lambda: any(line.startswith("⏸ waiting for your permission: ") for line in chat(editor)))

    assert chat(editor)[-1].startswith("⏸ waiting for your permission: ")
    assert any("⏸ " in line and "waiting for you" in line for line in screen(editor))
    editor.lua(allow("reject_once"))
    editor.until(lambda: n_ends(editor) == 1)
    assert chat(editor)[-1] == "· Done"
    assert any(line.endswith("denied") for line in screen(editor))


def test_a_running_command_shows_its_last_lines_and_a_failed_one_its_exit_code(start: Start) -> None:
    run = Call(name="shell", arguments={"command": "sh run.sh"})
    editor = start([Step(calls=(run,)), Step(text="So.")])
    script = "for each in 1 2 3 4 5; do echo line $each; done; until [ -e go ]; do sleep 0.05; done; exit 3"
    (editor.folder / "run.sh").write_text(script)
    open_chat(editor)
    send(editor, "go")
    editor.until("return require('pygent.sessions').current().asks[1] ~= nil")
    editor.lua(allow())

    editor.until(lambda: chat(editor)[-3:] == ["│ line 3", "│ line 4", "│ line 5"], what="the last lines")
    (editor.folder / "go").touch()
    editor.until(lambda: n_ends(editor) == 1)
    assert not [line for line in chat(editor) if line.startswith("│")]
    assert any("✗ sh run.sh" in line and "exit code 3" in line for line in screen(editor))


def test_the_state_of_a_call_stands_before_its_title(start: Start) -> None:
    fail = Call(name="shell", arguments={"command": "exit 3"})
    wait = Call(name="shell", arguments={"command": "until [ -e go ]; do sleep 0.05; done"})
    refuse = Call(name="shell", arguments={"command": "rm a.py"})
    missing = Call(name="read_file", arguments={"path": "b.py"})
    calls = (Call(name="list_files", arguments={}), missing)
    editor = start([Step(calls=calls), *(Step(calls=(each,)) for each in (fail, wait, refuse)), Step(text="So.")])
    open_chat(editor)
    send(editor, "go")

    def signs() -> list[str]:
        return [line for line in chat(editor) if line[:2] in {"… ", "⏸ ", "✓ ", "✗ ", "⊘ "}]

    def beside(title: str) -> str:
        [line] = [line for line in screen(editor) if title in line and not line.startswith("⏸ waiting")]
        return line

    for sign in ("⏸ exit 3", "⏸ until"):
        editor.until(lambda sign=sign: any(line.startswith(sign) for line in signs()), what=sign)
        editor.until("return require('pygent.sessions').current().asks[1] ~= nil")
        editor.lua(allow())
    editor.until(lambda: any(line.startswith("… until") for line in signs()))
    assert beside("… until").endswith(" running")
    (editor.folder / "go").touch()
    editor.until(lambda: any(line.startswith("⏸ rm") for line in signs()))
    editor.until("return require('pygent.sessions').current().asks[1] ~= nil")
    assert beside("⏸ rm a.py").endswith("waiting for you")
    editor.lua(allow("reject_once"))
    editor.until(lambda: n_ends(editor) == 1)

    assert [line[:6] for line in signs()] == ["✓ List", "✗ Read", "✗ exit", "✓ unti", "⊘ rm a"]
    assert " · " not in beside("✓ List")
    assert "failed · " in beside("✗ Read b.py")
    assert "exit code 3 · " in beside("✗ exit 3")
    assert beside("⊘ rm a.py").endswith("denied")
    assert group_at(editor, "✗ exit 3") == group_at(editor, "✗ Read b.py") == "PygentChatFailed"
    assert group_at(editor, "✓ List") == "PygentChatDone"


def group_at(editor: Editor, line: str) -> str:
    """The highlight group of the first character of the line of the chat that begins so."""
    return editor.lua(
        "local marks = vim.inspect_pos(0, ... - 1, 0).extmarks\n"
        "table.sort(marks, function(one, other) return one.opts.priority > other.opts.priority end)\n"
        "return marks[1].opts.hl_group",
        place(editor, line),
    )


@pytest.mark.parametrize("is_hidden", [False, True])
@pytest.mark.parametrize("command", ["ask and now?", "explain", "test", "fix", "2,3fix"])
def test_a_prompt_that_is_sent_is_scrolled_to(start: Start, command: str, *, is_hidden: bool) -> None:
    editor = start([Step(text="\n".join(f"line {n}" for n in range(200))), Step(text="So.")])
    (editor.folder / "code.py").write_text("one\ntwo\nthree\n", encoding="utf-8")
    editor.edit("code.py")
    editor.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('lint'), 0, {\n"
        "  { lnum = 0, col = 0, message = 'odd' }, { lnum = 1, col = 0, message = 'odder' },\n"
        "  { lnum = 2, col = 0, message = 'oddest' } })"
    )
    window = open_chat(editor, enter=False)
    ask(editor, "go")
    editor.lua("vim.api.nvim_win_set_cursor(..., { 1, 0 })", window)
    if is_hidden:
        editor.lua("require('pygent.chat').hide()")

    words = re.match(r"([\d,]*)(.*)", command)
    assert words is not None
    editor.command(f"{words[1]}Pygent {words[2]}")
    editor.until(lambda: n_ends(editor) == 2)

    shown = "return vim.api.nvim_win_get_cursor(require('pygent.chat').window())[1]"
    editor.until(lambda: editor.lua(shown) == len(chat(editor)))
    assert any("So." in line for line in screen(editor))


def test_enter_shows_again_what_waits(start: Start) -> None:
    editor = start([Step(calls=(Call(name="shell", arguments={"command": "rm a.py"}),)), Step(text="Then not.")])
    window = open_chat(editor)
    send(editor, "go")
    editor.until("return require('pygent.sessions').current().asks[1] ~= nil")
    editor.until(lambda: chat(editor)[-1].startswith("⏸"))
    editor.lua("vim.api.nvim_set_current_win(...)", window)
    editor.keys("G<CR>")

    editor.until("return vim.api.nvim_win_get_config(0).relative ~= ''", what="the float of the permission")


def test_enter_goes_to_the_edits_that_wait_to_be_looked_at(start: Start) -> None:
    edit = Call(name="edit_file", arguments={"path": "a.py", "old": "line 9", "new": "line nine"})
    editor = start([Step(calls=(edit,)), Step(text="Done.")])
    (editor.folder / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 21)))
    editor.lua("require('pygent').setup({ review = { when = 'each' } })")
    window = open_chat(editor)
    send(editor, "go")
    editor.until("return require('pygent.sessions').current().asks[1] ~= nil")
    editor.lua(allow())
    editor.until(lambda: "⏸ waiting for your review of the edits" in chat(editor))
    editor.lua("vim.api.nvim_set_current_win(...)", window)
    editor.keys("G<CR>")

    editor.until("return vim.fn.expand('%:.') .. ':' .. vim.fn.line('.') == 'a.py:9'")


def test_output_of_a_program_is_plain_and_bounded(start: Start) -> None:
    command = "printf '\\033[31mred\\033[0m\\a 10%%\\r100%%\\n```\\n'; seq 1 500; printf '%05000d' 7"
    editor = start([Step(calls=(Call(name="shell", arguments={"command": command}),)), Step(text="So.")])
    window = open_chat(editor)
    send(editor, "go")
    editor.until("return require('pygent.sessions').current().asks[1] ~= nil")
    editor.lua(allow())
    editor.until(lambda: n_ends(editor) == 1)

    lines = chat(editor)
    assert len(closed(editor, window)) == 1
    assert "100%" in lines
    assert "````" in lines, "the fence is longer than what it holds"
    assert any(line.endswith("more lines; `gd` shows all") for line in lines)
    assert not [line for line in lines if "\x1b" in line or "\a" in line or "\r" in line]
    assert len(lines) < 300


def test_what_a_model_says_moves_no_cursor_and_turns_no_text(start: Start) -> None:
    editor = start([Step(text="a\x1b[2Jb\rc\x00d\u202eabc\u2066 \x9b31m\r\n~~~\nopen")])
    open_chat(editor)

    lines = ask(editor, "say")

    assert lines[6:9] == ["a␛[2Jbc␀d‹U+202E›abc‹U+2066› ‹U+009B›31m", "~~~", "open"]
    assert lines[9:] == ["~~~", "", "· Done"], "a code block that it leaves open is closed"


def test_a_line_without_an_end_is_broken(start: Start) -> None:
    said = "é" * 30_000
    editor = start([Step(text=said, chunk=1500)])
    open_chat(editor)

    lines = ask(editor, "say")

    assert "".join(lines[6:-2]) == said
    assert max(len(line.encode()) for line in lines) <= 4000


def test_a_modeline_and_a_heading_of_the_models_are_only_text(start: Start) -> None:
    editor = start([Step(text="vim: set readonly tabstop=99:\n\n## You\n\nfoo")])
    open_chat(editor)
    ask(editor, "say")

    assert editor.lua("return vim.bo.tabstop") != 99
    assert len(editor.lua("return require('pygent.chat').of(vim.api.nvim_get_current_buf()):turns()")) == 1


def test_a_plan_is_shown_below_until_all_of_it_is_done(start: Start) -> None:
    def plan(*states: str) -> Call:
        entries = [{"content": f"step\n{number}", "status": state} for number, state in enumerate(states, 1)]
        return Call(name="plan", arguments={"entries": entries})

    editor = start(
        [
            Step(calls=(plan("in_progress", "pending"),)),
            Step(text="On.", pause_after=1),
            Step(calls=(plan("completed", "completed"),)),
            Step(text="All done."),
        ]
    )
    open_chat(editor)
    send(editor, "go")
    editor.until(lambda: chat(editor)[-1] == "- [ ] step 2")
    assert chat(editor)[-3:] == ["Plan: 0 of 2 done", "- [-] step 1", "- [ ] step 2"]
    editor.model.resume()
    editor.until(lambda: n_ends(editor) == 1)
    assert chat(editor)[-3:] == ["Plan: 0 of 2 done", "- [-] step 1", "- [ ] step 2"]

    lines = ask(editor, "more")

    assert lines[-1] == "· Done"


def test_a_copy_of_a_session_shows_what_was_said_before_it_was_made(start: Start) -> None:
    editor = start(
        [Step(text="I look.", calls=(Call(name="read_file", arguments={"path": "a.py"}),)), Step(text="One.")]
    )
    (editor.folder / "a.py").write_text("x = 1\n")
    open_chat(editor)
    ask(editor, "first")
    editor.lua(
        "local sessions = require('pygent.sessions')\n"
        "sessions.current():request('pygent/session/fork', { sessionId = sessions.current().id }, function(_, made)\n"
        "  sessions.open(made.sessionId, function(copy) _G.copy = copy.id; require('pygent.chat').open(copy) end)\n"
        "end)"
    )
    editor.until("return _G.copy")
    editor.until(lambda: "One." in chat(editor))

    lines = chat(editor)
    assert lines[lines.index("first") :][:8] == [
        "first",
        "",
        "## pygent",
        "",
        "I look.",
        "",
        "✓ read_file a.py",
        "```yaml",
    ]
    assert place(editor, "One.") == len(lines)


def test_a_conversation_that_is_loaded_from_a_file_is_shown_above_what_the_session_has(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    open_chat(editor)
    ask(editor, "first")
    ask(editor, "/export json kept.json")
    editor.command("Pygent new")
    editor.until(lambda: n_ends(editor) == 0)
    ask(editor, "/load kept.json")

    editor.until(lambda: "One." in chat(editor) and n_ends(editor) == 1, what="the messages of the file")
    lines = ask(editor, "second")

    assert [line for line in lines if line in ("first", "One.", "/load kept.json", "second", "Two.")] == [
        "first",
        "One.",
        "/load kept.json",
        "second",
        "Two.",
    ]


def test_an_end_that_is_told_twice_at_once_is_not_left_over_when_the_chat_begins_anew(start: Start) -> None:
    editor = start([Step(text="One.")])
    open_chat(editor)
    before = ask(editor, "first")

    editor.lua(
        "local s = require('pygent.sessions').current(); local over = s.conversation.items[#s.conversation.items];"
        "s.info = vim.tbl_extend('force', s.info, { turnIds = { 'unknown' }, lastSeq = s.conversation.last_seq });"
        "s:tell({ items = { over, over } })"
    )

    editor.until("return #require('pygent.sessions').current().conversation.items > 0", what="the items again")
    editor.until(lambda: n_ends(editor) == 1 and "One." in chat(editor), what="the chat as it was")
    assert chat(editor) == before


def test_a_turn_that_was_taken_back_says_so(start: Start) -> None:
    editor = start([Step(text="One.")])
    open_chat(editor)
    ask(editor, "first")
    editor.lua(REQUEST, "pygent/session/clear")

    editor.until(lambda: any("undone" in line for line in screen(editor)))


def test_a_session_that_is_deleted_leaves_its_chat_readable(start: Start) -> None:
    editor = start([Step(text="One.")])
    open_chat(editor)
    before = ask(editor, "first")
    editor.lua(REQUEST, "pygent/session/delete")

    editor.until(lambda: any("deleted" in line for line in screen(editor)[:2]))
    editor.until(lambda: editor.lines(0) == before)


def test_the_chat_and_the_prompt_are_markdown_to_other_plugins(start: Start) -> None:
    editor = start([Step(text="One **two**.\n\n```lua\nprint(1)\n```\n")])
    editor.lua(
        "_G.seen = {}\n"
        "vim.api.nvim_create_autocmd('FileType', { pattern = 'pygent-*', callback = function(about)\n"
        "  seen[about.match] = vim.treesitter.get_parser(about.buf):lang()\n"
        "end })"
    )
    open_chat(editor)
    open_prompt(editor, "A **prompt**<Esc>")
    assert editor.lua("return seen") == {"pygent-chat": "markdown", "pygent-prompt": "markdown"}
    editor.keys("<CR>")
    editor.until(lambda: n_ends(editor) == 1)

    found = editor.lua(
        "local buffer, found = require('pygent.chat.buffer_names').buffer(require('pygent.sessions').current()), {}\n"
        "local parser = vim.treesitter.get_parser(buffer)\n"
        "parser:parse(true)\n"
        "parser:for_each_tree(function(tree, language)\n"
        "  local query = vim.treesitter.query.parse(language:lang(), ({\n"
        "    markdown = '(atx_heading (inline) @heading)', markdown_inline = '(strong_emphasis) @strong',\n"
        "    lua = '(function_call) @call' })[language:lang()] or '')\n"
        "  for _, node in query:iter_captures(tree:root(), buffer) do\n"
        "    table.insert(found, vim.treesitter.get_node_text(node, buffer))\n"
        "  end\n"
        "end)\n"
        "table.sort(found)\n"
        "return found"
    )
    assert found == ["**prompt**", "**two**", "You", "print(1)", "pygent"]
