"""AGENTS.md and CLAUDE.md: which are found, in which order, and what is never read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pygent_ls.agent.context.instructions import block_of
from pygent_ls.agent.messages import user_message
from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.extensions.instructions import MAX_FILE_CHARS, MAX_IMPORT_DEPTH, RepositoryInstructions
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from tests.agent.abilities import place
from tests.fakes import FakeWorkspace

ANY = Reading()


def instructions(files: Mapping[str, str]) -> RepositoryInstructions:
    """Return the instructions of a workspace with these files."""
    return RepositoryInstructions(FakeWorkspace(files))


async def texts(files: Mapping[str, str], reading: Reading = ANY) -> list[str]:
    """What the root says, in its order."""
    return [each.text for each in await instructions(files).of_workspace(reading)]


# At the root


async def test_both_names_are_read_in_their_order() -> None:
    assert await texts({"CLAUDE.md": "two", "AGENTS.md": "one", "sub/AGENTS.md": "not yet"}) == ["one", "two"]


async def test_what_two_files_say_alike_is_taken_once() -> None:
    assert await texts({"CLAUDE.md": "same\n", "AGENTS.md": "same"}) == ["same"]


async def test_empty_files_say_nothing() -> None:
    assert await texts({"CLAUDE.md": " \n", "AGENTS.md": ""}) == []


async def test_a_link_to_the_other_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("one")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")

    found = await RepositoryInstructions(DiskWorkspace([tmp_path])).of_workspace(ANY)

    assert [(each.name, each.text) for each in found] == [("AGENTS.md", "one")]


async def test_a_link_to_a_missing_file_outside_of_the_workspace_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").symlink_to("../nowhere/AGENTS.md")

    assert await RepositoryInstructions(DiskWorkspace([tmp_path])).of_workspace(ANY) == []


async def test_a_link_that_leads_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("keys")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "AGENTS.md").symlink_to("../secret")

    (found,) = await RepositoryInstructions(DiskWorkspace([tmp_path / "w"])).of_workspace(ANY)

    assert found.text == ""
    assert "outside the workspace" in found.problem


async def test_unsaved_changes_count() -> None:
    workspace = FakeWorkspace({"AGENTS.md": "saved"})
    workspace.type_text("AGENTS.md", "typed")

    assert [each.text for each in await RepositoryInstructions(workspace).of_workspace(ANY)] == ["typed"]


async def test_a_rule_that_keeps_a_file_from_being_read_keeps_it_here_too() -> None:
    reading = Reading.of([Rule(text="read_file(AGENTS.md)", decision="deny", origin="user")])

    (found,) = await instructions({"AGENTS.md": "one"}).of_workspace(reading)

    assert (found.text, found.problem) == ("", "The rule read_file(AGENTS.md) prevents it from being read.")


async def test_a_long_file_is_cut_and_says_so() -> None:
    (text,) = await texts({"AGENTS.md": "x" * (MAX_FILE_CHARS + 7)})
    assert text == "x" * MAX_FILE_CHARS + "\n[… 7 of 40,007 characters of AGENTS.md left out …]"


# What CLAUDE.md imports


async def test_what_claude_md_imports_follows_it() -> None:
    files = {"CLAUDE.md": "See @docs/a.md, and @b.md.", "docs/a.md": "a: @c.md", "docs/c.md": "c", "b.md": "b"}
    assert await texts(files) == ["See @docs/a.md, and @b.md.", "a: @c.md", "c", "b"]


async def test_agents_md_that_is_imported_is_taken_once() -> None:
    assert await texts({"CLAUDE.md": "@AGENTS.md", "AGENTS.md": "one"}) == ["one", "@AGENTS.md"]


@pytest.mark.parametrize(
    "word", ["@../outside.md", "@/etc/passwd", "@gone.md", "@folder", "@~/x.md", "me@b.md", "`@b.md`"]
)
async def test_what_is_no_file_of_the_workspace_is_no_import(word: str) -> None:
    assert await texts({"CLAUDE.md": word, "b.md": "b", "folder/x": "x"}) == [word]


@pytest.mark.parametrize("code", ["```\n@b.md\n```", "```py\n@b.md", "```py\nx\n```py\n@b.md\n```\n"])
async def test_code_imports_nothing_also_where_it_is_not_closed(code: str) -> None:
    assert await texts({"CLAUDE.md": code, "b.md": "b"}) == [code]


async def test_behind_code_an_import_counts_again() -> None:
    assert (await texts({"CLAUDE.md": "```\nx\n```\n@b.md", "b.md": "b"}))[1:] == ["b"]


async def test_files_that_import_each_other_come_to_an_end() -> None:
    assert (
        await texts({"CLAUDE.md": "@a.md", "a.md": "@CLAUDE.md @b.md", "b.md": "@a.md"})
        == [
            "@a.md",
            "@CLAUDE.md @b.md",
            "@a.md",
        ][:2]
    )


async def test_imports_go_only_so_deep() -> None:
    files = {"CLAUDE.md": "@0.md", **{f"{n}.md": f"@{n + 1}.md" for n in range(9)}}
    assert await texts(files) == ["@0.md", *(f"@{n + 1}.md" for n in range(MAX_IMPORT_DEPTH))]


async def test_only_claude_md_imports() -> None:
    assert await texts({"AGENTS.md": "@b.md", "b.md": "b"}) == ["@b.md"]


# On the way to a file

NESTED = {
    "AGENTS.md": "root",
    "a/AGENTS.md": "in a",
    "a/b/CLAUDE.md": "in b",
    "a/b/c.py": "",
    "other/AGENTS.md": "elsewhere",
}


async def test_those_on_the_way_to_a_file_are_found_once_the_nearest_last() -> None:
    own = instructions(NESTED)

    found = await own.near([place("a/b/c.py"), place("top.py")], ANY)

    assert [(each.name, each.below, each.text) for each in found] == [
        ("a/AGENTS.md", "a", "in a"),
        ("a/b/CLAUDE.md", "a/b", "in b"),
    ]
    assert await own.near([place("a/b/c.py"), place("a/AGENTS.md")], ANY) == []


async def test_a_file_outside_the_workspace_leads_nowhere() -> None:
    assert await instructions(NESTED).near([Path("/etc/passwd")], ANY) == []


async def test_what_comes_to_be_there_counts_from_the_next_turn_on() -> None:
    workspace = FakeWorkspace({"a/x.py": ""})
    own = RepositoryInstructions(workspace)
    await own.near([place("a/x.py")], ANY)
    workspace.put("a/AGENTS.md", "new")

    assert await own.near([place("a/x.py")], ANY) == []
    await own.of_workspace(ANY)
    assert [each.text for each in await own.near([place("a/x.py")], ANY)] == ["new"]


async def test_what_was_said_and_is_no_longer_in_the_conversation_is_said_again_as_it_is_now() -> None:
    workspace = FakeWorkspace(NESTED)
    own = RepositoryInstructions(workspace)
    first, second = await own.near([place("a/b/c.py")], ANY)
    await own.of_workspace(ANY)

    own.forget_lost([user_message((block_of(first), block_of(second)))])
    assert await own.near([place("a/b/c.py")], ANY) == []

    workspace.put("a/b/CLAUDE.md", "changed")
    await own.of_workspace(ANY)
    own.forget_lost([user_message((block_of(first),))])
    assert [(each.name, each.text) for each in await own.near([place("a/b/c.py")], ANY)] == [
        ("a/b/CLAUDE.md", "changed")
    ]


async def test_words_of_the_user_that_look_alike_do_not_count_as_said() -> None:
    own = instructions(NESTED)
    await own.near([place("a/b/c.py")], ANY)
    await own.of_workspace(ANY)
    own.forget_lost([user_message('<instructions file="a/AGENTS.md">')])
    assert len(await own.near([place("a/b/c.py")], ANY)) == 2
