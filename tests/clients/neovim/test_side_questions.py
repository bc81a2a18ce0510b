"""Side questions: answered in a float while a turn runs, and not in the chat."""

from __future__ import annotations

from collections.abc import Callable

from tests.clients.neovim.chats import chat, n_ends, open_chat, send
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Received, Step

FLOATS = """
return vim.iter(vim.api.nvim_list_wins()):filter(function(window)
  local config = vim.api.nvim_win_get_config(window)
  return config.relative ~= "" and vim.inspect(config.title):find("btw") ~= nil
end):map(function(window)
  local config = vim.api.nvim_win_get_config(window)
  local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
  return { table.concat(lines, "\\n"), vim.inspect(config.footer), window }
end):totable()
"""


def answering(aside: Step) -> Callable[[Received, int], Step]:
    def answer(request: Received, number: int) -> Step:
        if "Side question:" in str(request.messages[-1]):
            return aside
        return Step(text="A long answer", pause_after=2) if number == 0 else Step(text="Later.")

    return answer


def floats(editor: Editor) -> list[list[object]]:
    return editor.lua(FLOATS)


def test_a_question_is_answered_in_a_float_while_the_turn_runs(start: Start) -> None:
    editor = start(answering(Step(text="Because of **that**.")))
    open_chat(editor)
    send(editor, "go")
    editor.command("Pygent btw why do you wait?")
    editor.until(lambda: any("Because of **that**." in str(text) for text, _, _ in floats(editor)))
    editor.until(lambda: any("not part of the conversation" in str(note) for _, note, _ in floats(editor)))
    assert n_ends(editor) == 0
    ((_, _, window),) = floats(editor)
    editor.lua("vim.api.nvim_set_current_win(...)", window)
    editor.keys("q")
    editor.until(lambda: floats(editor) == [])

    editor.model.resume()
    editor.until(lambda: n_ends(editor) == 1)
    assert not any("Because of" in line or "why do you wait" in line for line in chat(editor))
    send(editor, "and?")
    editor.until(lambda: n_ends(editor) == 2)
    assert "why do you wait" not in str(editor.model.requests[-1].messages)


def test_a_float_that_is_closed_cancels_its_question_and_the_slash_command_opens_one(start: Start) -> None:
    editor = start(answering(Step(text="Half an answer", pause_after=2)))
    open_chat(editor)
    send(editor, "go")
    editor.command("Pygent ask /btw why?")
    editor.until(lambda: len(floats(editor)) == 1)
    editor.model.wait_for(lambda: len(editor.model.requests) == 2)
    ((_, _, window),) = floats(editor)
    editor.lua("vim.api.nvim_win_close(..., true)", window)
    editor.model.wait_for(lambda: editor.model.disconnects == 1)
    editor.command("Pygent btw")
    editor.until(lambda: "add the question" in editor.lua("return vim.fn.execute('messages')"))
