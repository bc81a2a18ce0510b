"""How often a person is asked in ordinary work, with an empty configuration: every question, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.editor import Setup, connected
from tests.fakes import Call, say
from tests.tools.repository import git, make_repository

pytestmark = pytest.mark.usefixtures("only_pytest")


def call(name: str, **arguments: Any) -> Call:
    return Call(name=name, arguments=arguments)


async def asked_in(folder: Path, *calls: Call, answer: str = "Allow once", mode: str = "default") -> list[str]:
    """The first lines of the questions in a turn of these calls, none of which may fail."""
    script = [*(say("", each) for each in calls), say("Done.")]
    async with connected(folder, Setup(script=script)) as editor:
        editor.handlers["window/showMessageRequest"] = lambda _: {"title": answer}
        await editor.turn("Do it.", mode=mode)

        failed = [result for result in editor.tool_results if result.startswith("Error") or "denied" in result]
        assert failed == []
        assert editor.requests("pygent/client/save") == []
        questions = editor.requests("window/showMessageRequest")
        return [str(each.params["message"]).splitlines()[0] for each in questions]


def a_project(folder: Path) -> None:
    (folder / "cart.py").write_text("def total(prices):\n    return sum(prices) + 1\n")
    (folder / "test_cart.py").write_text(
        "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    )
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    make_repository(folder)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "First")


FIX = (
    call("list_files"),
    call("grep_search", pattern="def total"),
    call("read_file", path="cart.py"),
    call("run_tests"),
    call("edit_file", path="cart.py", old=" + 1", new=""),
    call("run_tests"),
    call("git_diff"),
)


async def test_to_fix_a_bug_the_edit_and_each_run_of_the_tests_are_asked_about(folder: Path) -> None:
    a_project(folder)
    assert await asked_in(folder, *FIX) == [
        "run_tests: Run tests",
        "edit_file: Edit cart.py (+1 −1)",
        "run_tests: Run tests",
    ]


async def test_what_is_allowed_for_the_session_is_asked_about_once(folder: Path) -> None:
    a_project(folder)
    asked = await asked_in(folder, *FIX, answer="Allow for this session")
    assert asked == ["run_tests: Run tests", "edit_file: Edit cart.py (+1 −1)"]


FILES = [f"m{number}.py" for number in range(5)]


async def test_to_change_five_files_each_is_asked_about_and_none_where_edits_are_accepted(folder: Path) -> None:
    refactor = [
        each
        for name in FILES
        for each in (call("read_file", path=name), call("edit_file", path=name, old="old_name", new="new_name"))
    ]
    for mode, expected in (("default", [f"edit_file: Edit {name} (+1 −1)" for name in FILES]), ("accept_edits", [])):
        for name in FILES:
            (folder / name).write_text("old_name = 1\n")
        asked = await asked_in(folder, call("grep_search", pattern="old_name"), *refactor, mode=mode)
        assert asked == expected


async def test_one_patch_of_five_files_is_one_question(folder: Path) -> None:
    for name in FILES:
        (folder / name).write_text("old_name = 1\n")
    patch = "".join(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old_name = 1\n+new_name = 1\n" for name in FILES)
    (asked,) = await asked_in(folder, call("apply_patch", patch=patch))
    assert all(name in asked for name in FILES)


async def test_to_commit_and_push_each_step_that_changes_the_repository_is_asked_about(
    folder: Path, tmp_path: Path
) -> None:
    a_project(folder)
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "hub.git")
    git(folder, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(folder, "push", "--quiet", "-u", "origin", "main")
    (folder / "cart.py").write_text("def total(prices):\n    return sum(prices)\n")

    asked = await asked_in(
        folder,
        call("git_status"),
        call("git_diff"),
        call("git_add", paths=["cart.py"]),
        call("git_commit", message="The total is the sum"),
        call("git_log", max_count=1),
        call("git_push"),
    )

    assert asked == ["git_add: git add cart.py", "git_commit: git commit: The total is the sum", "git_push: git push"]
    assert git(tmp_path / "hub.git", "log", "-1", "--format=%s", "main").strip() == "The total is the sum"
