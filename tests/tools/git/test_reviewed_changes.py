"""The changes that a code review reads: real git, real repositories, and unsaved buffers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.errors import ToolError
from pygent_ls.tools.git.program import repository_of
from pygent_ls.tools.git.review_target import TargetKind, commit_target, target_of
from pygent_ls.tools.git.reviewed_changes import MAX_DIFF_CHARS, ReviewedChanges, changes_of
from tests.tools.git.test_hostile_repositories import Trap
from tests.tools.repository import commit_all, git, make_repository
from tests.tools.tool_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "project"
    folder.mkdir()
    made = Bench(folder.resolve())
    make_repository(made.folder)
    made.write("a.txt", "one\ntwo\n")
    commit_all(made, "start")
    return made


async def title(bench: Bench, name: str = "", kind: TargetKind | None = None) -> str:
    return (await target_of(bench.context, await repository_of(bench.context), kind, name)).title


async def changes(bench: Bench, name: str = "", kind: TargetKind | None = None) -> ReviewedChanges:
    repository = await repository_of(bench.context)
    return await changes_of(bench.context, repository, await target_of(bench.context, repository, kind, name))


async def test_staged_unstaged_untracked_deleted_and_unsaved_changes_are_found(bench: Bench) -> None:
    bench.write("gone.txt", "gone\n")
    bench.write("open.txt", "saved\n")
    commit_all(bench, "more")
    bench.write("a.txt", "one\nTWO\n")
    git(bench.folder, "add", "a.txt")
    bench.write("b.txt", "new\n")
    (bench.folder / "gone.txt").unlink()
    bench.workspace.type_into(bench.folder / "open.txt", "typed\n")

    found = await changes(bench)
    assert found.files == {"a.txt": "changed", "gone.txt": "deleted", "b.txt": "new", "open.txt": "changed, unsaved"}
    text = "\n".join(found.diffs)
    assert all(line in text for line in ("+TWO", "-gone", "+new", "-saved\n+typed"))
    assert found.left_out == []


async def test_an_unsaved_text_takes_precedence_over_the_file_and_may_undo_its_change(bench: Bench) -> None:
    bench.write("a.txt", "one\nTWO\n")
    bench.workspace.type_into(bench.folder / "a.txt", "one\ntwo\nthree\n")
    text = "\n".join((await changes(bench)).diffs)
    assert "+three" in text
    assert "TWO" not in text
    bench.workspace.type_into(bench.folder / "a.txt", "one\ntwo\n")
    assert (await changes(bench)).files == {}


async def test_a_repository_without_a_commit_is_reviewed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    make_repository(bench.folder)
    bench.write("a.txt", "staged\n")
    git(bench.folder, "add", "a.txt")
    bench.write("b.txt", "untracked\n")
    text = "\n".join((await changes(bench)).diffs)
    assert "+staged" in text
    assert "+untracked" in text


async def test_the_name_shows_what_is_meant(bench: Bench) -> None:
    git(bench.folder, "branch", "topic")
    git(bench.folder, "tag", "v1")
    bench.write("a.txt", "one\n")
    commit_all(bench, "second")
    head = git(bench.folder, "rev-parse", "HEAD").strip()
    assert await title(bench) == "the uncommitted changes"
    for name in ("topic", "v1"):
        assert await title(bench, name) == f"the changes since {name}"
    for name in ("HEAD", "@", head[:8], "HEAD~1"):
        assert await title(bench, name) == f"the commit {name}"
    for name in ("topic..", "topic...main", "..main"):
        assert await title(bench, name) == f"the commits {name}"
    assert await title(bench, "topic", "commit") == "the commit topic"
    assert await title(bench, "HEAD~1", "base") == "the changes since HEAD~1"
    root = await changes(bench, "HEAD~1")
    assert "+one\n+two" in "\n".join(root.diffs)


@pytest.mark.parametrize("name", ["nowhere", "-x", "--output=x", "topic..--help", "a\nb"])
async def test_a_name_that_is_no_commit_is_refused(bench: Bench, name: str) -> None:
    with pytest.raises(ToolError):
        await title(bench, name)
    assert sorted(each.name for each in bench.folder.iterdir()) == [".git", "a.txt"]


async def test_withheld_and_ignored_files_and_targets_of_links_are_left_out(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("outside\n")
    bench.write(".gitignore", "ignored*\n")
    for name in ("private.txt", "ignored.txt", "secret/b.txt"):
        bench.write(name, f"text of {name}\n")
    (bench.folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (bench.folder / "inner.txt").symlink_to(bench.folder / "private.txt")
    bench.workspace.type_into(bench.folder / "ignored2.txt", "ignored, unsaved\n")
    denied = ("read_file(private.txt)", "read_file(secret/**)")
    bench.context.reading = Reading.of([Rule(text=each, decision="deny", origin="user") for each in denied])
    found = await changes(bench)
    text = "\n".join(found.diffs)
    assert "text of" not in text
    assert "outside" not in text
    assert "ignored, unsaved" not in text
    assert found.n_withheld == 2
    assert not any(name.startswith(("private", "secret", "ignored")) for name in found.files)


async def test_a_large_change_is_a_list_and_the_diffs_that_fit(bench: Bench) -> None:
    for number in range(12):
        bench.write(f"big{number:02}.txt", f"line {number}\n" * 1_000)
    commit_all(bench, "big")
    bench.write("a.txt", "one\n")
    found = await changes(bench, "HEAD~1", "base")
    assert len(found.files) == 13
    assert sum(map(len, found.diffs)) <= MAX_DIFF_CHARS
    assert 0 < len(found.left_out) < 12
    assert len(found.diffs) + len(found.left_out) == 13


async def test_binary_files_are_named_and_not_shown(bench: Bench) -> None:
    bench.write("new.bin", bytes(range(256)))
    assert (await changes(bench)).left_out == ["new.bin"]


async def test_a_hostile_repository_runs_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    bench = Bench(folder)
    trap = Trap(bench, tmp_path)
    with (trap.git / "config").open("a") as file:
        file.write(trap.keys)
    trap.arm()
    bench.workspace.type_into(bench.folder / "a.txt", "typed\n")
    for name in ("", "HEAD", "HEAD~1..HEAD"):
        assert (await changes(bench, name)).files
    assert (await changes(bench, "HEAD~1", "base")).files
    assert not trap.sprung.exists()
    trap.arm()
    assert trap.snaps()


async def test_a_commit_contains_what_is_staged_or_else_all_that_is_saved(bench: Bench) -> None:
    bench.write("a.txt", "one\nTWO\n")
    bench.write("b.txt", "new\n")
    bench.workspace.type_into(bench.folder / "a.txt", "unsaved\n")
    repository = await repository_of(bench.context)

    async def text() -> str:
        target = await commit_target(bench.context, repository)
        return "\n".join((await changes_of(bench.context, repository, target)).diffs)

    assert "+TWO" in await text()
    assert "+new" in await text()
    git(bench.folder, "add", "a.txt")
    bench.write("a.txt", "one\nTWO\nlater\n")
    staged = await text()
    assert "+TWO" in staged
    assert not any(line in staged for line in ("+new", "+later", "unsaved"))


@pytest.mark.parametrize("kind", ["staged", "commit", "many"])
async def test_a_file_that_became_a_folder_shows_nothing_that_is_withheld_in_it(bench: Bench, kind: str) -> None:
    bench.write("config", "public\n")
    commit_all(bench, "config")
    (bench.folder / "config").unlink()
    bench.write("config/internal.yml", "plan: buy\n")
    bench.write("config/other.yml", "known: yes\n")
    if kind == "many":
        for number in range(7):
            bench.write(f"big{number}.txt", f"line {number}\n" * 10_000)
    git(bench.folder, "add", "--all")
    if kind == "commit":
        commit_all(bench, "folder")
    rule = Rule(text="read_file(config/internal.yml)", decision="deny", origin="user")
    bench.context.reading = Reading.of([rule])
    repository = await repository_of(bench.context)
    staged = await commit_target(bench.context, repository)
    target = await target_of(bench.context, repository, None, "HEAD") if kind == "commit" else staged
    found = await changes_of(bench.context, repository, target)
    text = "\n".join(found.diffs)
    assert "plan" not in text
    assert "internal" not in text
    assert "+known: yes" in text
    assert found.n_withheld == 1
    assert "config" in found.left_out


async def test_a_file_that_became_a_folder_or_a_link_is_shown_in_full(bench: Bench) -> None:
    bench.write("config", "public\n")
    commit_all(bench, "config")
    (bench.folder / "config").unlink()
    bench.write("config/part.yml", "known: yes\n")
    (bench.folder / "a.txt").unlink()
    (bench.folder / "a.txt").symlink_to("b.txt")
    git(bench.folder, "add", "--all")
    found = await changes(bench)
    assert sorted(found.files) == ["a.txt", "config", "config/part.yml"]
    assert found.left_out == []
    texts = {diff.split(" b/")[0].removeprefix("diff --git a/"): diff for diff in found.diffs}
    assert sorted(texts) == sorted(found.files)
    assert "-two" in texts["a.txt"]
    assert "+b.txt" in texts["a.txt"]
    assert "-public" in texts["config"]
    assert "known" not in texts["config"]
    assert texts["config/part.yml"].count("+known: yes") == 1


async def test_names_that_git_quotes_are_shown(bench: Bench) -> None:
    names = [
        'quo"te.txt',
        "back\\slash.txt",
        "tab\t.txt",
        "line\ndiff --git a/a.txt b/a.txt",
        "é \x7f.txt",
        "a b/a b.txt",
    ]
    for name in names:
        bench.write(name, "text\n")
    git(bench.folder, "add", "--all")
    found = await changes(bench)
    assert found.left_out == []
    assert len(found.diffs) == len(names)
