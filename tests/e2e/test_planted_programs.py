"""Programs that a workspace holds under the names of the system's are not run by the daemon."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.tools.catalog import offered_tools
from tests.e2e.raw import DAEMON, WAIT_S, clean_environment
from tests.e2e.test_lifecycle import run_in_shell, with_script
from tests.tools.repository import git, make_repository

PLANNED: list[tuple[str, dict[str, Any]]] = [
    ("copy_file", {"source": "a.txt", "destination": "b.txt"}),
    ("copy_file", {"source": "a.bin", "destination": "b.bin"}),
    ("move_file", {"source": "a.txt", "destination": "sub"}),
    ("move_file", {"source": "sub", "destination": "other"}),
    ("delete_file", {"path": "a.bin"}),
    ("create_file", {"path": "new.txt", "content": "x"}),
    ("edit_file", {"path": "a.txt", "old": "one", "new": "two"}),
    ("multi_edit", {"path": "a.txt", "edits": [{"old": "one", "new": "two"}]}),
    ("edit_notebook", {"path": "a.ipynb", "action": "replace", "cell": "1", "source": "two"}),
    ("apply_patch", {"patch": "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n"}),
    ("add_component", {"component": "editorconfig"}),
    ("create_project", {"template": "python-cli", "path": "made"}),
]
"""Everything that plans an edit."""

READ: list[tuple[str, dict[str, Any]]] = [
    ("git_status", {}),
    ("git_diff", {}),
    ("git_log", {}),
    ("git_branch", {}),
    ("list_files", {}),
    ("find_files", {"pattern": "*.txt"}),
    ("grep_search", {"pattern": "one"}),
    ("read_file", {"path": "a.txt"}),
]

NOTEBOOK: dict[str, Any] = {
    "cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "one"}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}

SETTINGS = """\
[[hooks]]
event = "pre_tool_use"
command = "{ ls; env; python3 -V; git version; } >&2"
[permissions]
deny = ["read_file(**/secret.txt)"]
"""
"""A hook of the user's own, which names programs; and a rule, for which a folder that is moved is looked through."""


def calls(named: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "input": given} for name, given in named]}


@pytest.fixture
def planted(folder: Path) -> Path:
    """A folder of programs in the workspace, one for each that the machine has, and for some that it may lack."""
    make_repository(folder)
    (folder / "a.txt").write_text("one\n")
    (folder / "a.bin").write_bytes(b"\0\1")
    (folder / "a.ipynb").write_text(json.dumps(NOTEBOOK))
    (folder / "sub").mkdir()
    (folder / "sub" / "c.txt").write_text("three\n")
    (folder / ".gitattributes").write_text("a.bin filter=lfs\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "start")
    (folder / "a.bin").write_bytes(b"\0\2")
    bin_folder = folder / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    program = folder / "planted.sh"
    program.write_text(f'#!/bin/sh\necho "$0" >> {folder.parent}/ran\n')
    program.chmod(0o755)
    names = {"git-lfs", "rg", "stat", "ssh", "less", "jq", "bwrap", "python3"}
    for each in os.environ["PATH"].split(os.pathsep):
        names |= {file.name for file in Path(each).glob("*")}
    for name in names:
        (bin_folder / name).symlink_to(program)
    home = folder.parent / "home"
    (home / ".config" / "pygent-ls").mkdir(parents=True)
    (home / ".config" / "pygent-ls" / "config.toml").write_text(SETTINGS)
    (home / ".gitconfig").write_text('[filter "lfs"]\n\tclean = git-lfs clean -- %f\n')
    return bin_folder


def run(folder: Path, environment: dict[str, str], planted: Path, sandbox: str) -> list[dict[str, Any]]:
    """A run that refuses whatever would ask; what it said of the turn."""
    variables = clean_environment(folder.parent / "home", **environment, PYGENT_SANDBOX=sandbox)
    variables["PATH"] = f"{planted}:.:{variables['PATH']}"
    variables |= {
        "BASH_ENV": str(planted.parent.parent / "planted.sh"),
        "ENV": str(planted.parent.parent / "planted.sh"),
    }
    command = [*DAEMON, "run", "--output-format", "stream-json", "go"]
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=WAIT_S
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_tool_that_plans_is_tried() -> None:
    tools = offered_tools(has_folder=True, shell_timeout_s=1.0)
    assert {name for name, _ in PLANNED} == {tool.name for tool in tools if tool.plans_edit}


@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_the_daemon_runs_no_program_that_the_workspace_holds(folder: Path, planted: Path, sandbox: str) -> None:
    said = run(folder, with_script(folder, calls(PLANNED), calls(READ), {"text": "Done."}), planted, sandbox)

    assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()
    denied = [each["tool_name"] for each in said[-1]["permission_denials"]]
    assert denied == [name for name, _ in PLANNED]
    assert "Not staged" in json.dumps(said)
    assert git(folder, "status", "--porcelain", "a.txt", "sub") == ""


def test_git_that_was_allowed_finds_no_program_of_the_workspace(folder: Path, planted: Path) -> None:
    written = [("git_add", {"paths": ["a.bin"]}), ("git_commit", {"message": "more"})]
    environment = {
        **with_script(folder, calls(written), {"text": "Done."}),
        "PYGENT_PERMISSIONS": '{"allow": ["git_add", "git_commit"]}',
    }
    said = run(folder, environment, planted, "off")

    assert "Committed" in json.dumps(said)
    assert not (folder.parent / "ran").exists(), (folder.parent / "ran").read_text()


def test_a_command_that_the_user_allowed_has_the_users_own_path(folder: Path, planted: Path) -> None:
    """So that the test before shows something."""
    environment = {
        **with_script(folder, run_in_shell("jq ."), {"text": "Done."}),
        "PYGENT_PERMISSIONS": '{"allow": ["shell"]}',
    }
    run(folder, environment, planted, "off")

    assert (folder.parent / "ran").read_text().splitlines()[-1] == str(planted / "jq")
