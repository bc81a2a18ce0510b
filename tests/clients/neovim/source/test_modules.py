"""A file of the plugin is read in one sitting, a folder is understood from its listing."""

import re
from collections import Counter

from clients.neovim.scripts.generate import PLUGIN

MAX_LINES = 400

MAX_MODULES = 17

MODULES = sorted(set(PLUGIN.rglob("*.lua")) - {PLUGIN / "lua/pygent/protocol.lua"})  # that one is generated


def test_no_file_is_longer_than_400_lines() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in MODULES}

    assert {path.relative_to(PLUGIN).as_posix(): n for path, n in lines.items() if n > MAX_LINES} == {}
    assert len(MODULES) > 5, "the plugin is elsewhere"


def test_a_folder_has_few_modules_named_by_nouns() -> None:
    crowded = {folder: n for folder, n in Counter(path.parent for path in MODULES).items() if n > MAX_MODULES}
    gerunds = [path.name for path in MODULES if path.stem.endswith("ing") or path.parent.name.endswith("ing")]

    assert (crowded, gerunds) == ({}, [])


def test_private_functions_are_local() -> None:
    fields = {path.name: re.findall(r"\bM\._\w+", path.read_text(encoding="utf-8")) for path in MODULES}

    assert {name: found for name, found in fields.items() if found} == {}
