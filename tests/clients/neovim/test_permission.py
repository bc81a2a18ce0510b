"""What the real daemon asks, from the model's tool call to what comes of the answer."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.changing import connect, results, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.dialogs import answer, border, dialog, shown, until_asked, until_gone
from tests.model_server import Call, Step


def created(*names: str) -> Step:
    return Step(calls=tuple(Call(name="create_file", arguments={"path": name, "content": "new\n"}) for name in names))


def ran(command: str) -> Step:
    return Step(calls=(Call(name="shell", arguments={"command": command}),))


def test_what_is_allowed_is_done_what_is_rejected_is_not_and_words_reach_the_model(start: Start, folder: Path) -> None:
    editor = start([created("a.txt"), created("b.txt"), created("c.txt"), Step(text="Done")])
    editor.lua(
        "_G.heard = {}; vim.api.nvim_create_autocmd('User', { pattern = 'PygentPermission', "
        "callback = function(e) table.insert(heard, e.data.request.title) end })"
    )
    send(editor)

    until_asked(editor, "a.txt")
    assert "+new" in shown(editor)
    assert not (folder / "a.txt").exists()
    answer(editor, "a.txt", "a")
    answer(editor, "b.txt", "r")
    answer(editor, "c.txt", "fcall it d.txt<CR>")
    editor.until_over()

    allowed, rejected, told = results(editor)
    assert (allowed[0], rejected[0], told[0]) == (True, False, False)
    assert "call it d.txt" in told[1]
    assert len(editor.lua("return heard")) == 3
    assert [path.name for path in folder.iterdir() if path.suffix == ".txt"] in [["a.txt"], []]
    assert editor.lua("return #require('pygent.sessions').current().asks") == 0


def test_a_rule_for_the_session_asks_no_second_time(start: Start) -> None:
    editor = start([ran("touch x"), ran("touch x"), Step(text="Done")])
    send(editor)
    answer(editor, "touch x", "s<CR>")
    editor.until_over()

    assert [is_well for is_well, _ in results(editor)] == [True, True]


def test_a_rule_for_the_first_words_of_a_command_is_stored_and_the_letters_are_those_of_the_wire(start: Start) -> None:
    editor = start([ran("npm test"), ran("npm test -- --watch"), ran("npm install"), Step(text="Done")])
    editor.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'PygentPermission', "
        "callback = function(e) _G.options = e.data.request.options end })"
    )
    send(editor)
    until_asked(editor, "npm test")
    lines = [line for line in shown(editor) if line[2:3].isdigit()]
    offered = [f"  {n} {each['key']} {each['title']}" for n, each in enumerate(editor.lua("return options"), 1)]
    assert lines == [*offered, f"  {len(offered) + 1} p Let s, a and n cover `npm test:*`"]
    answer(editor, "npm test", "p")
    covered = "Applies to: every command that starts with `npm test`, in this workspace, until you revoke it."
    until_asked(editor, covered)
    editor.keys("a")

    answer(editor, "npm install", "r")
    editor.until_over()
    assert len(results(editor)) == 3


def test_a_turn_that_is_stopped_takes_its_question_along(start: Start, folder: Path) -> None:
    editor = start([ran("touch here"), Step(text="Done")])
    editor.keys("i")
    send(editor)
    until_asked(editor, "touch here")
    editor.keys("a")
    editor.lua("require('pygent.sessions').current():cancel()")

    until_gone(editor)
    editor.until_over()
    assert editor.lines() == ["a"]
    assert not (folder / "here").exists()


def test_a_turn_is_stopped_where_it_asks(start: Start, folder: Path) -> None:
    editor = start([ran("touch here"), Step(text="Done")])
    send(editor)
    answer(editor, "touch here", "<C-c>")

    until_gone(editor)
    editor.until_over()
    assert editor.lua("return require('pygent.sessions').current().asks") == []
    assert not (folder / "here").exists()


def test_what_asks_before_its_session_is_followed_waits_in_it_from_then_on(start: Start) -> None:
    editor = start([])
    connect(editor)
    editor.lua(
        "local client, sessions = require('pygent.daemon.client').ready(), require('pygent.sessions'); "
        "client:request('pygent/session/new', vim.empty_dict(), function(_, made) _G.id = made.sessionId end)"
    )
    editor.until("return id")
    editor.lua(
        "local method = 'pygent/question/request'; local client = require('pygent.daemon.client').ready(); "
        "local asked = { questionId = 'q', sessionId = id, question = 'Which?', choices = { { title = 'This' } } }; "
        "coroutine.wrap(function() _G.answered = "
        "client.handlers[method](nil, asked, { client_id = client.id, method = method }) end)()"
    )
    assert editor.lua("return require('pygent.sessions').get(id) == nil")
    editor.lua("require('pygent.sessions').open(id, function() end)")

    editor.until("return require('pygent').statusline():find('waiting for you', 1, true)")
    answer(editor, "Which?", "1")
    assert editor.until("return answered") == {"choice": "This"}
    assert editor.lua("return #require('pygent.sessions').get(id).asks") == 0


def test_the_end_of_the_daemon_takes_its_question_along(start: Start, folder: Path) -> None:
    editor = start([ran("touch here"), Step(text="Done")])
    send(editor)
    until_asked(editor, "touch here")
    editor.lua("vim.lsp.get_clients({ name = 'pygent' })[1]:stop(true)")

    until_gone(editor)
    assert not (folder / "here").exists()


def test_trust_is_asked_for_in_a_window_while_the_user_types(start: Start, folder: Path) -> None:
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.toml").write_text('mode = "trust"\n')
    editor = start([created("a.txt"), Step(text="Done")])
    editor.keys("i")
    send(editor)
    until_asked(editor, "work in the mode trust")
    editor.keys("2<CR>x")
    editor.until(lambda: editor.lines() == ["2", "x"])
    assert dialog(editor)
    assert "takes the line" not in border(editor, "footer")
    editor.keys("<Esc>")
    answer(editor, "work in the mode trust", "2")
    editor.until_over()

    assert [is_well for is_well, _ in results(editor)] == [True]


def test_a_question_of_the_agent_is_answered(start: Start) -> None:
    asked = {"question": "Which colour?", "choices": [{"title": "Red"}, {"title": "Blue"}]}
    editor = start([Step(calls=(Call(name="ask_user", arguments=asked),)), Step(text="Done")])
    send(editor)
    answer(editor, "Which colour?", "2")
    editor.until_over()

    ((is_well, text),) = results(editor)
    assert is_well
    assert "Blue" in text


def test_what_the_daemon_says_and_asks_as_any_language_server_blocks_nobody(start: Start) -> None:
    editor = start([])
    editor.lua("_G.told = {}; require('pygent').setup({ notify = function(m, l) table.insert(told, { m, l }) end })")
    connect(editor)
    editor.lua(
        "local c = require('pygent.daemon.client').ready(); _G.answers = {}; local ctx = { client_id = c.id } "
        "for type = 1, 4 do c.handlers['window/showMessage'](nil, { type = type, message = 'm' .. type }, ctx) end "
        "for _, name in ipairs({ 'one', 'two', 'three' }) do coroutine.wrap(function() "
        "_G.answers[name] = c.handlers['window/showMessageRequest'](nil, { type = 2, message = 'pygent-ls: ' .. name, "
        "actions = name ~= 'three' and { { title = 'No' }, { title = 'Yes', extra = 1 } } or nil }, ctx) "
        "if _G.answers[name] == vim.NIL then _G.answers[name] = 'nothing' end end)() end"
    )
    levels = editor.lua(
        "return { vim.log.levels.ERROR, vim.log.levels.WARN, vim.log.levels.INFO, vim.log.levels.DEBUG }"
    )
    assert editor.lua("return told") == [[f"pygent: m{each}", level] for each, level in enumerate(levels, 1)]
    assert shown(editor) == ["one", "", "  1   No", "  2   Yes"]
    answer(editor, "one", "2")
    answer(editor, "two", "<CR>")
    answer(editor, "three", "<CR>")

    until_gone(editor)
    assert editor.lua("return answers") == {
        "one": {"title": "Yes", "extra": 1},
        "two": {"title": "No"},
        "three": "nothing",
    }


def test_the_end_of_the_daemon_ends_what_it_asked_as_any_language_server(start: Start, folder: Path) -> None:
    (folder / ".pygent").mkdir()
    (folder / ".pygent" / "config.toml").write_text('mode = "trust"\n')
    editor = start([Step(text="Done")])
    send(editor)
    until_asked(editor, "work in the mode trust")
    editor.lua("vim.lsp.get_clients({ name = 'pygent' })[1]:stop(true)")

    until_gone(editor)


def test_at_a_limit_the_user_says_whether_it_goes_on(start: Start) -> None:
    steps = [Step(calls=(Call(name="list_directory", arguments={"path": "."}),)) for _ in range(2)]
    editor = start([*steps, Step(text="Done")], PYGENT_MAX_ITERATIONS="1")
    send(editor)
    answer(editor, "Continue", "2")
    editor.until(lambda: len(editor.model.requests) == 2)
    answer(editor, "Stop", "1")
    editor.until_over()
    assert len(editor.model.requests) == 2
