"""What was kept for one session alone can be forgotten; what others kept stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.workspace.snapshots import Snapshot
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
