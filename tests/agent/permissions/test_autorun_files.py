"""Edits of files that make something act later: no mode passes them, a rule of the user's may."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.autorun_files import acts_later
from pygent_ls.agent.permissions.permissions import Permissions, Places, Policy
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.tools.git.write_tools import git_add
from pygent_ls.tools.tests.run_tests import run_tests
from tests.agent.abilities import edit_file
from tests.fakes import MemoryRules

CORPUS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("acting_paths.toml").read_text("utf-8"))
ACTING: list[str] = [path for group in CORPUS["group"] for path in group["paths"]]


def decision(mode: Mode, path: str, *rules: str) -> str:
    policy = Policy(rules=tuple(Rule(text=text, decision="allow", origin="user") for text in rules), may_bypass=True)
    return Permissions(mode, MemoryRules(), policy).decide(edit_file, [path]).decision


@pytest.mark.parametrize("mode", ["accept_edits", "trust", "default"])
def test_no_mode_passes_an_edit_of_what_acts_later(mode: Mode) -> None:
    assert {path: decision(mode, path) for path in ACTING} == dict.fromkeys(ACTING, "ask")


def test_a_rule_of_the_users_and_bypass_pass_it() -> None:
    for path in ACTING:
        if path.startswith(".pygent/"):
            continue  # of our own settings in the workspace the user is asked always
        assert decision("default", path, f"edit_file({path})") == "allow"
        assert decision("bypass", path) == "allow"


def test_other_files_are_edited_as_the_mode_says() -> None:
    plain = CORPUS["plain"]["paths"]
    assert {path: decision("accept_edits", path) for path in plain} == dict.fromkeys(plain, "allow")
    assert not any(acts_later(path) for path in plain)


def test_staging_and_testing_write_no_file_and_are_passed() -> None:
    permissions = Permissions("trust", MemoryRules())
    for tool in (git_add, run_tests):
        assert permissions.decide(tool, [".vscode/settings.json"]).decision == "allow"
        assert permissions.decide(tool, [".pygent/config.toml"]).decision == "allow"


def test_the_name_of_a_link_counts_as_well_as_where_it_leads() -> None:
    permissions = Permissions("trust", MemoryRules())
    assert permissions.decide(edit_file, ["conf/tasks.json"], Places(spelled=(".vscode/tasks.json",))).decision == "ask"
    above = "/home/me/.claude/worktrees/w/a.py"  # the workspace itself lies there
    assert permissions.decide(edit_file, ["a.py"], Places(spelled=(above,))).decision == "allow"


def test_a_call_on_several_files_is_judged_by_the_one_that_acts() -> None:
    permissions = Permissions("trust", MemoryRules())
    assert permissions.decide(edit_file, ["a.py", ".vscode/tasks.json"]).decision == "ask"
    assert permissions.decide(edit_file, ["a.py", "b.py"]).decision == "allow"
