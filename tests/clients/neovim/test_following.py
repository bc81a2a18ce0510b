"""Which sessions are followed, and what their autocommands say of events that were there before."""

from __future__ import annotations

from tests.clients.neovim.chats import ask, chat, n_ends, open_chat, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import kill_daemon
from tests.model_server import Call, Step

FOLLOWED = """
local requests = {}
for _, client in ipairs(vim.lsp.get_clients({ name = "pygent" })) do
  for _, request in pairs(client.requests) do
    if request.method == "pygent/session/attach" then
      table.insert(requests, request.type)
    end
  end
end
return requests
"""
"""The requests by which sessions are followed: `pending`, or `cancel` until the daemon has ended it."""

HEARD = """
_G.heard = {}
vim.api.nvim_create_autocmd("User", {
  pattern = { "PygentSession", "PygentTurnStarted", "PygentTurnFinished", "PygentPermission", "PygentQuestion" },
  callback = function(about)
    table.insert(heard, ("%s %s"):format(about.match, about.data.is_replay))
  end,
})
"""

BEHIND_ITS_BACK = """
local session = require("pygent.sessions").current()
local params = { sessionId = session.id, prompt = ... }
require("pygent.daemon.client").ready():request("pygent/turn/start", params, function() end)
"""
"""A turn that the plugin did not begin, as by a code action."""


def until_followed(editor: Editor, n_sessions: int) -> None:
    editor.until(lambda: editor.lua(FOLLOWED) == ["pending"] * n_sessions, what=f"{n_sessions} sessions to be followed")


def hide_chat(editor: Editor) -> None:
    editor.lua("require('pygent.chat').hide()")


def test_a_session_is_followed_as_long_as_its_chat_is_shown(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two.")])
    editor.edit("mine.txt")
    open_chat(editor)
    ask(editor, "first")
    editor.command("tab split")
    editor.command("tabprevious")
    hide_chat(editor)
    until_followed(editor, 1)

    editor.command("tabonly")
    until_followed(editor, 0)
    open_chat(editor)
    until_followed(editor, 1)
    ask(editor, "second")

    assert [line for line in chat(editor) if line in {"first", "One.", "second", "Two."}] == [
        "first",
        "One.",
        "second",
        "Two.",
    ]
    editor.command("bwipeout")
    until_followed(editor, 0)


def test_a_turn_is_followed_to_its_end_without_a_chat(start: Start) -> None:
    editor = start([Step(text="One.", pause_after=1), Step(text="Two.")])
    editor.edit("mine.txt")
    open_chat(editor)
    send(editor, "first")
    editor.lua("require('pygent.sessions').current():send('second')")
    editor.until("return #require('pygent.sessions').current().conversation.queue == 1")
    hide_chat(editor)
    editor.until("return require('pygent.chat').window() == nil")
    assert editor.lua(FOLLOWED) == ["pending"]

    editor.model.resume()
    editor.until_over(2)

    until_followed(editor, 0)
    open_chat(editor)
    editor.until(lambda: n_ends(editor) == 2)
    assert editor.messages() == ""


def test_a_turn_of_a_session_that_is_not_followed_is_followed_wherever_it_began(start: Start) -> None:
    run = Call(name="shell", arguments={"command": "true"})
    editor = start([Step(text="One."), Step(calls=(run,)), Step(text="Two.")])
    editor.edit("mine.txt")
    editor.lua(HEARD)
    open_chat(editor)
    ask(editor, "first")
    hide_chat(editor)
    until_followed(editor, 0)

    editor.lua(BEHIND_ITS_BACK, "second")
    editor.until("return require('pygent.sessions').current().asks[1] ~= nil", what="the permission")
    until_followed(editor, 1)
    editor.lua("require('pygent.sessions').current().asks[1].answer({ optionId = 'allow_once' })")
    editor.until_over(2)

    until_followed(editor, 0)
    assert sorted(editor.lua("return heard")) == [
        "PygentPermission false",
        "PygentSession false",
        "PygentTurnFinished false",
        "PygentTurnFinished false",
        "PygentTurnStarted false",
        "PygentTurnStarted false",
    ]
    open_chat(editor)
    editor.until(lambda: "Two." in chat(editor))


def test_a_session_that_a_command_began_is_no_replay(start: Start) -> None:
    editor = start([Step(text="One.")])
    editor.lua(HEARD)
    editor.lua("require('pygent.daemon.client').need(function() end)")
    editor.until("return require('pygent.daemon.client').ready() ~= nil")
    editor.lua(
        "local client = require('pygent.daemon.client').ready()\n"
        "client:request('pygent/session/new', vim.empty_dict(), function(_, made)\n"
        "  client:request('pygent/turn/start', { sessionId = made.sessionId, prompt = 'go' }, function() end)\n"
        "end)"
    )
    editor.until("return #heard == 2")

    assert editor.lua("return heard") == ["PygentTurnStarted false", "PygentTurnFinished false"]
    until_followed(editor, 0)


def test_the_next_daemon_is_asked_for_the_sessions_that_were_followed(start: Start) -> None:
    editor = start([Step(text="One."), Step(text="Two."), Step(text="Three.")])
    editor.edit("mine.txt")
    open_chat(editor)
    ask(editor, "first")
    editor.command("Pygent new second")
    editor.until("return require('pygent.sessions').current().info.name == 'second'")
    ask(editor, "second")
    until_followed(editor, 1)

    kill_daemon(editor)
    editor.lua("require('pygent.daemon.client').need(function() end)")

    editor.until("return require('pygent.daemon.client').ready() ~= nil")
    until_followed(editor, 1)
    ask(editor, "third")
    assert "Three." in chat(editor)


def test_what_is_resumed_or_asked_again_is_a_replay(start: Start) -> None:
    run = Call(name="shell", arguments={"command": "true"})
    question = Call(name="ask_user", arguments={"question": "Which?", "choices": [{"title": "This"}]})
    editor = start([Step(text="One."), Step(calls=(run,)), Step(calls=(question,)), Step(text="Two.")])
    open_chat(editor)
    ask(editor, "first")
    editor.lua("local s = require('pygent.sessions').current(); _G.id = s.id; require('pygent.sessions').forget(s)")
    editor.lua(HEARD)
    editor.command("Pygent resume last")
    editor.until("return #heard == 3")
    assert sorted(editor.lua("return heard")) == [
        "PygentSession true",
        "PygentTurnFinished true",
        "PygentTurnStarted true",
    ]

    editor.lua("_G.heard = {}; require('pygent.sessions').current():send('second')")
    for event, outcome in (("PygentPermission", "optionId = 'allow_once'"), ("PygentQuestion", "choices = { 1 }")):
        kind = event.removeprefix("Pygent").lower()
        editor.until("local a = require('pygent.sessions').current().asks[1]; return a and a.kind == ...", kind)
        assert editor.lua("return heard[#heard]") == f"{event} false"
        editor.lua(
            "local client = require('pygent.daemon.client').ready()\n"
            "local request = require('pygent.sessions').current().asks[1].request\n"
            "local method = ('pygent/%s/request'):format(request.permissionId and 'permission' or 'question')\n"
            "coroutine.wrap(function() client.handlers[method](nil, request, { client_id = client.id }) end)()"
        )
        assert editor.lua("return heard[#heard]") == f"{event} true"
        editor.lua(f"for _, a in ipairs(require('pygent.sessions').current().asks) do a.answer({{ {outcome} }}) end")
    editor.lua("require('pygent.sessions').current():cancel()")
    editor.until_over(2)
