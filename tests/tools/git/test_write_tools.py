"""The git tools that change a repository: as the user would, hooks included, and without a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.git.write_tools import git_add, git_checkout, git_commit, git_pull, git_push
from tests.tools.repository import commit_all, git, make_repository
from tests.tools.tool_bench import Bench

TEXT = "alpha\nbeta\n"


@pytest.fixture
def repo(bench: Bench) -> Bench:
    """A repository with one commit."""
    make_repository(bench.folder)
    bench.write("a.txt", TEXT)
    commit_all(bench, "start")
    return bench


def subjects(bench: Bench) -> list[str]:
    return git(bench.folder, "log", "--format=%s").splitlines()


async def test_changes_are_staged_and_committed(repo: Bench) -> None:
    repo.write("a.txt", "changed\n")
    repo.write("sub/new file.txt", "new\n")
    repo.write("other.txt", "other\n")

    added = await repo.call(git_add, paths=["a.txt", "sub"])
    committed = await repo.call(git_commit, message="-m is no option\n\nA body.")

    assert added == "Staged now:\nM a.txt\nA sub/new file.txt"
    assert "-m is no option 2 files changed, 2 insertions(+), 2 deletions(-)." in committed
    assert git(repo.folder, "log", "-1", "--format=%B").strip() == "-m is no option\n\nA body."
    assert git(repo.folder, "status", "--porcelain") == "?? other.txt\n"


async def test_all_stages_what_is_tracked(repo: Bench) -> None:
    repo.write("a.txt", "changed\n")
    repo.write("new.txt")

    await repo.call(git_commit, message="all of it", all=True)

    assert git(repo.folder, "status", "--porcelain") == "?? new.txt\n"


async def test_a_deleted_file_and_names_that_look_like_options_or_patterns_are_staged(repo: Bench) -> None:
    repo.write("--all", "x\n")
    repo.write("*", "x\n")
    repo.write("b.txt", "x\n")
    (repo.folder / "a.txt").unlink()

    assert await repo.call(git_add, paths=["a.txt", "--all", "*"]) == "Staged now:\nA *\nA --all\nD a.txt"


async def test_nothing_to_commit_an_ignored_path_and_one_outside_are_errors(repo: Bench) -> None:
    repo.write(".gitignore", "ignored\n")
    repo.write("ignored")

    with pytest.raises(ToolError, match="nothing added to commit"):
        await repo.call(git_commit, message="empty")
    with pytest.raises(ToolError, match=r"ignored by one of your \.gitignore files"):
        await repo.call(git_add, paths=["ignored"])
    with pytest.raises(ToolError, match="did not match any files"):
        await repo.call(git_add, paths=["missing.txt"])
    with pytest.raises(OutsideWorkspaceError):
        await repo.call(git_add, paths=["../outside"])
    with pytest.raises(ToolError, match="`paths`"):
        await repo.call(git_add, paths=[])
    assert subjects(repo) == ["start"]


async def test_hooks_run_and_what_a_refusing_one_says_is_told(repo: Bench) -> None:
    hook = repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho 'a.txt:1: too short' >&2\nexit 1\n")
    hook.chmod(0o755)
    repo.write("a.txt", "changed\n")

    with pytest.raises(ToolError, match=r"git commit failed: a\.txt:1: too short"):
        await repo.call(git_commit, message="x", all=True)
    assert subjects(repo) == ["start"]

    hook.write_text("#!/bin/sh\necho 'checked 1 file'\n")
    assert "checked 1 file" in await repo.call(git_commit, message="x", all=True)
    assert subjects(repo) == ["x", "start"]


async def test_a_branch_is_made_changed_to_and_left(repo: Bench) -> None:
    assert "Switched to a new branch 'topic'" in await repo.call(git_checkout, target="topic", create=True)
    repo.write("a.txt", "topic\n")
    await repo.call(git_commit, message="topic", all=True)

    assert "Switched to branch 'main'" in await repo.call(git_checkout, target="main")
    assert repo.bytes_of("a.txt").decode() == TEXT

    repo.write("a.txt", "by the user\n")
    with pytest.raises(ToolError, match="would be overwritten by checkout"):
        await repo.call(git_checkout, target="topic")
    assert repo.bytes_of("a.txt") == b"by the user\n"


async def test_files_are_restored_from_a_commit(repo: Bench) -> None:
    repo.write("a.txt", "changed\n")
    repo.write("b.txt", "new\n")
    commit_all(repo, "change")

    assert await repo.call(git_checkout, target="HEAD~1", paths=["a.txt"]) == "Restored a.txt as in HEAD~1."
    assert repo.bytes_of("a.txt").decode() == TEXT
    assert repo.bytes_of("b.txt") == b"new\n"


async def test_a_file_is_not_restored_where_a_branch_is_meant(repo: Bench) -> None:
    repo.write("a.txt", "by the user\n")

    with pytest.raises(ToolError, match=r"invalid reference: a\.txt|did not match"):
        await repo.call(git_checkout, target="a.txt")
    with pytest.raises(ToolError, match="starts with `-`"):
        await repo.call(git_checkout, target="--force")
    with pytest.raises(ToolError, match="cannot be combined"):
        await repo.call(git_checkout, target="x", create=True, paths=["a.txt"])
    assert repo.bytes_of("a.txt") == b"by the user\n"


# Remotes


@pytest.fixture
def cloned(repo: Bench, tmp_path: Path) -> Bench:
    """A clone of a bare repository that has the commit of `repo`."""
    git(tmp_path, "clone", "--quiet", "--bare", str(repo.folder), "origin.git")
    git(tmp_path, "clone", "--quiet", "origin.git", "clone")
    clone = Bench(tmp_path / "clone")
    git(clone.folder, "config", "user.name", "Bob")
    git(clone.folder, "config", "user.email", "bob@example.org")
    return clone


async def test_a_branch_is_pushed_and_pulled(repo: Bench, cloned: Bench, tmp_path: Path) -> None:
    cloned.write("a.txt", "by Bob\n")
    await cloned.call(git_commit, message="by Bob", all=True)

    assert "main -> main" in await cloned.call(git_push)
    git(repo.folder, "remote", "add", "origin", str(tmp_path / "origin.git"))
    pulled = await repo.call(git_pull, remote="origin", branch="main")

    assert "Fast-forward" in pulled
    assert repo.bytes_of("a.txt") == b"by Bob\n"


async def test_a_new_branch_is_pushed_by_its_name(cloned: Bench) -> None:
    await cloned.call(git_checkout, target="topic", create=True)

    assert "topic -> topic" in await cloned.call(git_push, branch="topic")


async def test_a_pull_with_conflicts_is_an_error_that_names_them(repo: Bench, cloned: Bench, tmp_path: Path) -> None:
    git(repo.folder, "push", "--quiet", str(tmp_path / "origin.git"), "main")
    repo.write("a.txt", "by Ada\n")
    commit_all(repo, "by Ada")
    git(repo.folder, "push", "--quiet", str(tmp_path / "origin.git"), "main")
    git(cloned.folder, "config", "pull.rebase", "false")
    cloned.write("a.txt", "by Bob\n")
    commit_all(cloned, "by Bob")

    with pytest.raises(ToolError, match="rejected"):
        await cloned.call(git_push)
    with pytest.raises(ToolError, match=r"CONFLICT \(content\): Merge conflict in a\.txt"):
        await cloned.call(git_pull)


@pytest.mark.parametrize(
    "remote", ["ext::sh -c 'touch owned'", "--upload-pack=x", "https://u:secret@example.org", "nope"]
)
async def test_a_remote_must_be_one_that_is_configured(cloned: Bench, remote: str) -> None:
    for tool in (git_push, git_pull):
        with pytest.raises(ToolError, match=r"There is no remote named .* Available remotes: origin\.") as caught:
            await cloned.call(tool, remote=remote)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("branch", ["+main", ":main", "main:other", "--delete"])
async def test_nothing_is_forced_or_deleted(cloned: Bench, branch: str) -> None:
    with pytest.raises(ToolError, match="branch"):
        await cloned.call(git_push, remote="origin", branch=branch)


@pytest.mark.timeout(30)
async def test_a_remote_that_wants_a_password_is_an_error_and_never_a_prompt(cloned: Bench, tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said\necho "Permission denied (publickey)." >&2\nexit 255\n')
    ssh.chmod(0o755)
    git(cloned.folder, "remote", "set-url", "origin", "ssh://git@example.invalid/x.git")
    git(cloned.folder, "config", "core.sshCommand", str(ssh))

    with pytest.raises(ToolError, match="git push failed: Permission denied"):
        await cloned.call(git_push)
    assert "-o BatchMode=yes" in (tmp_path / "said").read_text()


async def test_a_failure_masks_credentials(cloned: Bench) -> None:
    git(cloned.folder, "remote", "set-url", "origin", "http://ada:hunter2@127.0.0.1:1/x.git")

    with pytest.raises(ToolError, match="git push failed") as caught:
        await cloned.call(git_push)
    assert "hunter2" not in str(caught.value)
