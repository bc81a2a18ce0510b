"""What was kept for one session alone can be forgotten; what others kept stays."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.snapshots.index import N_PACKED
from pygent_ls.workspace.snapshots.snapshots import Snapshot
from pygent_ls.workspace.snapshots.store import PUT_AWAY
from tests.fakes import bounded
from tests.workspace.repositories import commit_all, git, snapshots_beside


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    (made / "a.txt").write_text("a\n")
    return made


def stored(folder: Path) -> set[str]:
    """All that there is in the stores."""
    stores = folder.with_name(f"{folder.name}-stores")
    return {str(each.relative_to(stores)) for each in (stores, *stores.rglob("*")) if each.exists()}


async def changed(folder: Path, old: Snapshot, new: Snapshot) -> dict[str, bytes]:
    """The files that differ, with what they held before."""
    snapshots = snapshots_beside(folder)
    changes = await snapshots.changes(old, new)
    contents = await snapshots.contents(old, [(each.folder, each.old) for each in changes if each.old])
    return {each.path.name: contents[each.old.blob] if each.old else b"" for each in changes}


async def test_nothing_is_left_where_nobody_else_kept_anything(folder: Path) -> None:
    snapshots = snapshots_beside(folder)
    first = await snapshots.take([folder], {}, owner="one")
    (folder / "a.txt").write_text("b\n")
    await snapshots.take([folder], {folder / "a.txt": b"unsaved\n"}, owner="one")

    await snapshots.forget("one", [first])

    assert stored(folder) == set()
    await snapshots.forget("one", [first])  # and nothing comes of it again
    assert stored(folder) == set()


@pytest.mark.parametrize("with_git", [True, False])
async def test_what_others_kept_stays_and_what_comes_after_it_is_kept_whole(folder: Path, *, with_git: bool) -> None:
    if with_git:
        (folder / ".gitignore").write_text("*.log\n")
        commit_all(folder)
        (folder / "forced.log").write_text("forced\n")
        git(folder, "add", "-f", "forced.log")
    snapshots = snapshots_beside(folder)
    kept = await snapshots.take([folder], {})
    before = stored(folder)
    (folder / "a.txt").write_text("secret\n")
    (folder / "new.txt").write_text("new\n")
    (folder / "new.txt").chmod(0o600)
    if with_git:
        (folder / "more.log").write_text("more\n")
        git(folder, "add", "-f", "more.log")
    own = await snapshots.take([folder], {}, owner="one")

    await snapshots.forget("one", [own])

    left = stored(folder)
    assert {each for each in left - before if "objects" in each and len(Path(each).name) > 2} == set()
    again = await snapshots_beside(folder).take([folder], {})
    logs = {"more.log": b""} if with_git else {}
    assert await changed(folder, kept, again) == {"a.txt": b"a\n", "new.txt": b"", **logs}
    assert again.trees == own.trees
    assert again.mode(folder / "new.txt") == 0o600


async def test_a_snapshot_that_is_under_way_is_given_up_and_none_comes_later(folder: Path) -> None:
    """`git` is a program that waits for ever once it is to keep files."""
    started = folder.with_name("started")
    os.mkfifo(started)
    slow = program(folder, f'case "$*" in *update-index*) echo > {started}; exec sleep 60;; esac\nexec git "$@"\n')
    snapshots = snapshots_beside(folder, find=lambda: str(slow))
    under_way = asyncio.create_task(snapshots.take([folder], {}, owner="one"))
    await bounded(asyncio.to_thread(started.read_bytes))

    await bounded(snapshots.forget("one", []))

    with pytest.raises(SnapshotError):
        await bounded(under_way)
    with pytest.raises(SnapshotError, match="no more snapshots are kept for this session"):
        await snapshots.take([folder], {}, owner="one")
    assert stored(folder) == set()


async def test_what_is_asked_of_a_snapshot_that_was_forgotten_makes_no_store_anew(folder: Path) -> None:
    snapshots = snapshots_beside(folder)
    first = await snapshots.take([folder], {}, owner="one")
    (folder / "made.txt").write_text("made\n")
    second = await snapshots.take([folder], {}, owner="one")
    changes = await snapshots.changes(first, second)

    await snapshots.forget("one", [first])

    for asked in (snapshots.ignored(first, changes), snapshots.disk_changes(first, second)):
        with pytest.raises(SnapshotError):
            await asked
    assert stored(folder) == set()


async def test_forgetting_that_is_cancelled_leaves_nothing_all_the_same(folder: Path) -> None:
    snapshots = snapshots_beside(folder)
    first = await snapshots.take([folder], {}, owner="one")
    forgetting = asyncio.create_task(snapshots.forget("one", [first]))
    await asyncio.sleep(0)

    forgetting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await bounded(forgetting)
    assert stored(folder) == set()


async def test_several_sessions_end_at_once_in_several_folders(folder: Path) -> None:
    other = folder.with_name("other")
    other.mkdir()
    (other / "b.txt").write_text("b\n")
    snapshots = snapshots_beside(folder)
    owners = [f"owner{number}" for number in range(4)]
    taken = [await snapshots.take([folder, other], {}, owner=owner) for owner in owners]

    await asyncio.gather(*(snapshots.forget(owner, [each]) for owner, each in zip(owners, taken, strict=True)))

    assert stored(folder) == set()


async def test_files_that_were_packed_go_too_where_somebody_else_keeps_others(folder: Path) -> None:
    for number in range(N_PACKED):
        (folder / f"{number}.bin").write_bytes(os.urandom(1_000))
    snapshots = snapshots_beside(folder)
    own = await snapshots.take([folder], {}, owner="one")
    for number in range(N_PACKED):
        (folder / f"{number}.bin").unlink()
    kept = await snapshots.take([folder], {})

    await snapshots.forget("one", [own])

    assert size_of(folder) < N_PACKED * 100
    assert kept.trees == (await snapshots_beside(folder).take([folder], {})).trees


async def test_what_could_not_be_removed_in_time_goes_with_what_is_pruned_next(folder: Path) -> None:
    """`git` is a program that cannot remove objects."""
    await snapshots_beside(folder).take([folder], {})
    (folder / "large.bin").write_bytes(os.urandom(100_000))
    failing = program(folder, '[ "$1" = prune ] && exit 1\nexec git "$@"\n')
    snapshots = snapshots_beside(folder, find=lambda: str(failing))
    own = await snapshots.take([folder], {}, owner="one")
    with pytest.raises(SnapshotError):
        await snapshots.forget("one", [own])
    (folder / "large.bin").unlink()
    assert size_of(folder) > 100_000

    await snapshots_beside(folder).take([folder], {})

    assert size_of(folder) < 100_000


async def test_what_is_left_of_a_store_that_was_being_removed_goes_with_the_next_daemon(folder: Path) -> None:
    left = folder.with_name(f"{folder.name}-stores") / f"key{PUT_AWAY}" / "objects"
    left.mkdir(parents=True)

    await snapshots_beside(folder).take([folder], {})

    assert not left.parent.exists()


def program(folder: Path, script: str) -> Path:
    """A program in place of git."""
    made = folder.with_name("git")
    made.write_text(f"#!/bin/sh\n{script}")
    made.chmod(0o755)
    return made


def size_of(folder: Path) -> int:
    """Bytes in the stores."""
    stores = folder.with_name(f"{folder.name}-stores")
    return sum(path.stat().st_size for path in stores.rglob("*") if path.is_file())
