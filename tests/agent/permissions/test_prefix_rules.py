"""Which rules by first words a prompt offers, and how grave a call looks."""

from __future__ import annotations

import pytest

from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.permissions.choices import graded_risk
from pygent_ls.agent.permissions.prefix_rules import prefix_rules
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.tools.files.edit_file import edit_file
from pygent_ls.tools.files.file_operations import delete_file
from pygent_ls.tools.shell.command import shell_tool
from pygent_ls.tools.web import web_fetch

SHELL = shell_tool(10.0)


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("npm test", "npm test"),
        ("npm test -- --run src", "npm test"),
        ("npm run lint", "npm run lint"),
        ("pytest -q tests/test_a.py", "pytest"),
        ("python -m pytest tests", "python -m pytest"),
        ("uv run pytest -q", "uv run pytest"),
        ("cargo test --workspace", "cargo test"),
        ("git diff HEAD", "git diff"),
        ("make test", "make test"),
        ("gh pr view 12", "gh pr view"),
    ],
)
def test_a_plain_command_of_the_project_is_offered_by_its_first_words(command: str, prefix: str) -> None:
    assert prefix_rules(SHELL, [command]) == (f"shell({prefix}:*)",)


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'npm test'",
        "bash -c 'npm test'",
        "python -c 'print(1)'",
        "python build.py",
        "node -e 1",
        "env npm test",
        "sudo npm test",
        "FOO=1 npm test",
        "npm test && rm -rf /",
        "npm test | tee log",
        "npm test; npm test",
        "npm test &",
        "npm test > log",
        "npm test $(cat x)",
        "npm test $X",
        "npm run '$X'",
        "(npm test)",
        "cd web && npm test",
        "npm install left-pad",
        "npm exec evil",
        "npx evil",
        "git -c core.pager=evil diff",
        "git push",
        "make -f evil.mk test",
        "make CC=evil test",
        "rm -rf build",
        "curl https://example.com",
        "find . -delete",
        "xargs npm test",
        "./npm test",
        "/tmp/npm test",
        "npm",
        "echo $(",
        "",
    ],
)
def test_none_is_offered_that_would_allow_something_else(command: str) -> None:
    assert prefix_rules(SHELL, [command]) == ()


def test_only_commands_have_such_rules() -> None:
    assert prefix_rules(edit_file, ["npm test"]) == ()


@pytest.mark.parametrize(
    ("tool", "subject", "grade"),
    [
        (web_fetch, "https://docs.python.org/3/library/os.html", "low"),
        (web_fetch, "https://docs.python.org/?q=what+was+read", "medium"),
        (web_fetch, "https://a@evil.example", "medium"),
        (edit_file, "a.py", "medium"),
        (SHELL, "npm test", "medium"),
        (SHELL, "rm -rf build", "high"),
        (SHELL, "npm test && rm -rf build", "high"),
        (delete_file, "a.py", "high"),
    ],
)
def test_a_fetch_an_edit_and_a_removal_do_not_look_the_same(tool: Tool, subject: str, grade: str) -> None:
    assert graded_risk(tool, [subject]) is ToolRisk(grade)
