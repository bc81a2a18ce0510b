"""`:checkhealth pygent` says what there is, what is missing, and what to do."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor


def health(editor: Editor) -> str:
    editor.command("checkhealth pygent")
    return "\n".join(editor.lines())


def test_a_daemon_that_would_start_tells_its_versions_and_is_gone_again(start: Start, folder: Path) -> None:
    told = health(editor := start())

    assert "OK Neovim 0.1" in told
    assert "not running for this project" in told
    assert "OK pygent-ls 0." in told
    assert "OK protocol version 1" in told
    assert "OK model: `openai/mock`" in told
    assert "- python: 3." in told
    assert "- rg: ripgrep " in told
    assert "/pygent-ls.log" in told
    assert "OK no settings of the folder need your trust" in told
    assert f"project folder: {folder}" in told
    assert "ERROR" not in told
    assert editor.lua("return #vim.lsp.get_clients({ _uninitialized = true })") == 0


def test_one_that_runs_is_asked_itself(start: Start, folder: Path) -> None:
    editor = start()
    editor.lua("require('pygent.daemon.client').need(function(client) _G.there = client.id end)")
    number = editor.until("return _G.there")

    told = health(editor)

    assert f"OK running for {folder} (client {number})" in told
    assert "OK protocol version 1" in told
    assert "buffers are attached" in told


def test_without_the_program_it_says_how_to_get_it(start: Start) -> None:
    editor = start()
    editor.lua("require('pygent').setup({ cmd = { 'no-such-pygent' } })")

    told = health(editor)

    assert "ERROR `no-such-pygent` was not found" in told
    assert "uv tool install pygent-ls" in told
    assert "Exception" not in told


def test_a_program_that_ends_at_once_is_no_daemon(start: Start) -> None:
    editor = start()
    editor.lua("require('pygent').setup({ cmd = { 'false' } })")

    told = health(editor)

    assert "ERROR `false` exited at its start with code 1" in told
    assert "WARNING `false doctor` failed with exit code 1" in told


def test_a_plugin_that_is_newer_than_the_daemon_says_which_to_update(start: Start) -> None:
    editor = start()
    editor.lua("package.loaded['pygent.protocol'] = { VERSION = 99 }")

    told = health(editor)

    assert "ERROR pygent-ls has protocol version 1, this plugin version 99" in told
    assert "Update pygent-ls." in told


def test_settings_of_a_folder_that_wait_for_trust_are_named(start: Start, folder: Path) -> None:
    (folder / ".pygent").mkdir()
    (folder / ".pygent/config.toml").write_text('[permissions]\nallow = ["shell(git status:*)"]\n', encoding="utf-8")

    told = health(start())

    assert "WARNING" in told
    assert "permissions.allow = shell(git status:*)" in told
    assert "run `pygent-ls trust`" in told


def test_without_a_model_it_says_how_to_choose_one(start: Start) -> None:
    editor = start()
    editor.lua("require('pygent').setup({ settings = { model = 'offline/rules' } })")

    told = health(editor)

    assert "WARNING no model is set" in told
    assert "ANTHROPIC_API_KEY" in told
