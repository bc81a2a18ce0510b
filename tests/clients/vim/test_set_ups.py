"""The set-ups for Vim's plugins, read by a real Vim in which a plugin only writes down what it is given."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.page import set_up
from tests.clients.waiting import WAIT_S

YEGAPPAN = """
function! g:LspAddServer(servers) abort
  call writefile([json_encode(a:servers)], $GIVEN)
endfunction
"""

VIM_LSP = """
function! lsp#register_server(server) abort
  let command = a:server.cmd({})
  let root = a:server.root_uri({})
  call writefile([json_encode([a:server.name, a:server.allowlist, command, root])], $GIVEN)
endfunction
"""

VIM_LSP_UTILS = """
function! lsp#utils#get_buffer_path() abort
  return "/project/a.py"
endfunction
function! lsp#utils#find_nearest_parent_file_directory(path, names) abort
  return a:path .. " in " .. a:names[0]
endfunction
function! lsp#utils#path_to_uri(path) abort
  return "uri of " .. a:path
endfunction
"""


def given(folder: Path, heading: str, event: str, plugin: dict[str, str]) -> Any:
    """What a plugin of these files is given when it asks for servers, which it does with an autocommand."""
    for name, text in plugin.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "vimrc").write_text(set_up(heading, "vim"))
    written = folder / "given.json"
    arguments = ["--cmd", f"set runtimepath^={folder}", "-c", f"doautocmd User {event}", "-c", "qa!"]
    ran = subprocess.run(
        [shutil.which("vim") or "vim", "-N", "-es", "-i", "NONE", "-u", str(folder / "vimrc"), *arguments],
        env={"HOME": str(folder), "GIVEN": str(written), "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(written.read_text())


def test_yegappans_plugin_is_given_the_server(tmp_path: Path) -> None:
    (server,) = given(tmp_path, "Vim (yegappan/lsp)", "LspSetup", {"plugin/lsp.vim": YEGAPPAN})

    assert server == {"name": "pygent", "filetype": ["python", "markdown"], "path": "pygent-ls", "args": []}


def test_vim_lsp_is_given_the_server(tmp_path: Path) -> None:
    plugin = {"autoload/lsp.vim": VIM_LSP, "autoload/lsp/utils.vim": VIM_LSP_UTILS}

    server = given(tmp_path, "Vim (vim-lsp)", "lsp_setup", plugin)

    assert server == ["pygent", ["*"], ["pygent-ls"], "uri of /project/a.py in .git/"]
