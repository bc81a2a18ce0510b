"""What a comparison of two snapshots says is what a walk of the tree sees, whatever happened between them."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.repositories import commit_all, snapshots_beside

PATTERNS = b"*.log\nbuild/\n"

names = st.sampled_from(["a", "b.log", "c d", "sub/a", "sub/b.log", "sub/in/c", "a/x", "a/y.log", "build/o", "new.txt"])
contents = st.sampled_from([b"", b"one\n", b"two\n", b"\x00\xff"])
steps = st.one_of(
    st.tuples(st.just("write"), names, contents),
    st.tuples(st.just("link"), names, contents),
    st.tuples(st.just("chmod"), names, st.sampled_from([b"644", b"755", b"600"])),
    st.tuples(st.just("remove"), st.one_of(names, st.sampled_from(["sub", "sub/in", "build"])), st.just(b"")),
)

Seen = Mapping[str, tuple[str, bytes]]


@given(st.lists(steps, max_size=8), st.lists(steps, max_size=8), st.dictionaries(names, contents), st.booleans())
def test_the_comparison_is_what_a_walk_sees(
    first: list[tuple[str, str, bytes]],
    then: list[tuple[str, str, bytes]],
    unsaved: dict[str, bytes],
    with_git: bool,
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "project"
        folder.mkdir()
        (folder / ".gitignore").write_bytes(PATTERNS)
        for step in first:
            do(folder, *step)
        if with_git:
            commit_all(folder)

        before, after, told = asyncio.run(compared(folder, then, unsaved))

    expected = {
        path: (before.get(path), after.get(path))
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path) and (path in before or not path.endswith(".log"))
    }
    assert told.keys() == expected.keys()
    for path, (was, now) in expected.items():
        assert told[path] == (was and was[1], now and now[1])


async def compared(
    folder: Path, then: list[tuple[str, str, bytes]], unsaved: Mapping[str, bytes]
) -> tuple[Seen, Seen, dict[str, tuple[bytes | None, bytes | None]]]:
    """The folder before and after, and what the snapshots say of it."""
    snapshots = snapshots_beside(folder)
    overlays = {folder / path: data for path, data in unsaved.items()}
    before, old = walked(folder), await snapshots.take([folder], overlays)
    for step in then:
        do(folder, *step)
    after, new = walked(folder), await snapshots.take([folder], {}, old)
    changes = await snapshots.disk_changes(old, new)
    was = await snapshots.contents(old, [(each.folder, each.old) for each in changes if each.old])
    now = await snapshots.contents(new, [(each.folder, each.new) for each in changes if each.new])
    told = {
        str(each.path.relative_to(folder)): (each.old and was[each.old.blob], each.new and now[each.new.blob])
        for each in changes
    }
    return before, after, told


def do(folder: Path, what: str, name: str, data: bytes) -> None:
    """One step; what is not possible is not done."""
    path = folder / name
    if what == "chmod":
        if path.is_file() and not path.is_symlink():
            path.chmod(int(data, 8))
        return
    remove(path)
    if what == "remove":
        return
    for above in reversed(path.relative_to(folder).parents):
        if not (folder / above).is_dir() or (folder / above).is_symlink():
            remove(folder / above)
        (folder / above).mkdir(exist_ok=True)
    if what == "link":
        path.symlink_to(os.fsdecode(data.replace(b"\0", b"0")) or "nowhere")
    else:
        path.write_bytes(data)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def walked(folder: Path) -> Seen:
    """Every file and link outside the ignored folder, with its mode and content."""
    found: dict[str, tuple[str, bytes]] = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", "build") or (Path(parent) / name).is_symlink()]
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for path in (Path(parent) / name for name in (*files, *links)):
            name = str(path.relative_to(folder))
            if path.is_symlink():
                found[name] = "link", os.fsencode(path.readlink())
            else:
                found[name] = oct(path.stat().st_mode), path.read_bytes()
    return found
