"""`:help pygent` knows all that the plugin has."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clients.neovim.scripts.help_page import WIDTH, help_page
from clients.neovim.scripts.help_source import HelpError
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import PLUGIN

Lua = Callable[..., Any]

PAGE = (PLUGIN / "doc/pygent.txt").read_text(encoding="utf-8")
TAGS = set(re.findall(r"\*(\S+)\*", PAGE))

OPTIONS = """
local found = {}
local function walk(options, path)
  for name, value in pairs(options) do
    table.insert(found, path .. name)
    if type(value) == "table" and next(value) and not vim.islist(value) then
      walk(value, path .. name .. ".")
    end
  end
end
walk(require("pygent.config").defaults, "")
return found
"""


def test_every_subcommand_has_a_tag(lua: Lua) -> None:
    names = lua("return require('pygent.commands').names()")

    assert len(names) > 15
    assert {f":Pygent-{name}" for name in names} - TAGS == set()


def test_every_option_has_a_tag(lua: Lua) -> None:
    names = lua(OPTIONS)
    tables = {name for name in names if any(other.startswith(f"{name}.") for other in names)}

    assert {f"pygent-option-{name}" for name in set(names) - tables} - TAGS == set()


def test_every_event_that_is_fired_has_a_tag() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in (PLUGIN / "lua").rglob("*.lua"))
    fired = set(re.findall(r'notifications\.plugins\("(\w+)"', sources)) | set(
        re.findall(r'= "(Pygent(?:Turn|Tool)\w+)"', sources)
    )

    assert {"PygentReady", "PygentTurnFinished"} <= fired
    assert fired - TAGS == set()


@pytest.mark.parametrize("part", ["chat", "prompt", "permission"])
def test_every_key_of_a_window_has_a_tag(lua: Lua, part: str) -> None:
    keys = lua(f"return vim.tbl_map(function(key) return key.lhs end, require('pygent.{part}.keys').keys)")

    tagged = {
        tag.removeprefix(f"pygent-{part}-").removeprefix("i_") for tag in TAGS if tag.startswith(f"pygent-{part}-")
    }
    assert set(keys) - tagged == set()


def test_every_function_and_plug_mapping_has_a_tag(lua: Lua) -> None:
    functions = lua("return vim.tbl_keys(require('pygent'))")
    mapped = lua("return vim.tbl_map(function(map) return map.lhs end, vim.api.nvim_get_keymap('n'))")

    assert {f"pygent.{name}()" for name in functions} - TAGS == set()
    assert {key for key in mapped if key.startswith("<Plug>(pygent-")} - TAGS == set()


def test_every_highlight_group_that_is_defined_has_a_tag(start: Start) -> None:
    editor = start()
    editor.command("Pygent chat")
    editor.lua("require('pygent.prompt').open(); require('pygent.permission.window')")
    editor.until("return vim.fn.hlexists('PygentChatYou') == 1 and vim.fn.hlexists('PygentAskTitle') == 1")

    groups = editor.lua("return vim.fn.getcompletion('Pygent', 'highlight')")
    assert {f"hl-{group}" for group in groups} - TAGS == set()


def test_tags_are_made_and_lead_into_the_page(start: Start, tmp_path: Path) -> None:
    copied = tmp_path / "plugin"
    shutil.copytree(PLUGIN / "doc", copied / "doc")
    editor = start()

    editor.command(f"helptags {copied / 'doc'}")  # an error where a tag is there twice
    editor.command(f"set rtp^={copied}")
    editor.command("help :Pygent-ask")

    assert editor.lua("return vim.fs.basename(vim.api.nvim_buf_get_name(0))") == "pygent.txt"
    assert editor.lua("return vim.api.nvim_get_current_line()").startswith(":Pygent ask")
    lines = (copied / "doc/tags").read_text(encoding="utf-8").splitlines()
    assert {line.split("\t")[0] for line in lines} == TAGS


def test_references_lead_to_tags_of_the_page_or_of_neovim(start: Start) -> None:
    editor = start()
    text = re.sub(r"`[^`]*`|^>\w+\n.*?^<", "", PAGE, flags=re.MULTILINE | re.DOTALL)

    lost = [name for name in re.findall(r"\|(\S+?)\|", text) if name not in TAGS]

    assert [name for name in lost if editor.lua("return vim.fn.getcompletion(..., 'help')[1]", name) is None] == []


def test_lines_fit_a_help_window() -> None:
    assert [line for line in PAGE.splitlines() if len(line) > WIDTH and "`" not in line and "*" not in line] == []


def test_a_subcommand_that_does_not_say_what_it_does_is_an_error(tmp_path: Path) -> None:
    plugin = tmp_path / "neovim"
    shutil.copytree(PLUGIN, plugin)
    turns = plugin / "lua/pygent/commands/turns.lua"
    turns.write_text(re.sub(r"\bsummary =", "told =", turns.read_text(encoding="utf-8")), encoding="utf-8")

    with pytest.raises(HelpError, match=r"turns\.lua has no `M\.\w+ = \{ summary = "):
        help_page(plugin)
