"""What snapshots may cost: disk, time, and what they leave alone; and trees that are not plain."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.snapshots.capture import MAX_FILE_BYTES, MAX_NEW_BYTES
from pygent_ls.workspace.snapshots.snapshots import PRUNE_EACH_S, Snapshot, Snapshots
from tests.fakes import FakeClock
from tests.workspace.repositories import commit_all, find_git, git, snapshots_beside

N_RANDOM = 500_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    return made


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def stores(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-stores")


def names_in(folder: Path) -> list[Path]:
    return sorted(stores(folder).glob("*/refs/snapshots/*"))


def make_old(*names: Path) -> None:
    """As if they had been taken long ago."""
    for number, name in enumerate(names):
        name.rename(name.with_name(f"{datetime.now(UTC) - timedelta(days=40):%Y%m%dT%H%M%S.%f}-{number}"))


async def changed(folder: Path, old: Snapshot, new: Snapshot) -> list[str]:
    changes = await snapshots_beside(folder).changes(old, new)
    return [change.path.relative_to(folder).as_posix() for change in changes]


@pytest.mark.parametrize("with_git", [True, False])
async def test_what_is_pruned_frees_the_disk_and_what_is_kept_can_be_read(folder: Path, with_git: bool) -> None:
    (folder / "a.txt").write_text("a\n")
    if with_git:
        commit_all(folder)
    for _ in range(2):
        (folder / "big").write_bytes(os.urandom(N_RANDOM))
        await snapshots_beside(folder).take([folder], {})
    kept_bytes = (folder / "big").read_bytes()
    before = size_of(stores(folder))
    make_old(names_in(folder)[0])

    kept = await snapshots_beside(folder).take([folder], {})

    assert before > 2 * N_RANDOM
    assert size_of(stores(folder)) < 1.5 * N_RANDOM
    (folder / "big").unlink()
    gone = await snapshots_beside(folder).take([folder], {})
    (change,) = await snapshots_beside(folder).changes(kept, gone)
    assert change.old is not None
    found = await snapshots_beside(folder).contents(kept, [(folder, change.old)])
    assert found[change.old.blob] == kept_bytes


async def test_a_daemon_that_runs_for_long_prunes_again(folder: Path) -> None:
    clock = FakeClock()
    snapshots = Snapshots(stores(folder), find_git, days=30, clock=clock)
    (folder / "a.txt").write_text("a\n")
    await snapshots.take([folder], {})
    make_old(*names_in(folder))

    await snapshots.take([folder], {})
    assert len(names_in(folder)) == 2
    clock.advance(PRUNE_EACH_S)
    await snapshots.take([folder], {})

    assert len(names_in(folder)) == 2


async def test_the_store_of_a_folder_that_was_long_not_worked_in_goes_unless_it_is_in_use(tmp_path: Path) -> None:
    folders: Sequence[Path] = [tmp_path / name for name in ("unused", "in_use", "recent", "here")]
    for each in folders:
        each.mkdir()
        (each / "a.txt").write_text("a\n")
    root = tmp_path / "stores"
    taken = [await Snapshots(root, find_git, days=30).take([each], {}) for each in folders[:3]]
    keys = [next(iter(each.states.values()))[0].key for each in taken]
    for key in keys[:2]:
        make_old(*(root / key / "refs" / "snapshots").iterdir())

    with (root / keys[1] / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        await Snapshots(root, find_git, days=30).take([folders[3]], {})

    assert [(root / key).exists() for key in keys] == [False, True, True]
    await Snapshots(root, find_git, days=30).take([folders[0]], {})  # and comes again


async def test_what_holds_the_home_is_not_kept_and_the_home_itself_is_where_it_is_small(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = folder / "home" / "me"
    home.mkdir(parents=True)
    (home / "a.txt").write_text("a\n")
    monkeypatch.setenv("HOME", str(home))

    for above in (folder, folder / "home", Path("/")):
        with pytest.raises(SnapshotError, match="contains the home folder and is too large to be kept"):
            await snapshots_beside(folder).take([above], {})
    snapshot = await snapshots_beside(folder).take([home], {})

    assert list(snapshot.states) == [home]


async def test_more_than_can_be_kept_is_said_at_once_and_nothing_stays(folder: Path) -> None:
    for number in range(MAX_NEW_BYTES // MAX_FILE_BYTES + 1):
        with (folder / f"{number}.bin").open("wb") as file:
            file.truncate(MAX_FILE_BYTES)

    with pytest.raises(SnapshotError, match=f"{folder} contains more than 2 GiB"):
        await snapshots_beside(folder).take([folder], {})

    assert size_of(stores(folder)) == 0


async def test_a_snapshot_that_fails_takes_no_earlier_ones_with_it(folder: Path) -> None:
    (folder / "a.txt").write_text("a\n")
    before = await snapshots_beside(folder).take([folder], {})
    for number in range(MAX_NEW_BYTES // MAX_FILE_BYTES + 1):
        with (folder / f"{number}.bin").open("wb") as file:
            file.truncate(MAX_FILE_BYTES)
    with pytest.raises(SnapshotError):
        await snapshots_beside(folder).take([folder], {})
    for number in range(MAX_NEW_BYTES // MAX_FILE_BYTES + 1):
        (folder / f"{number}.bin").unlink()
    (folder / "a.txt").write_text("A\n")

    after = await snapshots_beside(folder).take([folder], {})

    assert await changed(folder, before, after) == ["a.txt"]


@pytest.mark.parametrize("with_git", [True, False])
async def test_sockets_and_pipes_hold_nothing_up(folder: Path, with_git: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.txt").write_text("a\n")
    if with_git:
        commit_all(folder)
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)  # a socket's path may have 107 bytes at most
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    before = await snapshots_beside(folder).take([folder], {})

    (folder / "a.txt").unlink()
    os.mkfifo(folder / "a.txt")
    after = await snapshots_beside(folder).take([folder], {})

    assert await changed(folder, before, after) == ["a.txt"]


async def test_submodules_and_work_trees_are_kept_on_their_own(folder: Path) -> None:
    library, project = folder / "library", folder / "project"
    for each in (library, project):
        each.mkdir()
        (each / "a.txt").write_text("a\n")
        commit_all(each)
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    git(project, "commit", "-qm", "lib")
    git(project, "worktree", "add", "-q", "tree")
    users = {path: path.read_bytes() for path in (project / ".git").rglob("*") if path.is_file()}
    before = await snapshots_beside(folder).take([project], {})

    for inside in ("lib/a.txt", "tree/a.txt", "a.txt"):
        (project / inside).write_text("A\n")
    after = await snapshots_beside(folder).take([project], {})

    assert sorted(before.states) == [project, project / "lib", project / "tree"]
    assert await changed(folder, before, after) == [f"project/{name}" for name in ("a.txt", "lib/a.txt", "tree/a.txt")]
    assert {path: path.read_bytes() for path in (project / ".git").rglob("*") if path.is_file()} == users


async def test_several_folders_are_kept_also_where_one_lies_in_another(folder: Path) -> None:
    one, two = folder / "one", folder / "two"
    inner = one / "inner"
    for each in (one, two, inner):
        each.mkdir()
        (each / "a.txt").write_text("a\n")
    snapshots = snapshots_beside(folder)
    before = await snapshots.take([one, two, inner], {})

    for each in (one, two, inner):
        (each / "a.txt").write_text("A\n")
    after = await snapshots.take([one, two, inner], {})

    assert await changed(folder, before, after) == ["one/a.txt", "one/inner/a.txt", "two/a.txt"]


async def test_case_and_the_executable_bit_count_and_an_empty_folder_does_not(folder: Path) -> None:
    for name in ("a", "A", "run"):
        (folder / name).write_text(f"{name}\n")
    before = await snapshots_beside(folder).take([folder], {})

    (folder / "A").unlink()
    (folder / "run").chmod(0o755)
    (folder / "empty").mkdir()
    after = await snapshots_beside(folder).take([folder], {})

    assert await changed(folder, before, after) == ["A", "run"]


async def test_files_that_vanish_while_they_are_listed_cost_no_snapshot(folder: Path) -> None:
    """`git` is a program that removes a file once it has listed it."""
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"{name}\n")
    removing = folder.with_name("git")
    removing.write_text(
        f'#!/bin/sh\n{shutil.which("git")} "$@"; code=$?\n'
        f'case "$*" in *ls-files*-o*) rm -f {folder}/b.txt;; esac\nexit $code\n'
    )
    removing.chmod(0o755)

    snapshot = await snapshots_beside(folder, find=lambda: str(removing)).take([folder], {})
    again = await snapshots_beside(folder).take([folder], {})

    assert snapshot.trees == again.trees
