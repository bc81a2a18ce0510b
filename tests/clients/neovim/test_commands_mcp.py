"""`:Pygent mcp`: MCP servers are listed with what they offer and their logs, and are started again."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx

from tests.clients.neovim.changing import connect
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.picking import Picker
from tests.clients.neovim.prompts import told
from tests.e2e.raw import WAIT_S
from tests.extensions.mcp.test_oauth import guarded
from tests.llm.setup.keyrings import NO_KEYRING

STATES = """
local servers = require("pygent.commands.lists").get("pygent/mcp/status", "servers", vim.empty_dict())
return vim.tbl_map(function(server) return server.state end, servers)
"""

TIME = Path(sys.executable).with_name("mcp-server-time")


def test_mcp_servers_are_listed_and_their_logs_shown(start: Start, home: Path) -> None:
    config = home / "config" / "pygent-ls"
    config.mkdir(parents=True)
    servers = f'[mcp_servers.time]\ncommand = "{TIME}"\n[mcp_servers.off]\nurl = "http://localhost"\nenabled = false\n'
    (config / "config.toml").write_text(servers)
    editor = start([])
    picker = Picker(editor)
    connect(editor)

    editor.until(lambda: editor.lua(STATES) == ["connected", "disabled"], what="the servers")

    picker.will_choose("time", "offers")
    editor.command("Pygent mcp")
    servers, actions = picker.offered(2)
    assert servers == ["time · connected · 2 tools", "off · disabled"]
    assert actions == ["Show what it offers", "Show the log", "Start again"]
    editor.until(lambda: editor.lines(0) == ["mcp__time__get_current_time", "mcp__time__convert_time"])
    editor.keys("q")
    picker.will_choose("off", "again")
    editor.command("Pygent mcp")
    told(editor, "the MCP server off is started again")
    picker.will_choose("time", "log")
    editor.command("Pygent mcp")
    editor.until(lambda: "[connected]" in editor.lines(0))


def test_without_mcp_servers_that_is_said(start: Start) -> None:
    editor = start([])

    editor.command("Pygent mcp")

    told(editor, "the settings define no MCP servers")


def test_a_user_signs_in_from_the_list(start: Start, home: Path, tmp_path: Path) -> None:
    config = home / "config" / "pygent-ls"
    config.mkdir(parents=True)
    with guarded(tmp_path) as url:
        (config / "config.toml").write_text(f'[mcp_servers.guarded]\nurl = "{url}"\n')
        editor = start([], **NO_KEYRING)
        editor.lua("_G.opened = {}; vim.ui.open = function(address) table.insert(_G.opened, address) end")
        picker = Picker(editor)
        connect(editor)
        editor.until(lambda: editor.lua(STATES) == ["needs_sign_in"], what="the server")

        picker.will_choose("guarded", "Sign in")
        editor.command("Pygent mcp")
        [address] = editor.until("return #_G.opened > 0 and _G.opened", what="the address in the browser")
        page = httpx.get(address, follow_redirects=True, timeout=WAIT_S)
        told(editor, "you are signed in to the MCP server guarded")
        editor.until(lambda: editor.lua(STATES) == ["connected"], what="the server")

    assert page.text.strip() == "You are signed in. You can close this page."
