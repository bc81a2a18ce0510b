"""Tools and hooks of Neovim: its own, and those of a configuration."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.clients.neovim.changing import connect
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Call, Step

ALLOWED = {"PYGENT_PERMISSIONS": '{"allow": ["editor__*"]}'}

MAKEFILE = "all:\n\t@echo 'a.c:3:1: error: no such thing'; exit 3\nsay:\n\t@echo \"said $(WORD)\"\n"

REGISTER = """
require("pygent").register_tool({
  name = "buffers",
  description = "List the user's open buffers.",
  schema = { type = "object", properties = { loaded = { type = "boolean" } } },
  read_only = true,
  run = function(input)
    local names = {}
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      if not input.loaded or vim.api.nvim_buf_is_loaded(buffer) then
        table.insert(names, vim.api.nvim_buf_get_name(buffer))
      end
    end
    return names
  end,
})
"""
"""Example of docs/editor-tools.md; a test compares them."""

HOOK = """
require("pygent").register_hook({
  id = "no pushes",
  event = "pre_tool_use",
  matcher = "shell",
  run = function(input)
    if input.tool_input.command:find("git push") then
      return { decision = "deny", reason = "People push here." }
    end
  end,
})
"""


def call(name: str, **arguments: Any) -> Step:
    return Step(calls=(Call(name=f"editor__{name}", arguments=arguments),))


def read(editor: Editor) -> str:
    """What the model read last of a tool."""
    return editor.model.requests[-1].texts("tool")[-1]


def offered(editor: Editor) -> dict[str, Any]:
    """The editor's tools that the model was offered last, by name."""
    functions = [each["function"] for each in editor.model.requests[-1].body["tools"]]
    return {each["name"]: each for each in functions if each["name"].startswith("editor__")}


def ask(editor: Editor, n_turns: int = 1) -> None:
    editor.command("Pygent ask go")
    editor.until_over(n_turns)


def test_make_runs_in_the_folder_and_fills_the_quickfix_list(start: Start, folder: Path) -> None:
    (folder / "Makefile").write_text(MAKEFILE)
    script = [call("run_task"), call("run_task", arguments=["say", "WORD=a b; touch no"]), Step(text="Done.")]
    editor = start(script, **ALLOWED)

    ask(editor)

    failed, said = editor.model.requests[-1].texts("tool")[-2:]
    assert "$ make\n" in failed
    assert "a.c:3:1: error: no such thing" in failed
    assert "[exit code 2;" in failed
    assert "said a b" in said  # the shell of the recipe reads the rest, as it does for anybody
    assert "[exit code 0;" in said
    found = editor.lua("return vim.fn.getqflist({ nr = 1, items = 0, title = 0 })")
    assert found["title"] == ":make"
    assert [(each["lnum"], each["text"]) for each in found["items"] if each["valid"]][:1] == [
        (3, " error: no such thing")
    ]


def test_a_task_is_ended_with_its_turn(start: Start, folder: Path) -> None:
    (folder / "Makefile").write_text("all:\n\t@echo $$$$ > pid; exec sleep 600\n")
    editor = start([call("run_task"), Step(text="Done.")], **ALLOWED)
    editor.command("Pygent ask go")
    pid = int(editor.until(lambda: (folder / "pid").exists() and (folder / "pid").read_text()))
    process = os.pidfd_open(pid)

    editor.command("Pygent stop")
    editor.until_over()

    editor.until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2])
    os.close(process)


def test_a_terminal_opens_without_taking_the_cursor(start: Start, folder: Path) -> None:
    script = [call("open_terminal", command='printf %s "it\'s $HOME" > made; echo shown'), Step(text="Done.")]
    editor = start(script, **ALLOWED)
    window = editor.lua("return vim.api.nvim_get_current_win()")

    ask(editor)

    editor.until(lambda: (folder / "made").exists() and (folder / "made").read_text().startswith("it's /"))
    shown = "return vim.iter(vim.api.nvim_list_bufs()):filter(function(b) return vim.bo[b].buftype == 'terminal' end)"
    buffer = editor.lua(f"{shown}:totable()[1]")
    editor.until(lambda: "[exit code 0]" in editor.lines(buffer))
    assert "shown" in editor.lines(buffer)
    assert editor.lua("return #vim.fn.win_findbuf(...)", buffer) == 1
    assert editor.lua("return vim.bo.buftype") != "terminal"
    assert editor.lua("return vim.api.nvim_win_is_valid(...)", window)


def test_a_tool_of_the_configuration_is_called(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text("a\n")
    editor = start([call("buffers", loaded=True), Step(text="Done.")], "a.txt")
    editor.lua(REGISTER)

    ask(editor)

    assert str(folder / "a.txt") in read(editor)
    assert set(offered(editor)) == {"editor__run_task", "editor__open_terminal", "editor__buffers"}


def test_a_tool_fails_answers_later_and_is_withdrawn(start: Start) -> None:
    script = [call("bad"), call("later"), Step(text="Done."), Step(text="Done.")]
    editor = start(script, **ALLOWED)
    connect(editor)
    editor.lua("""
      local schema, pygent = { type = "object" }, require("pygent")
      local function fail() error("no way", 0) end
      pygent.register_tool({ name = "bad", description = "x", schema = schema, run = fail })
      _G.unregister = pygent.register_tool({
        name = "later", description = "x", schema = { type = "object", properties = {} },
        run = function(_, context)
          context.progress("half way")
          vim.defer_fn(function() context.done({ answer = 42 }) end, 10)
        end,
      })
    """)

    ask(editor)
    failed, answered = editor.model.requests[-1].texts("tool")[-2:]
    editor.lua("_G.unregister()")
    ask(editor, 2)

    assert "no way" in failed
    assert '{"answer":42}' in answered.replace(" ", "")
    assert "editor__bad" in offered(editor)
    assert "editor__later" not in offered(editor)


def test_what_cannot_be_registered_is_told(start: Start) -> None:
    editor = start([])
    connect(editor)

    editor.lua("""
      local schema = { type = "object" }
      require("pygent").register_tool({ name = "a b", description = "x", schema = schema, run = print })
    """)

    why = "a b was not registered: The name 'a b' is not valid"
    editor.until(lambda: why in editor.messages().replace("\n", " "))


def test_a_hook_of_the_configuration_denies_and_one_that_fails_does_not_count(start: Start) -> None:
    script = [Step(calls=(Call(name="shell", arguments={"command": "git push"}),)), Step(text="Done.")]
    editor = start(script, PYGENT_PERMISSIONS='{"allow": ["shell"]}')
    editor.lua(HOOK)
    editor.lua("""
      local function fail() error("oh", 0) end
      require("pygent").register_hook({ id = "bad", event = "pre_tool_use", run = fail })
    """)

    ask(editor)

    assert "People push here." in read(editor)
    assert "the hook bad failed and is ignored: oh" in editor.messages()


def test_tools_can_be_switched_off_and_cost_few_tokens(start: Start) -> None:
    editor = start([Step(text="Done."), Step(text="Done.")])
    ask(editor)
    tools = offered(editor)

    assert set(tools) == {"editor__run_task", "editor__open_terminal"}  # nvim-dap is not installed
    assert len(json.dumps(list(tools.values()))) < 1_200  # about 300 tokens


def test_tools_that_are_switched_off_are_not_offered(start: Start) -> None:
    editor = start([Step(text="Done.")])
    editor.lua("require('pygent').setup({ tools = { tasks = false, terminal = false } })")

    ask(editor)

    assert offered(editor) == {}
