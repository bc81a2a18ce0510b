"""Selection of the tools that a model is offered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from pygent_ls.agent.ports.language_features import Feature
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import SettingError
from pygent_ls.tools.ask_user import ask_user
from pygent_ls.tools.diagnostics import diagnostics
from pygent_ls.tools.files.apply_patch import apply_patch
from pygent_ls.tools.files.edit_file import create_file, edit_file
from pygent_ls.tools.files.edit_notebook import edit_notebook
from pygent_ls.tools.files.file_operations import copy_file, delete_file, move_file
from pygent_ls.tools.files.multi_edit import multi_edit
from pygent_ls.tools.files.read_file import list_files, read_file
from pygent_ls.tools.git.read_tools import git_branch, git_diff, git_log, git_status
from pygent_ls.tools.git.write_tools import git_add, git_checkout, git_commit, git_pull, git_push
from pygent_ls.tools.language.edits import apply_code_action, code_actions, rename_symbol
from pygent_ls.tools.language.navigation import code_navigation
from pygent_ls.tools.notes import remember
from pygent_ls.tools.scaffold.templates import add_component, create_project, list_components, list_templates
from pygent_ls.tools.search.definitions import find_definition
from pygent_ls.tools.search.grep import find_files, grep_search
from pygent_ls.tools.search.repo_map import repo_map_tool
from pygent_ls.tools.search.repository_map import DEFAULT_TOKENS
from pygent_ls.tools.shell.background import shell_input, shell_kill, shell_output
from pygent_ls.tools.shell.command import shell_tool
from pygent_ls.tools.skills import read_skill
from pygent_ls.tools.tasks import plan, task_tool
from pygent_ls.tools.tests.run_tests import run_tests
from pygent_ls.tools.web import web_fetch, web_search

NAVIGATION: frozenset[Feature] = frozenset(
    {
        *("definition", "implementation", "type_definition", "references", "hover"),
        *("document_symbols", "workspace_symbols", "call_hierarchy"),
    }
)
"""Features of which `code_navigation` needs one."""

IN_THE_BACKGROUND = (shell_output, shell_input, shell_kill)


def offered_tools(  # noqa: PLR0913 - one argument for each fact about the session
    *,
    has_folder: bool,
    shell_timeout_s: float,
    place: str = "",
    has_skills: bool = False,
    has_memory: bool = True,
    has_search: bool = True,
    map_tokens: int = DEFAULT_TOKENS,
    agents: Sequence[tuple[str, str]] = (),
    language: Collection[Feature] = (),
) -> list[Tool]:
    """Return the tools to register, in the model's order; `agents` are the possible subagents, each with its
    description. The tools for skills, notes and web search are included if there are any skills, if notes are kept, and
    if a search service is configured; those that ask language servers, if something may answer (`language`).

    `map_tokens` is the usual size of the map of the workspace; `place`, where commands run if not on this machine.

    Without a workspace folder, only commands and the web are included.
    """
    shell = shell_tool(shell_timeout_s, place)
    skills = [read_skill] if has_skills else []
    web = [web_fetch, web_search] if has_search else [web_fetch]
    if not has_folder:
        return [shell, *IN_THE_BACKGROUND, *web, *skills, plan, task_tool(agents), ask_user]
    return [
        read_file,
        list_files,
        find_files,
        grep_search,
        find_definition,
        *([code_navigation] if NAVIGATION.intersection(language) else []),
        *([rename_symbol] if "rename" in language else []),
        *([code_actions, apply_code_action] if "code_actions" in language else []),
        repo_map_tool(map_tokens),
        diagnostics,
        edit_file,
        multi_edit,
        edit_notebook,
        apply_patch,
        create_file,
        copy_file,
        move_file,
        delete_file,
        git_status,
        git_diff,
        git_branch,
        git_log,
        git_add,
        git_commit,
        git_checkout,
        git_push,
        git_pull,
        shell,
        *IN_THE_BACKGROUND,
        run_tests,
        *web,
        list_templates,
        list_components,
        create_project,
        add_component,
        *skills,
        *([remember] if has_memory else []),
        plan,
        task_tool(agents),
        ask_user,
    ]


def check_tool(place: str, tool: str, known: Sequence[str]) -> None:
    """Raise `SettingError` for a name or glob that matches no known tool. Tools of MCP servers and of the
    editor are accepted: they are known only later.
    """
    if not tool.startswith(("mcp__", "editor__")) and not any(fnmatchcase(each, tool) for each in known):
        raise SettingError(f"{place}: there is no tool {tool!r}; available tools: {', '.join(known)}")
