"""Commands that the user or a workspace brings, as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.extensions.commands import MAX_FILE_BYTES, MAX_LOOKED_AT, OwnCommand, OwnCommands, OwnSource

FULL = """\
---
description: Mend an   issue
argument-hint: [number] [priority]
agent: review
model: openai/gpt-5
allowed-tools: read_file, shell(git diff:*), grep_search
---

Mend issue $1.
"""


def commands_in(root: Path, source: OwnSource, **files: str) -> OwnCommands:
    """A folder with files, `git__commit` for `git/commit.md`."""
    folder = root / ".pygent" / "commands"
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return OwnCommands(folder=folder, source=source)


def test_a_file_is_a_command_with_what_its_front_matter_says(tmp_path: Path) -> None:
    commands = commands_in(tmp_path, "user", Fix=FULL, git__commit="# Commit it\nNow.", empty__x="---\n---\nGo.")

    assert commands.read() == [
        OwnCommand(name="empty:x", source="user", description="Go.", template="Go."),
        OwnCommand(
            name="fix",
            source="user",
            description="Mend an issue",
            takes="[number] [priority]",
            template="Mend issue $1.",
            agent="review",
            model="openai/gpt-5",
            tools=("read_file", "shell", "grep_search"),
        ),
        OwnCommand(name="git:commit", source="user", description="Commit it", template="# Commit it\nNow."),
    ]


def test_files_are_read_anew_each_time(tmp_path: Path) -> None:
    commands = commands_in(tmp_path, "user")
    assert commands.read() == []

    commands_in(tmp_path, "user", hi="Say hi.")

    assert [each.name for each in commands.read()] == ["hi"]


def test_tools_may_be_a_list_and_what_names_no_command_is_left_alone(tmp_path: Path) -> None:
    commands = commands_in(tmp_path, "user", a="---\ntools: [read_file, grep_search]\n---\nGo.")
    (commands.folder / "with space.md").write_text("x")
    (commands.folder / "1st.md").write_text("x")
    (commands.folder / "notes.txt").write_text("x")
    (commands.folder / ".hidden.md").write_text("x")

    assert [(each.name, each.tools) for each in commands.read()] == [("a", ("read_file", "grep_search"))]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "contains no prompt"),
        ("---\ndescription: x\n---\n  \n", "contains no prompt"),
        ("---\ndescription: x\nGo.", "does not end"),
        ("---\n: [\n---\nGo.", "is not YAML"),
        ("---\n- a\n---\nGo.", "not a table"),
        ("---\nmodel: {a: b}\n---\nGo.", "`model`"),
        ("---\ntools: 7\n---\nGo.", "`tools`"),
        ("---\na: " + "[" * 5000 + "\n---\nGo.", "is not YAML"),
        ("---\na: " + "x" * 20_000 + "\n---\nGo.", "longer than 10,000 bytes"),
        ("x" * (MAX_FILE_BYTES + 1), "longer than 100,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, says: str) -> None:
    (command,) = commands_in(tmp_path, "user", broken=text).read()

    assert command.name == "broken"
    assert says in command.problem
    assert command.template == ""


def test_what_is_no_text_or_no_file_is_a_problem_and_hangs_nothing(tmp_path: Path) -> None:
    commands = commands_in(tmp_path, "user", a="x")
    (commands.folder / "a.md").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(commands.folder / "pipe.md")

    assert [(each.name, each.problem) for each in commands.read()] == [
        ("a", "it is not UTF-8"),
        ("pipe", "it is not a file"),
    ]


def test_a_workspaces_command_is_no_link_nor_behind_one(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password is plum")
    commands = commands_in(tmp_path / "project", "workspace", fine="Go.")
    (commands.folder / "leak.md").symlink_to(secret)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.md").write_text("plum")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".pygent").mkdir()
    (tmp_path / "other" / ".pygent" / "commands").symlink_to(tmp_path / "elsewhere")

    found = {each.name: (each.template, each.problem[:12]) for each in commands.read()}
    linked = OwnCommands(folder=tmp_path / "other" / ".pygent" / "commands", source="workspace").read()

    assert found == {"fine": ("Go.", ""), "leak": ("", "it is a link")}
    assert [(each.template, each.problem[:12]) for each in linked] == [("", "it is a link")]


def test_a_folder_that_is_a_link_to_very_much_is_not_gone_through(tmp_path: Path) -> None:
    much = tmp_path / "much"
    for number in range(3):
        (much / f"folder-{number}").mkdir(parents=True)
        (much / f"folder-{number}" / "x.md").write_text("Go.")
    for number in range(MAX_LOOKED_AT):
        (much / "folder-1" / f"{number}.txt").touch()
    (tmp_path / ".pygent").mkdir()
    (tmp_path / ".pygent" / "commands").symlink_to(much)

    found = OwnCommands(folder=tmp_path / ".pygent" / "commands", source="user").read()

    assert [each.name for each in found] == ["folder-0:x"]


def test_a_workspace_that_is_itself_reached_by_a_link_has_its_commands(tmp_path: Path) -> None:
    commands_in(tmp_path / "project", "workspace", fine="Go.")
    (tmp_path / "link").symlink_to(tmp_path / "project")

    commands = OwnCommands(folder=tmp_path / "link" / ".pygent" / "commands", source="workspace")

    assert [each.template for each in commands.read()] == ["Go."]


def test_the_users_own_commands_may_be_links(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.md").write_text("Go.")
    commands = commands_in(tmp_path, "user", a="x")
    (commands.folder / "b.md").symlink_to(tmp_path / "dotfiles.md")

    assert [each.template for each in commands.read()] == ["x", "Go."]


@given(st.text())
def test_whatever_a_file_holds_it_is_a_command_or_a_problem(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    root = tmp_path_factory.mktemp("commands")
    commands = commands_in(root, "user", a="x")
    (commands.folder / "a.md").write_text(text, encoding="utf-8", errors="replace", newline="")

    (command,) = commands.read()

    assert bool(command.template) != bool(command.problem)


def test_aliases_that_stand_for_billions_of_values_are_refused(tmp_path: Path) -> None:
    levels = "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 12))
    text = f"---\na0: &a0 {{x: 1}}\n{levels}---\nDo it.\n"

    (made,) = commands_in(tmp_path, "workspace", bomb=text).read()

    assert made.problem == "its front matter is not YAML"
