"""Servers that a workspace names for other programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.config.layers import load
from pygent_ls.config.sources import mcp_layers, user_layer, workspace_layer
from pygent_ls.config.trust import wishes_of
from pygent_ls.data_files import read_json_with_comments

CLAUDE = """
{"mcpServers": {"git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "env": {"A": "${B:-c}"}}}}
"""

VS_CODE = """
// The servers of the project.
{
  "inputs": [],
  "servers": {
    "docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"X": "http://a//b"}}, /* by HTTP */
    "own": {"command": "${workspaceFolder}/serve", "disabled": true,},
  },
}
"""


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def test_servers_of_other_programs_wait_for_trust_by_the_names_of_their_files(tmp_path: Path) -> None:
    put(tmp_path, ".mcp.json", CLAUDE)
    put(tmp_path, ".vscode/mcp.json", VS_CODE)

    loaded = load(mcp_layers(tmp_path))

    assert loaded.settings.mcp_servers == {}
    assert [(each.source, each.words) for each in wishes_of(loaded.problems)] == [
        (
            ".mcp.json",
            'start the MCP server git: {"command": "uvx", "args": ["mcp-server-git"], "env": {"A": "${B:-c}"}}',
        ),
        (
            ".vscode/mcp.json",
            'start the MCP server docs: {"url": "https://docs.example/mcp", "headers": {"X": "http://a//b"}}',
        ),
        (".vscode/mcp.json", f'start the MCP server own: {{"command": "{tmp_path}/serve", "enabled": false}}'),
    ]


def test_servers_work_in_the_folder_that_the_settings_are_used_in(tmp_path: Path) -> None:
    put(tmp_path, ".vscode/mcp.json", VS_CODE)

    words = [each.words for each in wishes_of(load(mcp_layers(tmp_path, tmp_path / "worktree")).problems)]

    assert words[1] == f'start the MCP server own: {{"command": "{tmp_path}/worktree/serve", "enabled": false}}'


def test_the_workspaces_own_file_takes_precedence_and_values_are_not_shown(tmp_path: Path) -> None:
    put(tmp_path, ".mcp.json", CLAUDE)
    put(tmp_path, ".pygent/config.toml", '[mcp_servers.git]\ncommand = "git-server"\nenv = { KEY = "plum" }\n')

    loaded = load([*mcp_layers(tmp_path), workspace_layer(tmp_path)])

    assert [each.source for each in wishes_of(loaded.problems)] == [".mcp.json", ".pygent/config.toml"]
    assert "plum" not in "".join(each.text for each in loaded.problems)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not valid JSON: "),
        ("[]", "mcpServers is not an object"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ("[" * 100_000, "not valid JSON: nested too deeply"),
        ('{"mcpServers": {"a": 1}}', "expected a table"),
        ('{"mcpServers": {"a": {}}}', "either command or url must be set"),
        ('{"mcpServers": {"a": {"command": 1}}}', "command: expected text"),
    ],
)
def test_a_wrong_file_is_told_and_the_rest_counts(text: str, problem: str, tmp_path: Path) -> None:
    put(tmp_path, ".mcp.json", text)
    user = tmp_path / "user.toml"
    user.write_text('[mcp_servers.docs]\nurl = "https://docs.example/mcp"\n')

    loaded = load([user_layer(user), *mcp_layers(tmp_path)])

    assert [problem in each.text for each in loaded.problems] == [True]
    assert list(loaded.settings.mcp_servers) == ["docs"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_comments_and_last_commas_change_nothing(value: object) -> None:
    text = json.dumps(value, indent=1)

    assert read_json_with_comments(text) == value
    commented = "/* first */" + "".join(f"{line} // é, }}\n" for line in text.split("\n"))
    assert read_json_with_comments(commented) == value
    if isinstance(value, list | dict) and value:
        assert read_json_with_comments(f"{text[:-1].rstrip()},\n{text[-1]}") == value
