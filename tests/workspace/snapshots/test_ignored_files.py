"""Commands can destroy ignored files too: small ones are stored, and large ones are listed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pygent_ls.workspace.snapshots.ignored_files import (
    MAX_IGNORED_BYTES,
    MAX_IGNORED_FILE_BYTES,
    MAX_IGNORED_FILES,
    MAX_LEFT_OUT,
)
from pygent_ls.workspace.snapshots.snapshots import Snapshot, Snapshots
from pygent_ls.workspace.snapshots.store import TreeEntry
from tests.workspace.repositories import commit_all, find_git, git, snapshots_beside


@pytest.fixture(params=[True, False], ids=["git", "plain"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder with ignored files and an ignored folder, with and without a repository."""
    made = (tmp_path / "project").resolve()
    (made / "deep" / "er").mkdir(parents=True)
    (made / "build").mkdir()
    (made / ".gitignore").write_text(".env\n*.db\n*.log\nbuild/\n")
    for name in ("a.txt", ".env", "local.db", "deep/er/.env", "build/out.o"):
        (made / name).write_text(f"{name}\n")
    (made / ".env").chmod(0o600)
    if request.param:
        commit_all(made)
    return made


async def take(folder: Path, like: Snapshot | None = None, **unsaved: str) -> Snapshot:
    overlays = {folder / name.replace("_", "."): text.encode() for name, text in unsaved.items()}
    return await snapshots_beside(folder).take([folder], overlays, like)


async def changed(folder: Path, old: Snapshot, new: Snapshot) -> dict[str, tuple[bytes | None, bytes | None]]:
    """What differs on the disk, with what was there and what is."""
    snapshots = snapshots_beside(folder)
    changes = await snapshots.disk_changes(old, new)
    was = await snapshots.contents(old, [(each.folder, each.old) for each in changes if each.old])
    now = await snapshots.contents(new, [(each.folder, each.new) for each in changes if each.new])
    return {
        each.path.relative_to(folder).as_posix(): (_content(each.old, was), _content(each.new, now)) for each in changes
    }


def _content(entry: TreeEntry | None, contents: dict[str, bytes]) -> bytes | None:
    return contents[entry.blob] if entry else None


def left_out(folder: Path, snapshot: Snapshot) -> list[str]:
    """What is not kept, beside git's own."""
    return sorted({each.relative_to(folder).as_posix() for each in snapshot.left_out} - {".git"})


async def test_ignored_files_that_a_command_changes_or_deletes_are_kept(folder: Path) -> None:
    before = await take(folder)
    (folder / ".env").unlink()
    (folder / "local.db").write_text("overwritten\n")
    (folder / "new.log").write_text("made\n")
    shutil.rmtree(folder / "deep")
    (folder / "build" / "out.o").write_text("built\n")
    after = await take(folder, before)

    assert await changed(folder, before, after) == {
        ".env": (b".env\n", None),
        "deep/er/.env": (b"deep/er/.env\n", None),
        "local.db": (b"local.db\n", b"overwritten\n"),
    }
    assert before.mode(folder / ".env") == 0o600
    assert before.trees != after.trees


async def test_unsaved_text_is_no_change_of_the_disk(folder: Path) -> None:
    before = await take(folder, a_txt="typed\n")
    (folder / "deep" / "b.txt").write_text("made\n")
    after = await take(folder, before, a_txt="typed on\n", _env="typed\n")

    assert list(await changed(folder, before, after)) == ["deep/b.txt"]
    assert [each.path.name for each in await snapshots_beside(folder).changes(before, after)] == ["a.txt", "b.txt"]


async def test_what_is_not_kept_is_known(folder: Path) -> None:
    (folder / "large.db").write_bytes(b"x" * (MAX_IGNORED_FILE_BYTES + 1))
    (folder / "growing.db").write_text("small\n")
    before = await take(folder)
    (folder / "growing.db").write_bytes(b"x" * (MAX_IGNORED_FILE_BYTES + 1))
    after = await take(folder, before)

    assert left_out(folder, before) == ["build", "large.db"]
    assert left_out(folder, after) == ["build", "growing.db", "large.db"]
    assert await changed(folder, before, after) == {"growing.db": (b"small\n", None)}


async def test_a_file_that_is_no_longer_ignored_or_is_from_now_on_has_not_changed(folder: Path) -> None:
    before = await take(folder)
    (folder / ".gitignore").write_text("a.txt\ndeep/\n")
    after = await take(folder, before)

    assert list(await changed(folder, before, after)) == [".gitignore"]
    assert list(await changed(folder, after, before)) == [".gitignore"]


async def test_a_file_that_is_tracked_from_now_on_has_not_changed(folder: Path) -> None:
    if not (folder / ".git").exists():
        commit_all(folder)
    before = await take(folder)
    git(folder, "add", "-f", ".env", "build")
    after = await take(folder, before)

    assert await changed(folder, before, after) == {}


async def test_bounds_of_number_and_size_hold_and_what_lies_least_deep_is_kept_first(folder: Path) -> None:
    for number in range(MAX_IGNORED_FILES + MAX_LEFT_OUT):
        (folder / "deep" / f"{number}.log").write_text(f"{number}\n")
    (folder / "most.log").write_text("kept\n")
    before = await take(folder)
    shutil.rmtree(folder / "deep")
    after = await take(folder, before)

    kept = await changed(folder, before, after)
    assert len(kept) == MAX_IGNORED_FILES - 3  # .env, local.db and most.log are there
    assert len(left_out(folder, before)) == MAX_LEFT_OUT
    (folder / "most.log").unlink()
    assert list(await changed(folder, after, await take(folder, after))) == ["most.log"]


async def test_together_they_hold_no_more_than_the_bound(folder: Path) -> None:
    n_fit = MAX_IGNORED_BYTES // MAX_IGNORED_FILE_BYTES
    for number in range(n_fit + 1):
        (folder / "deep" / f"{number}.db").write_bytes(b"x" * MAX_IGNORED_FILE_BYTES)
    before = await take(folder)
    shutil.rmtree(folder / "deep")
    after = await take(folder, before)

    n_kept = len([name for name in await changed(folder, before, after) if name.endswith(".db")])
    assert n_kept == n_fit - 1  # local.db is there, too
    assert len(left_out(folder, before)) == 3


async def test_links_are_kept_as_links_and_nothing_else_is_opened(folder: Path) -> None:
    (folder / "link.log").symlink_to("build")
    os.mkfifo(folder / "pipe.log")
    before = await take(folder)
    (folder / "link.log").unlink()
    (folder / "local.db").unlink()
    os.mkfifo(folder / "local.db")
    after = await take(folder, before)

    assert await changed(folder, before, after) == {"link.log": (b"build", None), "local.db": (b"local.db\n", None)}


@pytest.mark.parametrize("name", [".gitignore", "deep/.gitignore", ".gitattributes", "deep/er/.gitattributes"])
async def test_a_pipe_in_place_of_a_file_of_patterns_costs_no_undo(folder: Path, name: str) -> None:
    before = await take(folder)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    (folder / "a.txt").write_text("changed\n")
    after = await take(folder, before)

    assert (await changed(folder, before, after))["a.txt"] == (b"a.txt\n", b"changed\n")


async def test_stores_and_what_editors_keep_beside_open_files_count_for_nothing(folder: Path) -> None:
    (folder / ".gitignore").write_text("*.swp\n.#*\nstate/\n")
    snapshots = Snapshots(folder / "state" / "stores", find_git, days=30)
    (folder / ".a.txt.swp").write_text("b0VIM")
    (folder / "deep" / ".#b").symlink_to("somebody")
    before = await snapshots.take([folder], {})
    (folder / ".a.txt.swp").unlink()
    (folder / "deep" / ".#b").unlink()
    after = await snapshots.take([folder], {}, before)

    assert await snapshots.disk_changes(before, after) == []
    assert left_out(folder, before) == left_out(folder, after) == []
    assert before.trees == after.trees


async def test_ignored_files_stay_as_long_as_their_snapshot_and_no_longer(folder: Path) -> None:
    """So do the trees of the disk beside unsaved text."""
    (folder / "local.db").write_bytes(os.urandom(N_RANDOM))
    (folder / "b.txt").write_bytes(os.urandom(N_RANDOM))
    before = await take(folder, b_txt="typed\n")
    names = stores(folder) / next(iter(before.states.values()))[0].key / "refs"
    (folder / "local.db").unlink()
    (folder / "b.txt").unlink()
    after = await take(folder, before)
    old = names / "snapshots" / "20000101T000000.000000-old"
    old.write_text(f"{before.states[folder][1].tree}\n")

    await take(folder)
    kept = await changed(folder, before, after)
    (first, *_) = sorted(each for each in (names / "snapshots").iterdir())
    for each in names.glob(f"*/{first.name}"):
        each.rename(each.with_name("20000101T000000.000000-old"))
    await take(folder)

    assert not old.exists()
    assert {len(was or b"") for was, _ in kept.values()} == {N_RANDOM}
    assert sum(path.stat().st_size for path in stores(folder).rglob("*") if path.is_file()) < N_RANDOM


N_RANDOM = 500_000


def stores(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-stores")
