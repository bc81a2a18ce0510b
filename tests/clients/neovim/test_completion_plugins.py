"""The sources for blink.cmp and nvim-cmp, called as the type annotations of these plugins say (`blink.cmp.Source` in
`lua/blink/cmp/sources/lib/types.lua`, and `lua/cmp/source.lua`): no package registry has the plugins themselves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import open_prompt, prompt_text, type_keys

BLINK = """
local source = require("pygent.integrations.blink").new({}, { name = "pygent", module = "pygent.integrations.blink" })
assert(type(source:get_trigger_characters()) == "table")
_G.is_enabled = function() return source:enabled() end
_G.keyword_at = function() return nil end
_G.complete = function()
  _G.answers = {}
  local context = { bufnr = vim.api.nvim_get_current_buf(), cursor = vim.api.nvim_win_get_cursor(0) }
  return source:get_completions(context, function(response)
    assert(type(response.is_incomplete_forward) == "boolean" and type(response.is_incomplete_backward) == "boolean")
    table.insert(_G.answers, response.items)
  end)
end
"""
"""As `blink.cmp.sources.lib.provider` does; columns of an item without a client are bytes."""

CMP = """
local source = require("pygent.integrations.cmp").new()
assert(type(source:get_trigger_characters({ name = "pygent" })) == "table")
assert(source:get_position_encoding_kind() == "utf-8" and type(source:get_debug_name()) == "string")
local keyword = source:get_keyword_pattern({ name = "pygent" })
_G.is_enabled = function() return source:is_available() end
_G.complete = function()
  _G.answers = {}
  local params = { name = "pygent", offset = 1, context = {}, completion_context = { triggerKind = 1 } }
  source:complete(params, function(response)
    assert(type(response.isIncomplete) == "boolean")
    table.insert(_G.answers, response.items)
  end)
end
_G.keyword_at = function(line) return vim.fn.matchstr(line, keyword .. "\\\\m$") end
"""
"""As `cmp.source` does."""


@pytest.fixture(params=[BLINK, CMP], ids=["blink", "cmp"])
def editor(request: pytest.FixtureRequest, start: Start) -> Editor:
    """An editor in a project, with a source."""
    begun = start()
    (begun.folder / "src").mkdir()
    for name in ("src/main.py", "src/größe.py", "notes with space.md"):
        (begun.folder / name).write_text("", encoding="utf-8")
    begun.lua(request.param)
    return begun


def items(editor: Editor) -> list[dict[str, Any]]:
    """What the source answers for the text before the cursor."""
    editor.lua("_G.complete()")
    return editor.until("return _G.answers[1] and { _G.answers[1] }", what="the items")[0]


def accepted(editor: Editor, item: dict[str, Any]) -> str:
    """The prompt once that item is taken."""
    editor.lua("vim.lsp.util.apply_text_edits({ ... }, vim.api.nvim_get_current_buf(), 'utf-8')", item["textEdit"])
    return prompt_text(editor)


def test_a_mention_is_found_and_takes_the_place_of_what_was_typed(editor: Editor) -> None:
    open_prompt(editor, "größer 😀 @main")

    (item,) = items(editor)

    assert (item["label"], item["filterText"], item["kind"]) == ("@src/main.py", "@src/main.py", 17)
    assert accepted(editor, item) == "größer 😀 @src/main.py"
    assert editor.lua("return { vim.fn.pumvisible(), vim.fn.complete_info({ 'items' }).items }") == [0, []], (
        "the plugin's own menu stays closed"
    )


def test_a_name_with_spaces_is_quoted_and_found_with_and_without_its_quotes(editor: Editor) -> None:
    open_prompt(editor, "line one<CR>@notes")
    (item,) = items(editor)
    assert item["filterText"] == "@notes with space.md"
    assert accepted(editor, item) == 'line one\n@"notes with space.md"'

    type_keys(editor, '<Esc>S@"notes w')
    (item,) = items(editor)
    assert item["filterText"] == '@"notes with space.md"'
    assert accepted(editor, item) == 'line one\n@"notes with space.md"'


def test_a_command_and_its_arguments_are_found_in_the_daemons_order(editor: Editor) -> None:
    open_prompt(editor, "/comp")
    (command, *_) = items(editor)
    assert command["label"] == "/compact"
    assert command["labelDetails"]["description"]

    type_keys(editor, "<Esc>S/mode ")
    found = items(editor)
    assert "plan" in [each["label"] for each in found]
    assert [each["sortText"] for each in found] == sorted(each["sortText"] for each in found)


def test_nothing_is_asked_where_nothing_can_be_completed(editor: Editor) -> None:
    assert not editor.lua("return _G.is_enabled()"), "a file of the user is no prompt"
    open_prompt(editor, "plain words")

    assert editor.lua("return _G.is_enabled()")
    assert items(editor) == []
    assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 0, "the daemon was not started"


def test_each_request_has_one_answer_and_one_that_is_cancelled_has_none(editor: Editor) -> None:
    open_prompt(editor, "@main")
    editor.lua("local cancel = _G.complete(); _G.first = _G.answers; if cancel then cancel() end")
    found = items(editor)

    assert [each["label"] for each in found] == ["@src/main.py"]
    assert editor.lua("return { #_G.first, #_G.answers }") == [0, 1]


def test_the_keyword_of_a_mention_begins_at_its_sign(start: Start) -> None:
    editor = start()
    editor.lua(CMP)

    lines = ["see größe @src/größ", '@"notes with s', "/mo", "/model gp", "words"]
    assert [editor.lua("return _G.keyword_at(...)", line) for line in lines] == [
        "@src/größ",
        '@"notes with s',
        "/mo",
        "gp",
        "words",
    ]
