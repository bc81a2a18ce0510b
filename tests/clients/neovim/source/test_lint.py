"""What luacheck finds."""

import shutil
import subprocess
from pathlib import Path

from clients.neovim.scripts.generate import PLUGIN

LUACHECK = shutil.which("luacheck") or "luacheck"


def linting(folder: Path) -> "subprocess.CompletedProcess[str]":
    arguments = [LUACHECK, "--quiet", "--no-color", "--codes", "--config", PLUGIN / ".luacheckrc", "."]
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_luacheck_finds_nothing() -> None:
    told = linting(PLUGIN)

    assert told.returncode == 0, told.stdout


def test_luacheck_would_find_a_global_and_a_variable_that_nobody_uses(tmp_path: Path) -> None:
    (tmp_path / "loose.lua").write_text("local unused = 1\nwanted = vim.fn.getcwd()\n", encoding="utf-8")

    told = linting(tmp_path)

    assert told.returncode == 1
    assert "(W211) unused variable 'unused'" in told.stdout
    assert "(W111) setting non-standard global variable 'wanted'" in told.stdout
