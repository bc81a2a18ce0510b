"""The page about hooks: its examples do what it says of them."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from pygent_ls.agent.ports.hooks import HookEvent, HookInput, HookOutcome
from pygent_ls.config.entries import Hook
from pygent_ls.config.table import converted
from pygent_ls.extensions.hooks import CommandHooks, HookCommand, said_by
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.extensions.test_hooks import ended
from tests.fakes import bounded
from tests.workspace.repositories import commit_all

PAGE = (Path(__file__).parents[1] / "docs" / "hooks.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


def examples() -> list[HookCommand]:
    """All hooks of the page, as the settings take them."""
    tables = [table for block in blocks("toml") for table in tomllib.loads(block)["hooks"]]
    return [HookCommand(**converted(Hook, table).fields()) for table in tables]


def example(text: str) -> HookCommand:
    """The one whose command has this in it."""
    (found,) = (each for each in examples() if text in each.command)
    return found


async def run(hook: HookCommand, folder: Path, **facts: Any) -> HookOutcome:
    given = HookInput(event=hook.event, session_id="s", turn_id="t", cwd=folder, **facts)
    return await bounded(CommandHooks([hook], LocalProcesses()).run(given))


@pytest.fixture(autouse=True)
def path_with_our_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """ruff and python3 are those that run the tests."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


async def test_the_formatter_formats_and_the_model_reads_what_the_linter_finds(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\nx=1\n")
    said = await run(example("ruff"), tmp_path, tool_name="edit_file", tool_input={"path": "a.py"}, tool_result="ok")
    assert (tmp_path / "a.py").read_text() == "import os\n\nx = 1\n"
    assert (said.decision, "F401" in said.reason) == ("deny", True)


@pytest.mark.parametrize(
    ("tool", "given", "denied"),
    [
        ("shell", {"command": "git push --force"}, True),
        ("git_push", {}, True),
        ("shell", {"command": "git status"}, False),
    ],
)
async def test_nothing_is_pushed(tmp_path: Path, tool: str, given: Mapping[str, Any], denied: bool) -> None:
    said = await run(example("git push"), tmp_path, tool_name=tool, tool_input=given)
    assert (said.decision, said.reason) == (("deny", "People push here. Stop at the commit.") if denied else (None, ""))
    assert said.notices == ()


@pytest.mark.parametrize(("wanted", "runs"), [("npm install x", "pnpm install x"), ("ls", None)])
async def test_one_program_stands_for_another(tmp_path: Path, wanted: str, runs: str | None) -> None:
    (script,) = blocks("python")
    (tmp_path / ".pygent" / "hooks").mkdir(parents=True)
    (tmp_path / ".pygent" / "hooks" / "pnpm.py").write_text(script)
    said = await run(example("pnpm"), tmp_path, tool_name="shell", tool_input={"command": wanted, "cwd": "web"})
    assert said.tool_input == ({"command": runs, "cwd": "web"} if runs else None)
    assert said.notices == ()


@pytest.mark.parametrize(("makefile", "denied"), [("test:\n\t@echo 1 failed; exit 1\n", True), ("test:\n", False)])
async def test_a_turn_does_not_end_before_the_tests_pass(tmp_path: Path, makefile: str, denied: bool) -> None:
    (tmp_path / "Makefile").write_text(makefile)
    said = await run(example("make test"), tmp_path, reason="end_turn")
    assert (said.decision == "deny", "1 failed" in said.reason) == (denied, denied)


async def test_a_session_starts_with_what_was_committed_last(tmp_path: Path) -> None:
    commit_all(tmp_path)
    said = await run(example("git log"), tmp_path, source="startup")
    assert re.fullmatch(r"[0-9a-f]{7,} start\n", said.context)
    assert said.notices == ()


def test_the_json_of_the_page_is_what_hooks_read_and_say() -> None:
    read, said = (json.loads(block) for block in blocks("json"))
    assert set(read) == {"hook_event", "session_id", "turn_id", "cwd", "tool_name", "tool_input"}
    assert said_by(HookCommand(event="pre_tool_use", command="x"), ended(json.dumps(said))).notices == ()


def test_every_event_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.M)
    assert sorted(rows) == sorted(get_args(HookEvent))
