"""`--worktree`: an agent works beside the user's tree, and `pygent-ls worktree` merges its changes or deletes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.command_line import clean_environment, run, script, tool
from tests.tools.repository import committed_project, git


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return clean_environment(home, XDG_DATA_HOME=str(home / "data"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return committed_project(tmp_path / "project")


def edit(path: str, old: str, new: str) -> dict[str, object]:
    return tool("edit_file", path=path, old=old, new=new)


def test_the_changes_of_a_run_wait_in_its_worktree_and_are_merged(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    def pygent(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        done = run(*arguments, "--cwd", str(folder), environment=environment, stdin=stdin)
        return done.returncode, done.stdout, done.stderr

    model = script(tmp_path, edit("app.py", "x = 1", "x = 2"), {"text": "Done."})
    code, out, err = pygent("run", "go", "--model", model, "--yes", "--worktree", "topic")
    assert (code, out) == (0, "Done.\n"), err
    assert "`pygent-ls worktree merge topic` merges them" in err
    assert (folder / "app.py").read_text() == "x = 1\n"
    assert git(folder, "status", "--porcelain") == ""

    model = script(tmp_path, edit("app.py", "x = 2", "x = 3"), {"text": "Again."})
    assert pygent("run", "go", "--model", model, "--yes", "--worktree", "topic")[0] == 0
    _, listed, _ = pygent("worktree", "list")
    assert listed.startswith("topic\tpygent/topic\t0 commits, 1 uncommitted file\t")

    code, out, err = pygent("worktree", "merge", "topic")
    assert (code, out.splitlines()[0]) == (0, "app.py"), err
    assert git(folder, "status", "--porcelain") == "M  app.py\n"
    assert (folder / "app.py").read_text() == "x = 3\n"

    (folder / ".git" / "info" / "exclude").write_text("notes\n")
    (Path(listed.strip().split("\t")[3]) / "notes").write_text("ignored\n")
    code, out, err = pygent("worktree", "discard", "topic")
    assert (code, "1 commit" in out, "notes (ignored)" in out, "Use --yes" in err) == (1, True, True, True)
    assert pygent("worktree", "discard", "topic", "--yes")[0] == 0
    assert pygent("worktree", "list")[1] == "There are no worktrees in this repository.\n"


def test_runs_side_by_side_do_not_see_each_other(environment: dict[str, str], folder: Path, tmp_path: Path) -> None:
    def work(name: str) -> int:
        steps = (edit("app.py", "x = 1", f"x = '{name}'"), tool("read_file", path="app.py"), {"text": "Done."})
        given = ("--model", script(tmp_path, *steps), "--yes", "--cwd", str(folder), "--worktree", name)
        return run("run", "go", *given, environment=environment).returncode

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(work, ("first", "second"))) == [0, 0]
    listed = run("worktree", "list", "--cwd", str(folder), environment=environment).stdout.splitlines()
    texts = {line.split("\t")[0]: (Path(line.split("\t")[3]) / "app.py").read_text() for line in listed}
    assert texts == {"first": "x = 'first'\n", "second": "x = 'second'\n"}
    assert (folder / "app.py").read_text() == "x = 1\n"


def test_an_unchanged_worktree_is_deleted_and_a_subfolder_stays_one(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    model = script(tmp_path, tool("read_file", path="part.py"), {"text": "I see."})
    cwd = str(folder / "part")
    done = run("run", "go", "--model", model, "--cwd", cwd, "--worktree", "look", environment=environment)
    assert (done.returncode, done.stdout) == (0, "I see.\n"), done.stderr
    assert git(folder, "branch", "--list", "pygent/*") == ""
    assert git(folder, "worktree", "list").count("\n") == 1


def test_a_worktree_with_an_ignored_file_or_a_commit_beside_head_is_kept(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    def go(*steps: dict[str, object]) -> str:
        model = script(tmp_path, *steps, {"text": "Done."})
        given = ("--model", model, "--yes", "--cwd", str(folder), "--worktree", "kept")
        return run("run", "go", *given, environment=environment).stderr

    (folder / ".git" / "info" / "exclude").write_text("notes\n")
    assert "The changes are in the worktree" in go(tool("create_file", path="notes", content="ignored\n"))
    (worktree,) = (each for each in (tmp_path / "home" / "data").glob("**/worktrees/*/kept"))
    (worktree / "notes").unlink()
    (worktree / "app.py").write_text("x = 2\n")
    git(worktree, "commit", "--quiet", "--all", "-m", "work")
    git(worktree, "checkout", "--quiet", "--detach", "HEAD~1")
    assert "The changes are in the worktree" in go()
    assert git(folder, "rev-list", "--count", "main..pygent/kept") == "1\n"


def test_what_is_no_repository_is_refused(environment: dict[str, str], tmp_path: Path) -> None:
    done = run("run", "go", "--cwd", str(tmp_path), "--worktree", "x", environment=environment)
    assert done.returncode == 2
    assert "is not in a git repository" in done.stderr
    done = run("worktree", "list", "--cwd", str(tmp_path), environment=environment)
    assert (done.returncode, "is not in a git repository" in done.stderr) == (1, True)
