"""What `docs/neovim.md` says is done as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import PLUGIN, PROGRAM
from tests.e2e.command_line import clean_environment

ROOT = PLUGIN.parents[1]
PAGE = (ROOT / "docs/neovim.md").read_text(encoding="utf-8")

IS_LOADED = "return vim.fn.exists(':Pygent') == 2 and vim.fn.maparg('<Plug>(pygent-chat)', 'n') ~= ''"

NOTED = """
_G.noted = {}
for _, name in ipairs({ "cmp", "blink.cmp", "mini.completion", "lualine" }) do
  local function note(...)
    _G.noted[name] = { ... }
  end
  package.preload[name] = function()
    local register = function(source) _G.registered = source end
    local setup = setmetatable({ filetype = note }, { __call = function(_, ...) note(...) end })
    return { setup = setup, register_source = register }
  end
end
"""
"""Other plugins as far as the page speaks to them: what they are given is kept."""


def blocks(language: str, heading: str) -> list[str]:
    """The blocks of code below a heading, up to the next one."""
    section = re.split(rf"^##+ {re.escape(heading)}$", PAGE, flags=re.MULTILINE)[1]
    section = re.split(r"^##+ ", section, flags=re.MULTILINE)[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)


def keys_of(heading: str) -> set[str]:
    """The keys in the table below a heading, without the motion that an operator takes."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    first = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {key.removesuffix("{motion}") for cell in first for key in re.findall(r"`([^`]+)`", cell)}


def started(home: Path, *arguments: str) -> str:
    """What Neovim prints that starts without the plugin, with a home of its own."""
    done = subprocess.run(
        [PROGRAM, "--headless", "-n", "-i", "NONE", *arguments, "+qall!"],
        env=clean_environment(home, XDG_DATA_HOME=str(home / ".local/share")),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout + done.stderr


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A home where the repository is cloned to the place that the page names."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/pygent-ls").symlink_to(ROOT)
    return tmp_path


def told_by(home: Path, code: str) -> str:
    script = home / "init.lua"
    script.write_text(code, encoding="utf-8")
    check = f"+lua io.write(tostring((function() {IS_LOADED} end)()))"
    return started(home, "-u", str(script), check)


def test_a_package_by_hand_is_loaded_and_has_its_help(sources: Path) -> None:
    (script,) = blocks("sh", "By hand")
    environment = {**clean_environment(sources), "HOME": str(sources)}
    environment |= {"XDG_DATA_HOME": str(sources / ".local/share"), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    lines = [line for line in script.splitlines() if not line.startswith(("git clone", "nvim"))]
    subprocess.run(["sh", "-euc", "\n".join(lines)], env=environment, check=True, timeout=60)

    told = started(sources, f"+lua io.write(tostring((function() {IS_LOADED} end)()))")

    assert "true" in told


def test_the_folder_in_the_runtime_path_is_enough(sources: Path) -> None:
    (code,) = blocks("lua", "By hand")

    assert told_by(sources, code) == "true"


def test_lazy_is_told_how_to_load_a_clone_of_its_own(sources: Path) -> None:
    _, code = blocks("lua", "lazy.nvim")
    lazy = """
    package.preload.lazy = function()
      return { setup = function(specs)
        local plugin = { dir = vim.fs.normalize("~/src/pygent-ls"), url = specs[1].url }
        specs[1].config(plugin)
      end }
    end
    """

    assert told_by(sources, lazy + code) == "true"


def test_lazy_is_given_the_folder_of_a_clone_that_is_there(sources: Path) -> None:
    code, _ = blocks("lua", "lazy.nvim")
    lazy = """
    package.preload.lazy = function()
      return { setup = function(specs)
        vim.opt.rtp:append(vim.fs.normalize(specs[1].dir))
        require("pygent").setup(specs[1].opts)
      end }
    end
    """

    assert told_by(sources, lazy + code) == "true"


def test_vim_pack_is_told_how_to_load_it(sources: Path) -> None:
    (code,) = blocks("lua", "vim.pack")
    pack = """
    vim.pack = { add = function(specs, options)
      options.load({ spec = specs[1], path = vim.fs.normalize("~/src/pygent-ls") })
    end }
    """

    assert told_by(sources, pack + code) == "true"


def test_the_configuration_that_is_shown_is_the_default_one(start: Start) -> None:
    defaults, of_the_daemon, enabling = blocks("lua", "Configuration")
    editor = start()

    editor.lua(defaults)
    assert editor.lua("return vim.deep_equal(require('pygent.config').get(), require('pygent.config').defaults)")

    editor.lua(of_the_daemon)
    assert editor.lua("return require('pygent.config').get().settings") == {"model": "openai/gpt-5", "maxBudgetUsd": 2}

    editor.lua(enabling)
    assert editor.lua("return vim.lsp.is_enabled('pygent')")
    assert "pygent:" not in editor.messages()


def test_the_mappings_are_there_and_an_operator_asks_about_lines(start: Start) -> None:
    (code,) = blocks("lua", "Mappings")
    editor = start()

    editor.lua(code)

    keys = editor.lua(
        "return vim.tbl_map(function(key) return vim.fn.maparg(key, 'n') end, "
        "{ 'gp', '<leader>pc', '<leader>ps', '<leader>pf' })"
    )
    assert keys == ["<Plug>(pygent-ask)", "<Plug>(pygent-chat)", "<Plug>(pygent-stop)", ":Pygent fix<CR>"]


def test_completion_plugins_are_given_their_source_or_the_omnifunc(start: Start) -> None:
    blink, cmp, mini = blocks("lua", "Completion")
    editor = start()
    editor.lua(NOTED)

    for code in (cmp, blink, mini):
        editor.lua(code)

    assert editor.lua("return _G.noted") == {
        "cmp": ["pygent-prompt", {"sources": [{"name": "pygent"}]}],
        "blink.cmp": [
            {
                "sources": {
                    "per_filetype": {"pygent-prompt": ["pygent"]},
                    "providers": {"pygent": {"name": "pygent", "module": "pygent.integrations.blink"}},
                }
            }
        ],
        "mini.completion": [{"fallback_action": "<C-x><C-o>"}],
    }
    assert editor.lua("return _G.registered") == "pygent"
    editor.lua("require('pygent.prompt').open()")
    assert editor.lua("return vim.bo.omnifunc") != ""


def test_the_statusline_says_what_the_agent_does(start: Start) -> None:
    plain, lualine = blocks("lua", "Statusline")
    editor = start()
    editor.lua(NOTED)

    for code in (plain, lualine):
        editor.lua(code)
    editor.lua("_G.own = _G.noted.lualine[1].sections.lualine_x[1]; _G.noted = nil")

    assert editor.lua("return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str").startswith("[No Name]")
    assert editor.lua("return _G.own() == require('pygent').statusline()")


def test_events_and_settings_of_buffers_are_taken(start: Start) -> None:
    editor = start()

    for heading in ("Events", "Settings for the plugin's buffers"):
        for code in blocks("lua", heading):
            editor.lua(code)
    editor.lua("require('pygent.prompt').open()")

    assert editor.lua("return { vim.bo.filetype, vim.wo.spell, vim.wo.wrap }") == ["pygent-prompt", False, True]
    assert editor.lua("return vim.api.nvim_get_hl(0, { name = 'PygentChatYou' }).bold")


def test_a_plugin_that_renders_markdown_is_given_the_filetype_of_the_chat(start: Start) -> None:
    (code,) = blocks("lua", "render-markdown.nvim")
    editor = start()
    editor.lua("package.loaded['render-markdown'] = { setup = function(options) _G.given = options end }")
    editor.lua(code)

    assert editor.lua("return given.file_types") == ["markdown", "pygent-chat"]
    assert editor.lua("return require('pygent.chat').FILETYPE") == "pygent-chat"


def test_every_subcommand_and_event_that_is_named_exists(start: Start) -> None:
    editor = start()
    events = set(re.findall(r'"(Pygent[A-Z]\w+)"', PAGE)) - {"PygentChatYou"}
    told = (PLUGIN / "lua/pygent/notifications.lua").read_text(encoding="utf-8")

    named = set(re.findall(r":Pygent ([\w-]+)", PAGE))
    assert named <= set(editor.lua("return require('pygent.commands').names()"))
    assert {event for event in events if f'"{event}" #' not in told} == set()


def test_every_key_of_a_permission_and_of_a_review_is_in_its_table(lua: Callable[..., Any]) -> None:
    asked = lua(
        "return vim.tbl_map(function(key) return key.lhs end, vim.tbl_filter(function(key) "
        "return key.name ~= 'own_words' and key.name ~= 'no_answer' end, require('pygent.permission.keys').keys))"
    )
    reviewed = lua("return vim.tbl_values(require('pygent.config').defaults.review.keys)")

    assert set(asked) - keys_of("Permission") == set()
    assert set(reviewed) - keys_of("Review") == set()


def test_the_lines_for_yegappan_lsp_are_read_and_register_the_server(lua: Callable[..., Any]) -> None:
    page = (ROOT / "docs/editors.md").read_text(encoding="utf-8")
    section = page.split("## Vim (yegappan/lsp)")[1].split("\n## ")[0]
    (snippet,) = re.findall(r"^```vim\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)

    given = lua(
        "vim.api.nvim_exec2('function! LspAddServer(servers)\\n let g:given = a:servers\\nendfunction', {}); "
        "vim.api.nvim_exec2(..., {}); vim.cmd('doautocmd User LspSetup'); return vim.g.given",
        snippet,
    )

    assert given == [{"name": "pygent", "filetype": ["python", "markdown"], "path": "pygent-ls", "args": []}]
