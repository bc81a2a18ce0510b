"""The daemon of a project from its start to its end, and what is there without any set-up."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.clients.neovim.changing import connect, results, send, turn
from tests.clients.neovim.chats import chat, screen
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.dialogs import answer, dialog, shown, until_asked, until_it_counts
from tests.clients.neovim.nvim import WAIT_S, Editor
from tests.clients.neovim.picking import Picker
from tests.e2e.command_line import Lifeline
from tests.model_server import Call, Received, Step

OTHER_SERVER = """
import json, sys
while header := sys.stdin.buffer.readline():
    sys.stdin.buffer.readline()
    asked = json.loads(sys.stdin.buffer.read(int(header.split(b":")[1])))
    if "id" in asked:
        result = {"capabilities": {"experimental": EXPERIMENTAL}} if asked["method"] == "initialize" else None
        content = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(content), content))
        sys.stdout.buffer.flush()
"""

ATTACHED = "return #vim.lsp.get_clients({ name = 'pygent', bufnr = 0 }) > 0"

TOLD = "require('pygent').setup({ notify = function(m, l) _G.told = _G.told or {}; table.insert(told, { m, l }) end })"


def until_told(editor: Editor, words: str) -> None:
    editor.until(
        lambda: any(words in told for told, _ in editor.lua("return _G.told or {}")), what=f"to be told: {words}"
    )


def said(editor: Editor) -> list[str]:
    """What the model said in the session that prompts go to."""
    return editor.lua(
        "return vim.iter(require('pygent.sessions').current().conversation.items):map(function(i) "
        "return i.type == 'text' and table.concat(i.parts) or nil end):totable()"
    )


def processes_of(home: Path) -> list[str]:
    """The command lines of all that were started in this home, and of their children."""
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            environment = (each / "environ").read_bytes()
            line = (each / "cmdline").read_bytes()
        except OSError:  # it has ended, or is another user's
            continue
        if line and f"HOME={home}".encode() in environment.split(b"\0"):
            found.append(line.replace(b"\0", b" ").decode())
    return found


def until_none_is_left(home: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while left := processes_of(home):
        assert time.monotonic() < deadline, left


def test_a_start_that_takes_long_is_shown(start: Start, home: Path) -> None:
    gate = home / "gate"
    os.mkfifo(gate)
    editor = start([Step(text="Hello there")])
    editor.lua(
        "local daemon = require('pygent.config').get().cmd; "
        "require('pygent').setup({ cmd = { 'sh', '-c', 'read _ <\"$0\"; exec \"$@\"', ..., unpack(daemon) } })",
        str(gate),
    )
    editor.command("Pygent ask hi")
    editor.until(lambda: screen(editor)[-1].startswith("pygent: starting"), what="a word on the start")

    gate.write_text("go\n")
    editor.until(lambda: "Hello there" in "\n".join(screen(editor)), what="the answer")


# Without any set-up


def test_nothing_is_set_up_and_a_prompt_is_answered(start: Start) -> None:
    editor = start([Step(text="Hello there")])
    assert editor.lua("return package.loaded['pygent.daemon.client']") is None
    editor.command("Pygent ask hi")
    editor.until_over()

    editor.until(lambda: "Hello there" in chat(editor))
    assert editor.messages() == ""


def test_lsp_enable_alone_starts_the_daemon_with_the_first_file(start: Start, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    editor = start([])
    editor.command("lua vim.lsp.enable('pygent')")
    editor.edit("a.py")
    editor.until(ATTACHED)
    turns = editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })")
    editor.command("lua require('pygent.daemon.client').need(function(c) _G.client = c.id end)")

    assert editor.until("return _G.client") == editor.lua("return vim.lsp.get_clients({ name = 'pygent' })[1].id")
    assert turns == 1


def test_wrong_options_are_told_with_what_would_work_and_the_rest_counts(start: Start) -> None:
    editor = start([Step(text="Hello")])
    editor.lua(
        "_G.notified = {}; vim.notify = function(m) table.insert(notified, m) end; "
        "require('pygent').setup({ chat = { position = 'middle', size = 0.3 }, colour = 'red', cmd = 3 })"
    )
    assert sorted(editor.lua("return notified")) == [
        "pygent: chat.position must be one of right, left, below, above, tab, float",
        'pygent: cmd must be a list of strings such as { "pygent-ls" }',
        "pygent: unknown option colour; known are: chat, cmd, completion, edits, notify, permission, prompt, review, "
        "root, root_markers, settings, tools",
    ]
    assert editor.lua("return require('pygent.config').get().chat.size") == 0.3
    turn(editor)


# A daemon that is not there, or another


def test_a_daemon_that_is_not_installed_is_told_with_advice(start: Start) -> None:
    editor = start([])
    editor.lua(TOLD.replace("setup({", "setup({ cmd = { 'no-such-pygent' },"))
    editor.command("Pygent ask hi")

    until_told(editor, "`no-such-pygent` was not found. Install it with")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (None, "was not found"),
        ("#!/gone/python3\n", "cannot run: its Python interpreter /gone/python3 is missing"),
        ("#!{python}\nimport no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_a_daemon_that_does_not_start_is_told_last_and_stays_on_the_screen(
    start: Start, home: Path, program: str | None, words: str
) -> None:
    path = home / "broken"
    if program is not None:
        path.write_text(program.format(python=sys.executable))
        path.chmod(0o755)
    editor = start([])
    editor.lua(TOLD.replace("setup({", "setup({ cmd = { ... },"), str(path))
    editor.command("Pygent ask hi")

    editor.until(lambda: dialog(editor) and "Open :checkhealth pygent" in " ".join(shown(editor)))
    assert words in " ".join(shown(editor))
    assert "nstall it " in " ".join(shown(editor))
    assert words in editor.lua("return told[#told][1]")
    editor.command("Pygent answer")
    until_it_counts(editor)
    editor.keys("2")
    editor.until("return vim.bo.filetype == 'checkhealth'")
    editor.until(lambda: any(words in line for line in editor.lines()))


@pytest.mark.parametrize(
    ("experimental", "words"),
    [({"pygent": {"protocolVersion": 2}}, "has protocol version 2"), ({}, "is not pygent-ls")],
)
def test_another_protocol_is_told_and_its_program_ends(
    start: Start, home: Path, experimental: dict[str, object], words: str
) -> None:
    editor = start([])
    program = home / "other.py"
    program.write_text(OTHER_SERVER.replace("EXPERIMENTAL", repr(experimental)))
    editor.lua(TOLD.replace("setup({", "setup({ cmd = { ... },").replace("...", f"'{sys.executable}', '{program}'"))
    editor.command("Pygent ask hi")

    until_told(editor, words)
    editor.until("return #vim.lsp.get_clients({ name = 'pygent', _uninitialized = true }) == 0")


def test_a_daemon_that_is_killed_in_a_turn_is_told_and_the_next_prompt_goes_on(start: Start, home: Path) -> None:
    editor = start([Step(text="Half of it", stall_after=2), Step(text="Whole")])
    editor.lua(TOLD)
    use_real(editor)
    send(editor, "first")
    editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    editor.until(lambda: len(editor.model.requests) == 1)
    os.kill(daemon(editor), signal.SIGKILL)
    until_told(editor, "the daemon ended with signal 9")
    session = editor.lua("return require('pygent.sessions').current().id")
    editor.command("Pygent ask second")
    editor.until(lambda: "Whole" in said(editor))

    states = editor.lua(
        "return vim.tbl_map(function(i) "
        "return i.type .. ' ' .. (i.stopReason or (i.parts and table.concat(i.parts)) or '') end, "
        "require('pygent.sessions').current().conversation.items)"
    )
    assert editor.lua("return require('pygent.sessions').current().id") == session
    assert "end interrupted" in states
    editor.keys(":qa!<CR>")
    until_none_is_left(home)


def use_real(editor: Editor) -> None:
    """Start the daemon as users do: a process of its own, which can be killed."""
    editor.lua("require('pygent.config').get().cmd = ...", [sys.executable, "-m", "pygent_ls"])


def daemon(editor: Editor) -> int:
    """Its process."""
    parent = editor.lua("return vim.fn.getpid()")
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    (found,) = (int(each) for each in children if b"pygent_ls" in Path(f"/proc/{each}/cmdline").read_bytes())
    return found


def daemon_ids(editor: Editor) -> dict[str, int]:
    """The clients of the daemons by their roots."""
    return dict(
        editor.lua(
            "return vim.tbl_map(function(c) return { c.root_dir, c.id } end, vim.lsp.get_clients({ name = 'pygent' }))"
        )
    )


def test_a_daemon_that_answers_no_more_is_killed_by_a_restart(start: Start) -> None:
    editor = start([Step(text="One"), Step(text="Two")])
    editor.lua(TOLD)
    use_real(editor)
    turn(editor)
    hung = daemon(editor)
    os.kill(hung, signal.SIGSTOP)

    editor.command("Pygent restart")

    until_told(editor, "restarted")
    assert not Path(f"/proc/{hung}").exists()
    turn(editor)
    assert said(editor) == ["One", "Two"]
    last = daemon(editor)
    editor.lua("vim.lsp.get_clients({ name = 'pygent' })[1]:stop()")
    editor.until(lambda: not Path(f"/proc/{last}").exists(), what="the end of the daemon, which writes in its home")


def test_the_late_end_of_a_daemon_leaves_the_sessions_and_prompts_of_the_next(start: Start) -> None:
    editor = start([Step(text="One"), Step(text="Two", stall_after=1)])
    use_real(editor)
    editor.lua("require('pygent.daemon.client').need(function() end)")
    editor.until("return require('pygent.daemon.client').ready() ~= nil")
    late = daemon(editor)
    os.kill(late, signal.SIGSTOP)
    editor.lua("require('pygent.daemon.client').ready():stop(true)")
    turn(editor)
    send(editor, "second")
    editor.until(lambda: len(editor.model.requests) == 2)
    editor.until("return require('pygent.sessions').current():is_running()")
    editor.lua("_G.gone = false; require('pygent.daemon.client').watch(function(_, ready) _G.gone = not ready end)")

    os.kill(late, signal.SIGKILL)

    editor.until("return _G.gone")
    assert editor.lua("local s = require('pygent.sessions').current(); return s.client_id ~= nil and s:is_running()")
    editor.command("Pygent stop")
    editor.until_over(2)


def test_who_leaves_in_a_turn_leaves_no_process_behind(start: Start, home: Path) -> None:
    lifeline = Lifeline(home / "life")
    try:
        editor = start([Step(calls=(Call(name="shell", arguments={"command": lifeline.stubborn_command}),))])
        use_real(editor)
        send(editor)
        answer(editor, "exec 3>", "a<CR>")
        lifeline.wait_until_up()
        assert any("pygent_ls" in line for line in processes_of(home))
        editor.keys(":qa!<CR>")

        lifeline.wait_until_gone()
        until_none_is_left(home)
    finally:
        lifeline.close()


def test_who_leaves_while_something_is_asked_waits_for_nothing(start: Start, home: Path) -> None:
    editor = start([Step(calls=(Call(name="shell", arguments={"command": "touch x"}),))])
    use_real(editor)
    send(editor)
    answer(editor, "touch x", ":qa!<CR>")

    until_none_is_left(home)
    assert not (editor.folder / "x").exists()


# Which files it sees


def test_it_sees_every_file_of_its_project_and_no_other(start: Start, folder: Path, tmp_path: Path) -> None:
    (folder / "no_type").write_text("x\n")
    (tmp_path / "outside.txt").write_text("x\n")
    editor = start([])
    editor.edit("no_type")
    connect(editor)
    seen = {"no_type": editor.lua(ATTACHED)}
    editor.edit("later.txt")
    seen["later.txt"] = editor.lua(ATTACHED)
    editor.edit(tmp_path / "outside.txt")
    seen["outside.txt"] = editor.lua(ATTACHED)
    editor.command("enew")
    seen["no name"] = editor.lua(ATTACHED)
    editor.command("file named.txt | silent write")
    seen["named.txt"] = editor.lua(ATTACHED)
    editor.command("help")
    seen["help"] = editor.lua(ATTACHED)

    expected = {"no_type": True, "later.txt": True, "outside.txt": False, "no name": False, "named.txt": True}
    assert seen == {**expected, "help": False}
    assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 1


def test_two_tabs_in_two_projects_have_two_daemons_and_two_sessions(start: Start, folder: Path, tmp_path: Path) -> None:
    other = (tmp_path / "other").resolve()
    other.mkdir()

    def script(request: Received, _: int) -> Step:
        return Step(text=f"Said {request.texts('user')[-1][-3:]}")

    editor = start(script)
    turn(editor, "one")
    editor.command(f"tabnew | tcd {other}")
    turn(editor, "two")

    assert said(editor) == ["Said two"]
    editor.command("tabprevious")
    assert said(editor) == ["Said one"]
    roots = editor.lua(
        "return vim.tbl_map(function(c) return c.root_dir end, vim.lsp.get_clients({ name = 'pygent' }))"
    )
    assert sorted(roots) == sorted([str(folder), str(other)])


def test_the_end_of_one_daemon_leaves_what_the_other_asks(start: Start, tmp_path: Path) -> None:
    other = (tmp_path / "other").resolve()
    other.mkdir()
    makes = Call(name="create_file", arguments={"path": "made.txt", "content": "x"})
    editor = start([Step(text="Hello"), Step(calls=(makes,)), Step(text="Done")])
    turn(editor)
    editor.command(f"tabnew | tcd {other}")
    send(editor)
    until_asked(editor, "made.txt")
    editor.lua(
        "for _, c in ipairs(vim.lsp.get_clients({ name = 'pygent' })) do "
        "if c.root_dir == ... then c:stop(true) end end",
        str(editor.folder),
    )
    editor.until("return #vim.lsp.get_clients({ name = 'pygent' }) == 1")
    answer(editor, "made.txt", "a")

    editor.until(lambda: "Done" in said(editor))
    assert [is_well for is_well, _ in results(editor)] == [True]


@pytest.mark.parametrize("agrees", [False, True])
def test_the_home_folder_is_worked_in_only_if_the_user_agrees(start: Start, folder: Path, *, agrees: bool) -> None:
    editor = start([Step(text="Hello")])
    picker = Picker(editor)
    editor.lua("vim.env.HOME = ...", str(folder))
    editor.edit("a.txt")
    assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 0
    picker.will_choose("Yes" if agrees else "No")

    if agrees:
        turn(editor)
        assert said(editor) == ["Hello"]
    else:
        send(editor)
        assert picker.offered() == [["No", "Yes"]]
        editor.until(lambda: "is not a project" in editor.messages())
        assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 0


def test_a_folder_within_the_project_is_of_the_project(start: Start, folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "deep").mkdir()
    editor = start([Step(text="one"), Step(text="two")])
    turn(editor)
    session = editor.lua("return require('pygent.sessions').current().id")
    editor.command("cd deep")
    turn(editor)

    assert editor.lua("return require('pygent.sessions').current().id") == session
    assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 1


def test_a_file_that_is_deleted_under_an_open_buffer_is_edited_as_it_is_there(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text("old\n")
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "old", "new": "new"})
    editor = start([Step(calls=(edit,)), Step(text="Done")], PYGENT_MODE="trust")
    buffer = editor.edit("a.txt")
    (folder / "a.txt").unlink()  # before the daemon has seen both agree, after which the disk would count
    connect(editor)
    turn(editor)

    ((is_well, told),) = results(editor)
    assert is_well, told
    assert editor.lines(buffer) == ["new"]


# What other plugins hear


def test_every_event_is_heard_with_what_it_is_about(start: Start) -> None:
    asks = Call(name="ask_user", arguments={"question": "Which?", "choices": [{"title": "This"}]})
    makes = Call(name="create_file", arguments={"path": "a.txt", "content": "x\n"})
    editor = start([Step(calls=(asks,)), Step(calls=(makes,)), Step(text="Done")])
    editor.lua(
        "_G.heard = {}; vim.api.nvim_create_autocmd('User', { pattern = 'Pygent*', callback = function(e) "
        "heard[e.match] = vim.tbl_keys(e.data); table.sort(heard[e.match]) end })"
    )
    send(editor)
    answer(editor, "Which?", "1")
    answer(editor, "a.txt", "a")
    editor.until_over()
    editor.lua("vim.lsp.get_clients({ name = 'pygent' })[1]:stop()")
    editor.until("return heard.PygentExit")

    of_turn = ["event", "is_replay", "session_id", "turn_id"]
    assert editor.lua("return heard") == {
        "PygentReady": ["client_id", "root"],
        "PygentSession": ["is_replay", "session_id"],
        "PygentTurnStarted": of_turn,
        "PygentToolCall": of_turn,
        "PygentQuestion": ["is_replay", "request", "session_id"],
        "PygentPermission": ["is_replay", "request", "session_id"],
        "PygentToolResult": of_turn,
        "PygentEdit": ["changes", "is_replay", "session_id", "turn_id"],
        "PygentTurnFinished": of_turn,
        "PygentExit": ["client_id", "code", "signal"],
    }


def test_what_a_resumed_session_tells_again_is_a_replay(start: Start) -> None:
    record = (
        "_G.heard = {}; vim.api.nvim_create_autocmd('User', { pattern = 'PygentTurnFinished', callback = function(e) "
        "table.insert(heard, e.data.is_replay) end })"
    )
    first = start([Step(text="One"), Step(text="Two")])
    first.lua(record)
    turn(first)
    first.lua("local s = require('pygent.sessions').current(); _G.id = s.id; require('pygent.sessions').forget(s)")
    first.lua("require('pygent.sessions').open(id, function() end)")
    first.until("return #heard == 2")
    turn(first)

    assert first.lua("return heard") == [False, True, False]


def test_what_fails_in_an_autocommand_is_told_and_stops_nothing(start: Start) -> None:
    editor = start([Step(calls=(Call(name="list_files", arguments={}),)), Step(text="Done")])
    editor.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'Pygent*', callback = function(e) error('of ' .. e.match) end "
        "}); vim.api.nvim_create_autocmd('User', { pattern = 'PygentTurnFinished', callback = function() "
        "_G.heard = true end })"
    )
    editor.keys(":Pygent ask list them<CR>")
    editor.until("return heard", what="the autocommand behind the one that fails")

    for event in ("Ready", "Session", "TurnStarted", "ToolCall", "ToolResult", "TurnFinished"):
        assert f"pygent: an autocommand of Pygent{event} failed" in editor.messages()
    assert not editor.nvim.api.get_mode()["blocking"]
    editor.lua("vim.cmd('messages clear'); vim.api.nvim_clear_autocmds({ event = 'User', pattern = 'Pygent*' })")
    editor.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'PygentTest', callback = function() "
        "vim.cmd('silent! nosuch') end }); require('pygent.notifications').plugins('PygentTest', {})"
    )
    assert editor.messages() == ""


# What stays


def test_many_turns_leave_nothing_that_grows_but_the_chat(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text("0\n")

    def script(_: object, number: int) -> Step:
        if number % 2:
            return Step(text="Done")
        change = {"path": "a.txt", "content": f"{number}\n"}
        return Step(calls=(Call(name="create_file", arguments={**change, "overwrite": True}),))

    editor = start(script, PYGENT_MODE="trust")
    editor.edit("a.txt")
    editor.command("Pygent chat")
    held = (
        "collectgarbage(); local handles = 0; vim.uv.walk(function(h) handles = handles + 1 end); "
        "local marks = 0; for _, b in ipairs(vim.api.nvim_list_bufs()) do "
        "if vim.bo[b].filetype ~= 'pygent-chat' then "
        "marks = marks + #vim.api.nvim_buf_get_extmarks(b, -1, 0, -1, {}) end end; "
        "return { handles, #vim.api.nvim_list_bufs(), #vim.api.nvim_list_wins(), marks, "
        "#vim.api.nvim_get_autocmds({}) }"
    )
    for _ in range(5):
        turn(editor)
    before = editor.lua(held)
    for _ in range(20):
        turn(editor)

    editor.until(
        lambda: all(now <= then + 2 for now, then in zip(editor.lua(held), before, strict=True)), what=str(before)
    )
