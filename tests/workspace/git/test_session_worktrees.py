"""Work trees of the agent: real git, beside a user who has changes of their own, and in hostile repositories."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.git.session_worktrees import UNCHANGED, SessionWorktrees, WorktreeError
from tests.tools.git.test_hostile_repositories import Trap
from tests.tools.repository import commit_all, git, make_repository
from tests.tools.tool_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "project"
    folder.mkdir()
    made = Bench(folder)
    make_repository(made.folder)
    made.write("a.txt", "one\ntwo\nthree\n")
    made.write("b.txt", "bee\n")
    made.write(".gitignore", "ignored\n")
    commit_all(made, "start")
    return made


@pytest.fixture
def worktrees(bench: Bench, tmp_path: Path) -> SessionWorktrees:
    return SessionWorktrees(bench.folder, tmp_path / "data", bench.processes.find("git"))


def status(bench: Bench) -> list[str]:
    return git(bench.folder, "status", "--porcelain").splitlines()


def test_a_worktree_has_the_files_of_the_commit_and_leaves_the_users_tree_alone(
    bench: Bench, worktrees: SessionWorktrees
) -> None:
    bench.write("a.txt", "mine\n")
    made = worktrees.add("topic")
    assert (made.folder / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert git(made.folder, "status", "--porcelain", "--branch") == "## pygent/topic\n"
    assert status(bench) == [" M a.txt"]
    assert git(bench.folder, "branch", "--show-current") == "main\n"
    assert [each.name for each in worktrees.listed()] == ["topic"]
    assert worktrees.state(made).is_unchanged


def test_changes_are_staged_in_the_users_tree_and_the_users_own_stay(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    (made.folder / "a.txt").write_text("one\nTWO\nthree\n")
    git(made.folder, "commit", "--quiet", "--all", "-m", "of the agent")
    (made.folder / "new.txt").write_text("new\n")
    (made.folder / "ignored").write_text("ignored\n")
    state = worktrees.state(made)
    assert (state.n_commits, list(state.files), list(state.ignored)) == (1, ["new.txt"], ["ignored"])
    bench.write("b.txt", "changed by the user\n")
    bench.write("untracked.txt", "of the user\n")
    head = git(bench.folder, "rev-parse", "HEAD")

    assert list(worktrees.merge(made).files) == ["a.txt", "new.txt"]
    assert status(bench) == ["M  a.txt", " M b.txt", "A  new.txt", "?? untracked.txt"]
    assert bench.bytes_of("a.txt") == b"one\nTWO\nthree\n"
    assert git(bench.folder, "rev-parse", "HEAD") == head
    git(bench.folder, "commit", "--quiet", "-m", "merged")
    with pytest.raises(WorktreeError, match="nothing to merge"):
        worktrees.merge(made)


def test_both_sides_of_a_file_are_merged(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    (made.folder / "a.txt").write_text("ONE\ntwo\nthree\n")
    bench.write("a.txt", "one\ntwo\nTHREE\n")
    commit_all(bench, "of the user")
    worktrees.merge(made)
    assert bench.bytes_of("a.txt") == b"ONE\ntwo\nTHREE\n"


def test_a_conflict_is_told_and_changes_nothing(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    (made.folder / "a.txt").write_text("of the agent\n")
    (made.folder / "b.txt").write_text("of the agent\n")
    bench.write("a.txt", "of the user\n")
    commit_all(bench, "of the user")
    with pytest.raises(WorktreeError, match=r"conflict with your branch in a\.txt"):
        worktrees.merge(made)
    assert status(bench) == []
    assert bench.bytes_of("b.txt") == b"bee\n"
    assert (made.folder / "a.txt").read_text() == "of the agent\n"


@pytest.mark.parametrize("name", ["a.txt", "new.txt"])
def test_uncommitted_changes_of_the_user_are_never_overwritten(
    bench: Bench, worktrees: SessionWorktrees, name: str
) -> None:
    made = worktrees.add("topic")
    for each in ("a.txt", "b.txt", "new.txt"):
        (made.folder / each).write_text("of the agent\n")
    bench.write(name, "of the user\n")
    before = status(bench)
    with pytest.raises(WorktreeError, match="own changes are in the way"):
        worktrees.merge(made)
    assert status(bench) == before
    assert bench.bytes_of(name) == b"of the user\n"
    assert bench.bytes_of("b.txt") == b"bee\n"


def test_a_worktree_is_discarded_with_its_branch(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    (made.folder / "new.txt").write_text("new\n")
    worktrees.discard(made, None)
    assert not made.folder.exists()
    assert git(bench.folder, "branch", "--list", "pygent/*") == ""
    assert worktrees.listed() == []
    worktrees.add("topic")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "-x", "a..b", "x.lock", "x.", "a b", "é", "a" * 61])
def test_a_name_that_is_no_name_is_refused(worktrees: SessionWorktrees, name: str) -> None:
    with pytest.raises(WorktreeError, match="cannot be the name"):
        worktrees.add(name)


def test_worktrees_of_the_user_are_not_listed(bench: Bench, worktrees: SessionWorktrees, tmp_path: Path) -> None:
    git(bench.folder, "worktree", "add", "--quiet", str(tmp_path / "own"))
    assert worktrees.listed() == []
    with pytest.raises(WorktreeError, match="There is no worktree 'own'"):
        worktrees.get("own")


def test_a_note_in_a_hostile_repository_names_no_folder_of_the_user(
    bench: Bench, worktrees: SessionWorktrees, tmp_path: Path
) -> None:
    git(bench.folder, "worktree", "add", "--quiet", str(tmp_path / "own"))
    for name in ("own", "../own", str(tmp_path / "own")):
        note = bench.folder / ".git" / "worktrees" / "own" / "pygent.json"
        note.write_text(f'{{"name": "{name}", "branch": "pygent/{name}", "base": "HEAD"}}')
        assert worktrees.listed() == []


def test_nothing_of_the_repository_runs(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    bench = Bench(folder)
    trap = Trap(bench, tmp_path)
    bench.write(".gitattributes", "a.txt diff=odd filter=odd merge=odd\nlong.txt filter=long\n")
    bench.write("a.txt", "one\ntwo\nthree\n")
    commit_all(bench, "attributes")
    for hook in ("post-checkout", "pre-commit", "post-commit", "post-merge", "reference-transaction"):
        (tmp_path / "hooks" / hook).unlink(missing_ok=True)
        (tmp_path / "hooks" / hook).symlink_to(trap.program)
        (trap.git / "hooks" / hook).symlink_to(trap.program)
    with (trap.git / "config").open("a") as file:
        file.write(trap.keys)

    worktrees = SessionWorktrees(bench.folder, tmp_path / "data", bench.processes.find("git"))
    made = worktrees.add("topic")
    (made.folder / "a.txt").write_text("ONE\ntwo\nthree\n")
    assert list(worktrees.state(made).files) == ["a.txt"]
    assert list(worktrees.merge(made).files) == ["a.txt"]
    assert bench.bytes_of("a.txt") == b"ONE\ntwo\nthree\n"
    worktrees.discard(made, None)
    assert not trap.sprung.exists()
    trap.arm()
    assert trap.snaps()


def test_a_worktree_in_use_is_not_discarded_and_not_merged(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    (made.folder / "a.txt").write_text("of the agent\n")
    for act in (partial(worktrees.discard, shown=None), partial(worktrees.discard, shown=UNCHANGED), worktrees.merge):
        with worktrees.using(made), worktrees.using(made), pytest.raises(WorktreeError, match="used by a turn"):
            act(made)
    assert (made.folder / "a.txt").exists()
    assert status(bench) == []
    assert list(worktrees.merge(made).files) == ["a.txt"]
    worktrees.discard(made, None)


def commit_in(folder: Path, name: str) -> None:
    (folder / name).write_text("of the agent\n")
    git(folder, "add", "--force", name)
    git(folder, "commit", "--quiet", "-m", "of the agent")


@pytest.mark.parametrize("elsewhere", [["--detach", "HEAD~1"], ["-b", "other", "HEAD~1"]])
def test_commits_of_the_branch_count_when_another_commit_is_checked_out(
    bench: Bench, worktrees: SessionWorktrees, elsewhere: list[str]
) -> None:
    made = worktrees.add("topic")
    commit_in(made.folder, "new.txt")
    git(made.folder, "checkout", "--quiet", *elsewhere)
    assert worktrees.state(made).n_commits == 1
    assert worktrees.discard(made, UNCHANGED) == worktrees.state(made)
    assert made.folder.exists()
    assert git(bench.folder, "rev-list", "--count", "main..pygent/topic") == "1\n"
    with pytest.raises(WorktreeError, match=r"not on its branch pygent/topic.*checkout pygent/topic"):
        worktrees.merge(made)
    git(made.folder, "checkout", "--quiet", "pygent/topic")
    assert list(worktrees.merge(made).files) == ["new.txt"]


def test_commits_beside_the_branch_count_and_are_not_committed_to_it(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    git(made.folder, "checkout", "--quiet", "--detach")
    commit_in(made.folder, "new.txt")
    (made.folder / "a.txt").write_text("of the agent\n")
    assert worktrees.state(made).n_commits == 1
    with pytest.raises(WorktreeError, match="not on its branch"):
        worktrees.merge(made)
    assert list(worktrees.state(made).files) == ["a.txt"]
    assert status(bench) == []
    git(bench.folder, "branch", "--quiet", "-D", "pygent/topic")
    assert worktrees.state(made).n_commits == 1


def test_ignored_files_are_changes_and_an_unchanged_worktree_has_none(
    bench: Bench, worktrees: SessionWorktrees
) -> None:
    made = worktrees.add("topic")
    (made.folder / "ignored").write_text("of the agent\n")
    state = worktrees.discard(made, UNCHANGED)
    assert state is not None
    assert (list(state.files), list(state.ignored), state.is_unchanged) == ([], ["ignored"], False)
    (made.folder / "ignored").unlink()
    assert worktrees.discard(made, UNCHANGED) is None
    assert not made.folder.exists()
    assert git(bench.folder, "branch", "--list", "pygent/*") == ""


@pytest.mark.parametrize("theirs", ["ignored", "ignored/deep/x.txt", "local/x.txt", "app"])
def test_ignored_files_of_the_user_are_never_overwritten(
    bench: Bench, worktrees: SessionWorktrees, tmp_path: Path, theirs: str
) -> None:
    made = worktrees.add("topic")
    commit_in(made.folder, "b.txt")
    (made.folder / theirs).parent.mkdir(parents=True, exist_ok=True)
    commit_in(made.folder, theirs)
    (bench.folder / ".git" / "info" / "exclude").write_text("/local\n/app\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    match theirs:
        case "app":
            mine = bench.write("app/data/x.bin", "of the user\n")
        case "local/x.txt":
            (bench.folder / "local").symlink_to(outside)
            mine = outside / "mine.txt"
            mine.write_text("of the user\n")
        case _:
            mine = bench.write("ignored", "of the user\n")
    assert status(bench) == []
    with pytest.raises(WorktreeError, match=r"(ignored|local|app/data/x\.bin) would be overwritten"):
        worktrees.merge(made)
    assert mine.read_text() == "of the user\n"
    assert (bench.folder / "local").is_symlink() == (theirs == "local/x.txt")
    assert list(outside.iterdir()) == ([mine] if theirs == "local/x.txt" else [])
    assert status(bench) == []
    assert bench.bytes_of("b.txt") == b"bee\n"


def test_a_file_may_become_a_folder_and_a_folder_a_file(bench: Bench, worktrees: SessionWorktrees) -> None:
    bench.write("part/x.txt", "x\n")
    commit_all(bench, "folder")
    made = worktrees.add("topic")
    git(made.folder, "rm", "--quiet", "b.txt", "part/x.txt")
    (made.folder / "b.txt").mkdir()
    commit_in(made.folder, "b.txt/deep.txt")
    commit_in(made.folder, "part")
    bench.write("part/ignored", "of the user\n")
    with pytest.raises(WorktreeError, match="part/ignored would be overwritten"):
        worktrees.merge(made)
    (bench.folder / "part" / "ignored").unlink()
    assert list(worktrees.merge(made).files) == ["b.txt", "b.txt/deep.txt", "part", "part/x.txt"]
    assert (bench.folder / "part").read_text() == (bench.folder / "b.txt" / "deep.txt").read_text()


@pytest.mark.parametrize("is_pruned", [False, True])
def test_a_worktree_whose_folder_was_deleted_comes_back_with_its_commits(
    bench: Bench, worktrees: SessionWorktrees, is_pruned: bool
) -> None:
    made = worktrees.add("topic")
    (made.folder / "new.txt").write_text("new\n")
    git(made.folder, "add", "--all")
    git(made.folder, "commit", "--quiet", "-m", "of the agent")
    shutil.rmtree(made.folder)
    if is_pruned:
        git(bench.folder, "worktree", "prune")
    bench.write("b.txt", "changed\n")
    commit_all(bench, "of the user")

    again = worktrees.open("topic")
    assert (again.folder / "new.txt").read_text() == "new\n"
    assert worktrees.state(again).summary == "1 commit, 0 uncommitted files"
    assert list(worktrees.merge(again).files) == ["new.txt"]
    worktrees.discard(again, worktrees.state(again))
    assert git(bench.folder, "branch", "--list", "pygent/*") == ""


def test_a_branch_of_the_user_that_is_checked_out_elsewhere_is_no_worktree(
    bench: Bench, worktrees: SessionWorktrees, tmp_path: Path
) -> None:
    git(bench.folder, "worktree", "add", "--quiet", "-b", "pygent/topic", str(tmp_path / "own"))
    with pytest.raises(SnapshotError, match="pygent/topic"):
        worktrees.open("topic")
    assert not (made := tmp_path / "data").exists() or not [*made.glob("*/topic")]


def test_what_came_after_the_question_is_not_discarded(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    (made.folder / "a.txt").write_text("changed\n")
    shown = worktrees.state(made)
    (made.folder / "late.txt").write_text("late\n")

    kept = worktrees.discard(made, shown)
    assert kept is not None
    assert list(kept.files) == ["a.txt", "late.txt"]
    assert (made.folder / "late.txt").exists()
    assert worktrees.discard(made, kept) is None
    assert not made.folder.exists()


def test_an_unfinished_merge_in_the_worktree_is_not_committed(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    (made.folder / "a.txt").write_text("theirs\n")
    git(made.folder, "commit", "--quiet", "--all", "-m", "of the agent")
    bench.write("a.txt", "mine\n")
    commit_all(bench, "of the user")
    with pytest.raises(subprocess.CalledProcessError):
        git(made.folder, "merge", "main")
    assert "<<<<<<<" in (made.folder / "a.txt").read_text()
    tip = git(made.folder, "rev-parse", "HEAD")

    with pytest.raises(WorktreeError, match="A merge is in progress in the worktree topic"):
        worktrees.merge(made)
    assert (status(bench), git(made.folder, "rev-parse", "HEAD")) == ([], tip)
    (made.folder / "a.txt").write_text("both\n")
    git(made.folder, "commit", "--quiet", "--all", "-m", "merged")
    assert list(worktrees.merge(made).files) == ["a.txt"]


def test_a_repository_in_the_worktree_is_not_merged_as_a_link(bench: Bench, worktrees: SessionWorktrees) -> None:
    made = worktrees.add("topic")
    inner = made.folder / "inner"
    inner.mkdir()
    make_repository(inner)
    (inner / "code.py").write_text("x = 1\n")
    git(inner, "add", "--all")
    git(inner, "commit", "--quiet", "-m", "start")

    with pytest.raises(WorktreeError, match="repositories of their own, whose files would not be merged: inner"):
        worktrees.merge(made)
    assert status(bench) == []
    shutil.rmtree(inner / ".git")
    assert list(worktrees.merge(made).files) == ["inner/code.py"]


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_hidden_changes_of_the_user_are_never_overwritten(bench: Bench, worktrees: SessionWorktrees, mark: str) -> None:
    made = worktrees.add("topic")
    (made.folder / "b.txt").write_text("theirs\n")
    git(bench.folder, "update-index", mark, "b.txt")
    bench.write("b.txt", "hidden\n")
    with pytest.raises(WorktreeError, match="in the way"):
        worktrees.merge(made)
    assert (bench.folder / "b.txt").read_text() == "hidden\n"


@pytest.mark.parametrize("what", ["cherry-pick", "revert"])
def test_nothing_is_merged_while_another_operation_is_in_progress(
    bench: Bench, worktrees: SessionWorktrees, what: str
) -> None:
    made = worktrees.add("topic")
    (made.folder / "b.txt").write_text("theirs\n")
    bench.write("a.txt", "one\n")
    commit_all(bench, "first")
    bench.write("a.txt", "two\n")
    commit_all(bench, "second")
    with pytest.raises(subprocess.CalledProcessError):
        git(bench.folder, what, "HEAD~1")
    git(bench.folder, "add", "--all")
    with pytest.raises(WorktreeError, match="is in progress in your work tree"):
        worktrees.merge(made)


def test_many_worktrees_are_added_committed_and_discarded_at_the_same_time(bench: Bench, tmp_path: Path) -> None:
    def work(name: str) -> str:
        worktrees = SessionWorktrees(bench.folder, tmp_path / "data", bench.processes.find("git"))
        made = worktrees.add(name)
        (made.folder / f"{name}.txt").write_text(name)
        committed = worktrees.commit(made, f"{name}\n")
        worktrees.add_branch(f"{name}-kept", committed.commit)
        worktrees.discard(made, None)
        return ",".join(committed.files)

    names = [f"t{number}" for number in range(40)]
    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(work, names)) == [f"{name}.txt" for name in names]
    assert git(bench.folder, "branch", "--list", "pygent/*").split() == sorted(f"pygent/{name}-kept" for name in names)
    assert git(bench.folder, "worktree", "list").count("\n") == 1
    assert status(bench) == []


def test_changes_are_returned_as_a_patch_and_a_branch_with_other_commits_is_left_alone(
    bench: Bench, worktrees: SessionWorktrees
) -> None:
    made = worktrees.add("topic")
    (made.folder / "a.txt").write_bytes(b"caf\xe9\r\n")
    (made.folder / "bin").write_bytes(bytes(range(256)))
    (made.folder / "b.txt").unlink()
    (made.folder / "ignored").write_text("ignored\n")

    committed = worktrees.commit(made, "Ä subject\n\nbody\n")

    assert committed.files == ["a.txt", "b.txt", "bin"]
    assert git(made.folder, "log", "-1", "--format=%s|%b") == "Ä subject|body\n\n"
    patch = bench.folder.parent / "patch"
    patch.write_bytes(committed.patch)
    git(bench.folder, "apply", "--whitespace=nowarn", str(patch))
    assert (bench.folder / "a.txt").read_bytes() == b"caf\xe9\r\n"
    assert (bench.folder / "bin").read_bytes() == bytes(range(256))
    assert status(bench) == [" M a.txt", " D b.txt", "?? bin"]
    assert worktrees.commit(made, "again\n") == committed
    assert worktrees.add_branch("kept", committed.commit) == "pygent/kept"
    assert worktrees.add_branch("kept", committed.commit) == "pygent/kept"
    with pytest.raises(WorktreeError, match="The branch pygent/kept exists already, with the commit"):
        worktrees.add_branch("kept", made.base)
    assert git(bench.folder, "rev-parse", "pygent/kept").strip() == committed.commit
