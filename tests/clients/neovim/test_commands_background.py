"""`:Pygent background`: commands that run in the background are listed, shown and stopped, and their end is told."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.changing import bypass_permissions
from tests.clients.neovim.chats import chat, n_ends, open_chat, screen, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.picking import Picker
from tests.clients.neovim.prompts import kill_daemon, told
from tests.model_server import Call, Received, Step

SERVER = Call(name="shell", arguments={"command": "echo listening; sleep 600", "background": True})
WAITING = Call(name="shell", arguments={"command": "until [ -e go ]; do sleep 0.05; done; exit 3", "background": True})


def begun(start: Start, home: Path, *calls: Call, pause_after: int | None = None) -> Editor:
    """An editor in whose session these calls were made; the chat is the current window."""
    bypass_permissions(home)
    editor = start([Step(calls=calls), Step(text="They run.", pause_after=pause_after)])
    open_chat(editor)
    send(editor, "go")
    return editor


def completed(editor: Editor, line: str) -> list[str]:
    return editor.nvim.funcs.getcompletion(line, "cmdline")


def test_background_commands_are_listed_with_their_output_and_stopped(start: Start, home: Path) -> None:
    editor = begun(start, home, SERVER, WAITING)
    editor.until(lambda: n_ends(editor) == 1)
    picker = Picker(editor)
    editor.until(lambda: chat(editor)[-1] == "· 2 background commands")
    assert any("2 background commands :Pygent background" in line for line in screen(editor))

    picker.will_choose("listening", "output")
    editor.command("Pygent background")
    listed, actions = picker.offered(2)
    assert [line.rsplit(" · ", 1)[0] for line in listed] == [
        "shell_2 · until [ -e go ]; do sleep 0.05; done; exit 3 · running",
        "shell_1 · echo listening; sleep 600 · running",
    ]
    assert all(line.endswith("started just now") for line in listed)
    assert actions == ["Show the output", "Stop"]
    editor.until(lambda: editor.lines(0) == ["listening"])
    editor.keys("q")
    editor.until("return vim.bo.filetype == 'pygent-chat'")

    picker.will_choose("listening", "Stop")
    editor.command("Pygent background")
    told(editor, "The background command shell_1 (echo listening; sleep 600) was stopped by the user.")
    editor.until(lambda: chat(editor)[-1] == "· 1 background command")
    picker.will_choose("listening")
    editor.command("Pygent background")
    listed, actions = picker.offered(2)
    assert " · stopped by the user · " in listed[1]
    assert actions == ["Show the output"]

    (editor.folder / "go").touch()
    told(editor, "shell_2 (until [ -e go ]; do sleep 0.05; done; exit 3) ended with exit code 3")
    editor.until(lambda: chat(editor)[-1] == "· Done")


def test_a_background_command_is_stopped_by_its_name_or_from_a_list(start: Start, home: Path) -> None:
    editor = begun(start, home, SERVER, WAITING)
    editor.until(lambda: n_ends(editor) == 1)

    assert completed(editor, "Pygent backg") == ["background"]
    assert completed(editor, "Pygent background ") == ["stop"]
    assert editor.until(lambda: completed(editor, "Pygent background stop ")) == ["shell_1", "shell_2"]
    editor.command("Pygent background stop shell_9")
    told(editor, "no background command shell_9 runs; running: shell_1, shell_2")
    editor.command("Pygent background stop shell_1")
    told(editor, "shell_1 (echo listening; sleep 600) was stopped by the user.")
    picker = Picker(editor)
    picker.will_choose("until")
    editor.command("Pygent background stop")
    assert len(picker.offered()[0]) == 1
    told(editor, "exit 3) was stopped by the user.")
    editor.command("Pygent background stop")
    told(editor, "no command runs in the background")
    editor.command("Pygent background start")
    told(editor, "background start: use `:Pygent background` or `:Pygent background stop [{id}]`")


def test_the_end_of_a_background_command_stands_in_the_turn_that_runs(start: Start, home: Path) -> None:
    editor = begun(start, home, WAITING, pause_after=1)
    editor.until(lambda: "· 1 background command" in chat(editor))

    (editor.folder / "go").touch()
    editor.until(
        lambda: any("· The background command shell_1 (until" in line for line in chat(editor)), what="the notice"
    )
    editor.model.resume()
    editor.until(lambda: n_ends(editor) == 1)
    editor.until(lambda: "· 1 background command" not in chat(editor), what="no background command")


def test_without_background_commands_or_a_daemon_that_is_said(start: Start, home: Path) -> None:
    editor = begun(start, home, SERVER)
    editor.until(lambda: chat(editor)[-1] == "· 1 background command")

    kill_daemon(editor)
    editor.until(lambda: chat(editor)[-1] != "· 1 background command")
    editor.command("Pygent background")
    told(editor, "this session has no background commands")


START = Call(
    name="task", arguments={"description": "count files", "prompt": "COUNT the files.", "background": True}, id="bg"
)

TEXTS = """
local conversation = require("pygent.sessions").current().conversation
local function texts(items)
  local found = {}
  for _, item in ipairs(items) do
    if item.type == "text" then
      table.insert(found, item.content or item.text or table.concat(item.parts or {}))
    end
  end
  return found
end
local inner = {}
for _, item in ipairs(conversation.items) do
  if item.type == "tool" then
    vim.list_extend(inner, texts(item.children))
  end
end
return { texts(conversation.items), inner }
"""


def test_an_agent_in_the_background_is_listed_and_what_it_does_stands_below_its_call(start: Start, home: Path) -> None:
    bypass_permissions(home)
    turns = [Step(calls=(START,)), Step(text="It runs."), Step(text="I see.")]

    def answer(request: Received, _: int) -> Step:
        if "COUNT" in request.texts("user")[0]:
            return Step(text="There are seven files.", pause_after=2)
        return turns.pop(0)

    editor = start(answer)
    open_chat(editor)
    send(editor, "go")
    editor.until(lambda: n_ends(editor) == 1)
    picker = Picker(editor)
    editor.until(lambda: chat(editor)[-1] == "· 1 background command")
    picker.will_choose("count files")
    editor.command("Pygent background")
    listed, actions = picker.offered(2)
    assert listed[0].startswith("agent_1 · count files · running")
    assert actions == ["Show the output", "Stop"]

    editor.model.resume()
    told(editor, "The background agent agent_1 (count files) finished.")
    editor.until(lambda: "seven files" in str(editor.lua(TEXTS)[1]))
    assert "seven files" not in str(editor.lua(TEXTS)[0])
    send(editor, "and?")
    editor.until(lambda: n_ends(editor) == 2)
    assert "There are seven files." in str(editor.model.requests[-1].messages)
