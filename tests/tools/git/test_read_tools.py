"""The git tools that only read: what they say, what they never run, and when a cached answer no longer holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.files.apply_patch import apply_patch
from pygent_ls.tools.git.program import without_secrets
from pygent_ls.tools.git.read_tools import git_branch, git_diff, git_log, git_status
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.tools.repository import commit_all, git, make_repository
from tests.tools.tool_bench import Bench

TEXT = "alpha\nbeta\ngamma\n"

READERS = (git_status, git_diff, git_branch, git_log)


@pytest.fixture
def repo(bench: Bench) -> Bench:
    """A repository with one commit."""
    make_repository(bench.folder)
    bench.write("a.txt", TEXT)
    bench.write("sub/b.txt", TEXT)
    commit_all(bench, "start")
    return bench


# Status


async def test_a_clean_work_tree_is_said_to_be_clean(repo: Bench) -> None:
    assert await repo.call(git_status) == "On branch main.\nNothing to commit; the files match the last commit."


async def test_status_lists_what_is_staged_changed_and_untracked(repo: Bench) -> None:
    repo.write("a.txt", "staged\n")
    git(repo.folder, "add", "a.txt")
    repo.write("a.txt", "changed again\n")
    git(repo.folder, "mv", "sub/b.txt", "sub/ö c.txt")
    repo.write("new/one.txt")
    repo.write("two.txt")

    assert await repo.call(git_status) == (
        "On branch main.\n\n"
        "Staged:\n  modified: a.txt\n  renamed: sub/b.txt → sub/ö c.txt\n\n"
        "Not staged:\n  modified: a.txt\n\n"
        "Untracked:\n  new/\n  two.txt"
    )


async def test_status_tells_of_conflicts_and_what_is_in_progress(repo: Bench) -> None:
    git(repo.folder, "checkout", "--quiet", "-b", "topic")
    repo.write("a.txt", "topic\n")
    commit_all(repo, "topic")
    git(repo.folder, "checkout", "--quiet", "main")
    repo.write("a.txt", "main\n")
    commit_all(repo, "main")
    with pytest.raises(Exception, match="merge"):
        git(repo.folder, "merge", "topic")

    assert await repo.call(git_status) == (
        "On branch main.\nA merge is in progress.\n\nIn conflict:\n  a.txt (changed by both)"
    )


async def test_status_tells_how_far_the_branch_is_from_its_upstream(repo: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repo.folder), str(other))
    repo.write("a.txt", "theirs\n")
    commit_all(repo, "theirs")
    git(other, "fetch", "--quiet")
    clone = Bench(other)

    assert (await clone.call(git_status)).startswith("On branch main, 1 behind of origin/main.")


async def test_a_repository_without_commits_and_a_detached_head_are_told(bench: Bench) -> None:
    make_repository(bench.folder)
    assert (await bench.call(git_status)).startswith("On branch main, no commits yet.")
    assert await bench.call(git_log) == "There are no commits yet."
    assert await bench.call(git_branch) == "* main (no commit yet)"

    bench.write("a.txt", TEXT)
    commit_all(bench, "start")
    git(bench.folder, "checkout", "--quiet", "--detach")
    assert (await bench.call(git_status)).startswith("HEAD is detached at ")
    assert "(no branch: HEAD is at " in await bench.call(git_branch)


async def test_only_what_is_below_the_workspace_folder_is_shown(repo: Bench) -> None:
    repo.write("a.txt", "changed\n")
    repo.write("sub/b.txt", "alpha\nBETA\ngamma\n")
    inner = Bench(repo.folder / "sub")

    assert await inner.call(git_status) == "On branch main.\n\nNot staged:\n  modified: b.txt"
    diff = await inner.call(git_diff)
    assert diff.startswith("diff --git a/b.txt b/b.txt\n")
    assert "a.txt" not in diff


# Differences


async def test_a_diff_can_be_of_the_files_of_the_index_and_against_a_revision(repo: Bench) -> None:
    repo.write("a.txt", TEXT.replace("beta", "BETA"))
    git(repo.folder, "add", "a.txt")
    repo.write("sub/b.txt", TEXT.replace("gamma", "GAMMA"))

    unstaged, staged, both = (
        await repo.call(git_diff),
        await repo.call(git_diff, staged=True),
        await repo.call(git_diff, revision="HEAD"),
    )

    assert "+GAMMA" in unstaged
    assert "+BETA" not in unstaged
    assert "+BETA" in staged
    assert "+GAMMA" not in staged
    assert "+GAMMA" in both
    assert "+BETA" in both
    assert "+GAMMA" not in await repo.call(git_diff, path="a.txt", revision="HEAD")
    assert (await repo.call(git_diff, path="a.txt")).startswith("No changes (unstaged).")


async def test_a_diff_can_be_applied_again(repo: Bench) -> None:
    repo.write("sub/b.txt", TEXT.replace("gamma", "GAMMA"))
    patch = await repo.call(git_diff)
    git(repo.folder, "checkout", "--quiet", ".")

    await repo.call(apply_patch, patch=patch)

    assert repo.bytes_of("sub/b.txt").decode() == TEXT.replace("gamma", "GAMMA")


async def test_the_paths_of_a_repository_inside_the_workspace_are_the_workspaces(bench: Bench) -> None:
    inner = bench.folder / "lib"
    inner.mkdir()
    make_repository(inner)
    bench.write("lib/a.txt", TEXT)
    git(inner, "add", "a.txt")
    git(inner, "commit", "--quiet", "-m", "start")
    bench.write("lib/a.txt", TEXT.replace("beta", "BETA"))

    assert "+++ b/lib/a.txt\n" in await bench.call(git_diff, path="lib/a.txt")
    assert "start" in await bench.call(git_log, path="lib")


async def test_a_long_diff_is_cut_and_says_what_all_of_it_changes(repo: Bench) -> None:
    repo.write("a.txt", "".join(f"line {number}\n" for number in range(10_000)))
    repo.write("sub/b.txt", "short\n")

    diff = await repo.call(git_diff)

    assert len(diff) < 38_000
    assert "characters left out: name a path. Summary of all changes:]" in diff
    assert "sub/b.txt" in diff.rpartition("Summary of all changes:]")[2]


async def test_names_with_magic_are_names(repo: Bench) -> None:
    repo.write(":(top)x", "one\n")
    repo.write("*.txt", "two\n")
    commit_all(repo, "odd")
    repo.write("*.txt", "2\n")
    repo.write("a.txt", "changed\n")

    assert "changed" not in await repo.call(git_diff, path="*.txt")
    assert (await repo.call(git_diff, path="./:(top)x")).startswith("No changes")


# History


async def test_the_log_is_one_line_a_commit_and_can_be_limited(repo: Bench) -> None:
    repo.write("a.txt", "changed\n")
    commit_all(repo, "change a")

    lines = (await repo.call(git_log)).splitlines()

    assert [line.partition(" ")[2] for line in lines] == [
        "2026-01-02 Ada: change a (HEAD -> main)",
        "2026-01-02 Ada: start",
    ]
    assert (await repo.call(git_log, max_count=1)).endswith(
        "[the newest 1; there are more: raise max_count, or name a path]"
    )
    assert "change a" not in await repo.call(git_log, path="sub")
    assert "change a" not in await repo.call(git_log, revision="HEAD~1")


async def test_branches_are_listed_with_their_upstreams(repo: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repo.folder), str(other))
    git(other, "branch", "topic")

    told = await Bench(other).call(git_branch)

    assert "* main → origin/main " in told
    assert "\n  topic " in told
    assert "  remotes/origin/main " in told


# What cannot be


@pytest.mark.parametrize("tool", READERS, ids=lambda tool: tool.name)
async def test_a_folder_without_a_repository_is_said_to_be_one(bench: Bench, tool: Tool) -> None:
    with pytest.raises(ToolError, match="The workspace folder is not in a git repository"):
        await bench.call(tool)


@pytest.mark.parametrize("revision", ["--output=/tmp/owned", "-p", "", "a\nb"])
async def test_a_revision_cannot_be_an_option(repo: Bench, revision: str) -> None:
    for tool in (git_diff, git_log):
        with pytest.raises(ToolError, match="revision"):
            await repo.call(tool, revision=revision)


async def test_a_revision_that_is_not_there_and_a_path_outside_are_errors(repo: Bench) -> None:
    with pytest.raises(ToolError, match=r"git log failed: fatal: .*nowhere"):
        await repo.call(git_log, revision="nowhere")
    with pytest.raises(OutsideWorkspaceError):
        await repo.call(git_diff, path="../other")


async def test_without_git_it_is_said(repo: Bench) -> None:
    class NoGit(LocalProcesses):
        def find(self, program: str, *, anywhere: bool = False) -> str | None:
            return None

    context: ToolContext = repo.new_context()
    context.processes = NoGit()
    with pytest.raises(ToolError, match="git is not installed"):
        await git_status.run(context)


async def test_credentials_in_addresses_are_masked(repo: Bench) -> None:
    repo.write("a.txt", "url = https://ada:hunter2@example.org/x.git\n")

    diff = await repo.call(git_diff)

    assert "+url = https://***@example.org/x.git" in diff
    assert "hunter2" not in diff


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("https://ghp_token@github.com/a/b", "https://***@github.com/a/b"),
        ("fatal: 'https://u:p@ss@h/x'", "fatal: 'https://***@h/x'"),
        ("ssh://git@github.com/a/b", "ssh://git@github.com/a/b"),
        ("ssh://git:pw@github.com/a/b", "ssh://***@github.com/a/b"),
        ("git@github.com:a/b, mail ada@example.org", "git@github.com:a/b, mail ada@example.org"),
    ],
)
def test_what_is_masked_is_what_lets_somebody_in(text: str, masked: str) -> None:
    assert without_secrets(text) == masked


# The cache


Change = Callable[[Bench], object]

CHANGES: dict[str, Change] = {
    "a file": lambda bench: bench.write("a.txt", "changed\n"),
    "an untracked file": lambda bench: bench.write("untracked.txt"),
    "the index": lambda bench: git(bench.folder, "rm", "--cached", "--quiet", "a.txt"),
    "a commit": lambda bench: git(bench.folder, "commit", "--quiet", "--allow-empty", "-m", "more"),
    "the branch": lambda bench: git(bench.folder, "checkout", "--quiet", "-b", "topic"),
    "packed references": lambda bench: git(bench.folder, "pack-refs", "--all"),
    "the configuration": lambda bench: git(bench.folder, "config", "core.fileMode", "false"),
    "what is excluded": lambda bench: (bench.folder / ".git/info/exclude").write_text("*.txt\n"),
}


async def still_holds(bench: Bench, context: ToolContext) -> bool:
    """Whether the guard would serve the result again."""
    files = [await bench.workspace.stamp(path) == stamp for path, stamp in context.dependencies.items()]
    trees = [await bench.workspace.tree_stamp(path) == stamp for path, stamp in context.trees.items()]
    return context.cacheable and all(files) and all(trees)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("tool", READERS, ids=lambda tool: tool.name)
async def test_an_answer_that_would_be_another_now_is_not_served_again(repo: Bench, tool: Tool, change: str) -> None:
    before = await repo.call(tool)
    context = repo.context
    assert await still_holds(repo, context)

    CHANGES[change](repo)

    assert before == await repo.call(tool) or not await still_holds(repo, context)


async def test_the_cache_holds_over_other_reads(repo: Bench) -> None:
    await repo.call(git_status)
    context = repo.context
    await repo.call(git_log)
    await repo.call(git_diff)

    assert await still_holds(repo, context)
