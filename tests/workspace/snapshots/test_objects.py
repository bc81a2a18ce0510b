"""A snapshot needs nothing of the user's repository: what a command does to `.git` takes no file from it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pygent_ls.workspace.snapshots.snapshots import Snapshot
from tests.workspace.repositories import commit_all, contents, git, snapshots_beside


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work tree with something in a commit, something new, and ignored files of each kind."""
    made = (tmp_path / "project").resolve()
    (made / "sub").mkdir(parents=True)
    for name, text in FILES.items():
        (made / name).write_bytes(text)
    commit_all(made)
    (made / ".git" / "info" / "exclude").write_text("*.private\n")
    (made / "own.private").write_text("private\n")
    return made


FILES = {"a.txt": b"a\n", "b.txt": b"b\n", "sub/c.txt": b"c\n", ".gitignore": b"*.log\n"}


def remove(folder: Path) -> None:
    shutil.rmtree(folder / ".git")


def collect_garbage(folder: Path) -> None:
    git(folder, "checkout", "-q", "--orphan", "empty")
    git(folder, "rm", "-rq", "--cached", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "nothing")
    git(folder, "branch", "-D", "-q", "main")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "-q", "--prune=now")


def replace(folder: Path) -> None:
    remove(folder)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "other")


def move_away(folder: Path) -> None:
    (folder / ".git").rename(folder.with_name("moved.git"))
    (folder / ".git").write_text(f"gitdir: {folder.with_name('moved.git')}\n")


def make_bare(folder: Path) -> None:
    git(folder, "config", "core.bare", "true")


COMMANDS = [remove, collect_garbage, replace, move_away, make_bare]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("inside", ["", "sub"])
async def test_what_was_kept_is_there_whatever_becomes_of_the_repository(
    folder: Path, command: Callable[[Path], None], inside: str
) -> None:
    workspace = folder / inside
    snapshots = snapshots_beside(workspace)
    before = await snapshots.take([workspace], {})
    kept = await contents(workspace, before)

    command(folder)
    (workspace / "made.txt").write_text("made\n")
    after = await snapshots.take([workspace], {}, before)
    later = await snapshots_beside(workspace).take([workspace], {})

    assert kept == await contents(workspace, before)
    assert kept.items() >= {path: data for path, data in FILES.items() if not inside}.items()
    assert await disk_changed(workspace, before, after) == {"made.txt"}
    assert {change.path.name for change in await snapshots.changes(before, after)} == {"made.txt"}
    assert (await contents(workspace, later)).items() >= {**kept, "made.txt": b"made\n"}.items()


async def test_a_folder_that_becomes_a_repository_is_compared_with_what_it_was(folder: Path) -> None:
    remove(folder)
    snapshots = snapshots_beside(folder)
    before = await snapshots.take([folder], {})

    git(folder, "init", "-q")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-qm", "start")
    (folder / "b.txt").unlink()

    assert await disk_changed(folder, before, await snapshots.take([folder], {}, before)) == {"b.txt"}
    assert await snapshots.take([folder], {})


async def test_files_of_a_repository_inside_are_not_new_once_it_is_none(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    (inner / "i.txt").write_text("i\n")
    commit_all(inner)
    snapshots = snapshots_beside(folder)
    before = await snapshots.take([folder], {})

    shutil.rmtree(inner / ".git")
    (inner / "made.txt").write_text("made\n")

    assert await disk_changed(folder, before, await snapshots.take([folder], {}, before)) == {"inner/made.txt"}


async def test_a_store_that_lacks_objects_takes_the_next_snapshot_whole(folder: Path) -> None:
    """As an earlier version made them, which left in the user's repository what was there already."""
    first = await snapshots_beside(folder).take([folder], {})
    ((place, _),) = first.states.values()
    store = folder.with_name(f"{folder.name}-stores") / place.key
    (store / "config").write_text((store / "config").read_text().replace("own", "borrowed"))
    for each in (store / "objects").glob("??"):
        shutil.rmtree(each)

    again = await snapshots_beside(folder).take([folder], {})

    assert again.trees == first.trees
    assert await contents(folder, again) == FILES


async def disk_changed(folder: Path, old: Snapshot, new: Snapshot) -> set[str]:
    changes = await snapshots_beside(folder).disk_changes(old, new)
    return {change.path.relative_to(folder).as_posix() for change in changes}
