"""What the model is offered, against the list of tools that was agreed on."""

from __future__ import annotations

from typing import Any

import pytest

from pygent_ls.agent.tools.tool import Tool
from pygent_ls.tools.catalog import offered_tools

AGREED: dict[str, tuple[str, list[str], str, bool, float]] = {
    "read_file": ("filesystem", ["path", "start_line?", "end_line?", "start_column?"], "low", True, 30),
    "list_files": ("filesystem", ["path?", "depth?"], "low", True, 30),
    "find_files": ("search", ["pattern", "path?"], "low", True, 30),
    "grep_search": (
        "search",
        ["pattern", "path?", "glob?", "context_lines?", "ignore_case?", "max_results?"],
        "low",
        True,
        30,
    ),
    "find_definition": ("search", ["symbol", "path?"], "low", True, 30),
    "repo_map": ("search", ["path?", "focus?", "max_tokens?"], "low", True, 30),
    "diagnostics": ("search", ["path?"], "low", True, 0),
    "edit_file": ("filesystem", ["path", "old", "new", "all?"], "medium", False, 0),
    "multi_edit": ("filesystem", ["path", "edits"], "medium", False, 0),
    "edit_notebook": ("filesystem", ["path", "action?", "cell?", "source?", "cell_type?"], "medium", False, 0),
    "apply_patch": ("filesystem", ["patch"], "medium", False, 0),
    "create_file": ("filesystem", ["path", "content", "overwrite?"], "medium", False, 0),
    "copy_file": ("filesystem", ["source", "destination"], "medium", False, 0),
    "move_file": ("filesystem", ["source", "destination"], "high", False, 0),
    "delete_file": ("filesystem", ["path"], "high", False, 0),
    "git_status": ("git", [], "low", True, 5),
    "git_diff": ("git", ["path?", "staged?", "revision?"], "low", True, 5),
    "git_branch": ("git", [], "low", True, 10),
    "git_log": ("git", ["path?", "max_count?", "revision?"], "low", True, 60),
    "git_add": ("git", ["paths"], "medium", False, 0),
    "git_commit": ("git", ["message", "all?"], "medium", False, 0),
    "git_checkout": ("git", ["target", "create?", "paths?"], "high", False, 0),
    "git_push": ("git", ["remote?", "branch?"], "high", False, 0),
    "git_pull": ("git", ["remote?", "branch?"], "high", False, 0),
    "shell": ("shell", ["command", "cwd?", "timeout_s?", "background?", "description?"], "high", False, 0),
    "shell_output": ("shell", ["shell_id", "wait_s?"], "low", True, 0),
    "shell_input": ("shell", ["shell_id", "text"], "high", False, 0),
    "shell_kill": ("shell", ["shell_id"], "low", False, 0),
    "run_tests": ("testing", ["target?", "filter?", "timeout_s?"], "medium", False, 0),
    "web_fetch": ("web", ["url", "max_chars?"], "high", True, 60),
    "list_templates": ("scaffold", [], "low", True, 300),
    "list_components": ("scaffold", [], "low", True, 300),
    "create_project": ("scaffold", ["template", "path", "answers?"], "medium", False, 0),
    "add_component": ("scaffold", ["component", "path?", "answers?"], "medium", False, 0),
    "remember": ("agent", ["note", "replaces?"], "medium", False, 0),
    "web_search": ("web", ["query", "count?"], "medium", True, 0),
    "plan": ("agent", ["entries"], "low", False, 0),
    "task": ("agent", ["description", "prompt", "agent?", "background?"], "low", False, 0),
    "ask_user": ("agent", ["question", "choices?"], "low", False, 0),
}


def tools() -> list[Tool]:
    return offered_tools(has_folder=True, shell_timeout_s=120)


def properties(tool: Tool) -> dict[str, Any]:
    return dict(tool.definition.schema["properties"])


def test_names_arguments_risk_and_cache_are_as_agreed() -> None:
    offered: dict[str, tuple[str, list[str], str, bool, float]] = {}
    for tool in tools():
        required = tool.definition.schema.get("required", [])
        arguments = [name if name in required else f"{name}?" for name in properties(tool)]
        offered[tool.name] = (tool.category.value, arguments, tool.risk.value, tool.read_only, tool.ttl_s)

    assert offered == AGREED


def test_without_a_folder_the_file_tools_are_off() -> None:
    names = [tool.name for tool in offered_tools(has_folder=False, shell_timeout_s=120)]
    web = ["web_fetch", "web_search"]
    assert names == ["shell", "shell_output", "shell_input", "shell_kill", *web, "plan", "task", "ask_user"]


@pytest.mark.parametrize("tool", tools(), ids=lambda tool: tool.name)
def test_the_model_is_told_what_each_argument_means(tool: Tool) -> None:
    assert tool.description
    assert [name for name, schema in properties(tool).items() if not schema.get("description")] == []


def test_what_changes_files_plans_and_what_runs_long_keeps_its_own_time() -> None:
    planning = [tool.name for tool in tools() if tool.plans_edit]

    assert planning == [
        "edit_file",
        "multi_edit",
        "edit_notebook",
        "apply_patch",
        "create_file",
        "copy_file",
        "move_file",
        "delete_file",
        "create_project",
        "add_component",
    ]
    changing = ["git_add", "git_commit", "git_checkout", "git_push", "git_pull", "shell", "run_tests"]
    reading = ["git_status", "git_diff", "git_branch", "git_log"]
    own_time = {tool.name for tool in tools() if tool.timeout_s is None}
    assert own_time == {*changing, "shell_output", "task", "ask_user"}
    assert [tool.name for tool in tools() if tool.runs_programs] == [*reading, *changing]


def test_titles_name_what_a_call_is_about() -> None:
    given = {
        "description": "look",
        "path": "a.py",
        "pattern": "x",
        "source": "a",
        "destination": "b",
        "command": "ls",
        "url": "https://example.org/",
        "shell_id": "shell_1",
        "text": "hi",
        "template": "cli",
        "component": "licence",
        "question": "Which?",
        "note": "plum",
        "query": "plums",
    }

    assert {tool.name: tool.title_for(given) for tool in tools()} == {
        "read_file": "Read a.py",
        "list_files": "List a.py",
        "find_files": "Find x a.py",
        "grep_search": "Search for x a.py",
        "find_definition": "Find the definition of a.py",
        "repo_map": "Map a.py",
        "diagnostics": "Look at the problems a.py",
        "edit_file": "Edit a.py",
        "multi_edit": "Edit a.py",
        "edit_notebook": "Edit a cell of a.py",
        "apply_patch": "Patch a.py, a, b",
        "create_file": "Create a.py",
        "copy_file": "Copy a to b",
        "move_file": "Move a to b",
        "delete_file": "Delete a.py",
        "git_status": "git status",
        "git_diff": "git diff a.py",
        "git_branch": "git branch",
        "git_log": "git log a.py",
        "git_add": "git add",
        "git_commit": "git commit:",
        "git_checkout": "git checkout",
        "git_push": "git push",
        "git_pull": "git pull",
        "shell": "ls",
        "shell_output": "Read shell_1",
        "shell_input": "Write to shell_1: hi",
        "shell_kill": "End shell_1",
        "run_tests": "Run tests",
        "web_fetch": "Fetch https://example.org/",
        "list_templates": "List templates",
        "list_components": "List components",
        "create_project": "Create a.py from the template cli",
        "add_component": "Add licence to a.py, a, b",
        "remember": "Notes: + plum −",
        "web_search": "Search the web for plums",
        "plan": "Plan",
        "task": "Subagent: look",
        "ask_user": "Ask: Which?",
    }
