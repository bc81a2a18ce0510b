"""Edits of files by which a language server runs code: no mode passes them while the daemon starts servers."""

from __future__ import annotations

import pytest

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.permissions import Permissions, Policy
from pygent_ls.agent.rules.rule import Rule
from tests.agent.abilities import edit_file
from tests.fakes import MemoryRules

RUNNING = (
    *("build.rs", "crates/a/build.rs", "Cargo.toml", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml"),
    *("eslint.config.js", "web/eslint.config.mts", ".eslintrc", ".eslintrc.json", ".prettierrc.cjs", "package.json"),
    *("tsconfig.json", "tsconfig.app.json", "tsconfig.node-18.json", "jsconfig.json", ".clangd", "hie.yaml"),
    *("setup.cfg", "pyproject.toml", ".pylintrc", "mypy.ini", "Gemfile", "mix.exs", "build.gradle.kts", "a/B.csproj"),
)

PLAIN = (
    "src/main.rs",
    "rebuild.rs",
    "a.py",
    "pyrightconfig.json",
    "eslint.config",
    "config.ts",
    "cargo/a.toml",
    "a.json",
)


def decision(mode: Mode, path: str, *rules: str, has_servers: bool = True) -> str:
    allowing = tuple(Rule(text=text, decision="allow", origin="user") for text in rules)
    policy = Policy(rules=allowing, has_language_servers=has_servers)
    return Permissions(mode, MemoryRules(), policy).decide(edit_file, [path]).decision


@pytest.mark.parametrize("mode", ["accept_edits", "trust"])
def test_while_servers_are_configured_no_mode_passes_an_edit_of_what_they_run(mode: Mode) -> None:
    assert {path: decision(mode, path) for path in RUNNING} == dict.fromkeys(RUNNING, "ask")
    assert {path: decision(mode, path) for path in PLAIN} == dict.fromkeys(PLAIN, "allow")


def test_without_servers_the_mode_passes_it() -> None:
    allowed = {path: decision("accept_edits", path, has_servers=False) for path in RUNNING}
    assert allowed == dict.fromkeys(RUNNING, "allow")


def test_a_rule_of_the_users_passes_it() -> None:
    assert decision("default", "build.rs", "edit_file(build.rs)") == "allow"
