from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pygent_ls.errors import SnapshotError
from pygent_ls.workspace.snapshots.capture import GONE, MAX_FILE_BYTES
from pygent_ls.workspace.snapshots.snapshots import MAX_SNAPSHOTS, Snapshot, Snapshots
from tests.fakes import bounded
from tests.workspace.repositories import bytes_of, commit_all, contents, find_git, git, snapshots_beside
from tests.workspace.trees import UNPRIVILEGED, run_script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    return made


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


async def take(folder: Path, *, like: Snapshot | None = None, **unsaved: str) -> Snapshot:
    overlays = {folder / name.replace("_", "."): text.encode() for name, text in unsaved.items()}
    return await snapshots_beside(folder).take([folder], overlays, like)


async def names_changed(folder: Path, old: Snapshot, new: Snapshot) -> list[str]:
    return [change.path.relative_to(folder).as_posix() for change in await snapshots_beside(folder).changes(old, new)]


@pytest.mark.parametrize("with_git", [True, False])
async def test_what_was_changed_made_and_deleted_differs(folder: Path, with_git: bool) -> None:
    put(folder, a_txt="a\n", d__b_txt="b\n", c_txt="c\n")
    if with_git:
        commit_all(folder)
    before = await take(folder)

    put(folder, a_txt="A\n", new_txt="n\n")
    (folder / "d" / "b.txt").unlink()
    after = await take(folder)

    assert await names_changed(folder, before, after) == ["a.txt", "d/b.txt", "new.txt"]
    assert await contents(folder, before) == {"a.txt": b"a\n", "d/b.txt": b"b\n", "c.txt": b"c\n"}
    assert await contents(folder, after) == {"a.txt": b"A\n", "new.txt": b"n\n", "c.txt": b"c\n"}


async def test_the_users_repository_stays_as_it_is_byte_for_byte(folder: Path) -> None:
    put(folder, a_txt="a\n", b_txt="b\n")
    commit_all(folder)
    put(folder, a_txt="staged\n", new_txt="n\n")
    git(folder, "add", "a.txt")
    put(folder, a_txt="changed\n")
    repository = bytes_of(folder / ".git")

    before = await take(folder)
    put(folder, b_txt="B\n")
    await names_changed(folder, before, await take(folder))

    assert bytes_of(folder / ".git") == repository


def snapshots_root(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-stores")


async def test_what_is_ignored_is_not_kept_but_what_is_tracked_is(folder: Path) -> None:
    put(folder, _gitignore="*.log\n", kept_log="k\n", other_log="o\n", a_txt="a\n")
    commit_all(folder)
    git(folder, "add", "-f", "kept.log")
    put(folder, secret_txt="s\n")
    (folder / ".git" / "info" / "exclude").write_text("secret*\n")

    found = await contents(folder, await take(folder))

    assert sorted(found) == [".gitignore", "a.txt", "kept.log"]


async def test_a_folder_inside_a_repository_follows_the_patterns_above_it(folder: Path) -> None:
    put(folder, _gitignore="*.log\n", sub__a_txt="a\n", sub__b_log="b\n", other__c_txt="c\n")
    commit_all(folder)
    sub = folder / "sub"

    before = await take(sub)
    put(folder, sub__a_txt="A\n", other__c_txt="C\n")

    assert list(await contents(sub, before)) == ["a.txt"]
    assert await names_changed(sub, before, await take(sub)) == ["a.txt"]


async def test_a_folder_that_its_repository_ignores_is_kept_all_the_same(folder: Path) -> None:
    put(folder, _gitignore="build/\n", build__a_txt="a\n")
    commit_all(folder)

    assert list(await contents(folder / "build", await take(folder / "build"))) == ["a.txt"]


async def test_a_repository_without_a_commit_is_kept(folder: Path) -> None:
    git(folder, "init", "-q")
    put(folder, a_txt="a\n")

    assert await contents(folder, await take(folder)) == {"a.txt": b"a\n"}


async def test_no_byte_is_converted_no_filter_runs_and_no_hook(folder: Path) -> None:
    put(folder, _gitattributes="* text=auto eol=crlf ident filter=loud\n", a_txt="a\r\nb\n$Id$\n")
    commit_all(folder)
    ran = folder.with_name("ran")
    hook = folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    for name, value in {
        "core.autocrlf": "true",
        "filter.loud.clean": f"touch {ran}; tr a-z A-Z",
        "filter.loud.required": "true",
        "core.fsmonitor": str(hook),
    }.items():
        git(folder, "config", name, value)
    put(folder, b_txt="new\r\nlines\n")

    found = await contents(folder, await take(folder))

    assert found["a.txt"] == b"a\r\nb\n$Id$\n"
    assert found["b.txt"] == b"new\r\nlines\n"
    assert not ran.exists()


async def test_links_are_kept_as_links_and_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("s")
    (folder / "way").symlink_to(outside)
    (folder / "nowhere").symlink_to("gone")

    assert await contents(folder, await take(folder)) == {"way": os.fsencode(outside), "nowhere": b"gone"}


async def test_what_editors_keep_beside_a_file_that_is_open_is_not_kept(folder: Path) -> None:
    put(folder, a_txt="a\n")
    (folder / ".#a.txt").symlink_to("somebody@somewhere.1234")
    (folder / ".a.txt.swp").write_bytes(b"b0VIM")

    assert await contents(folder, await take(folder)) == {"a.txt": b"a\n"}


async def test_odd_names_are_kept(folder: Path) -> None:
    names = [b"with space", b"new\nline", b"-dash", b"ba\\ck", b'qu"ote', b"\xff\xfe", b":colon", b"*", b"git~1"]
    for name in names:
        (folder / os.fsdecode(name)).write_bytes(name)

    found = await contents(folder, await take(folder))

    assert {os.fsencode(name): data for name, data in found.items()} == {name: name for name in names}


async def test_a_file_that_becomes_a_folder_a_link_and_a_file_again_is_followed(folder: Path) -> None:
    put(folder, a="file\n", d__x="x\n")
    first = await take(folder)
    (folder / "a").unlink()
    put(folder, a__b="b\n")
    shutil.rmtree(folder / "d")
    (folder / "d").symlink_to("a")
    second = await take(folder)
    shutil.rmtree(folder / "a")
    (folder / "d").unlink()
    put(folder, a="file\n", d__x="x\n")
    third = await take(folder)

    assert await names_changed(folder, first, second) == ["a", "a/b", "d", "d/x"]
    assert await contents(folder, second) == {"a/b": b"b\n", "d": b"a"}
    assert first.trees == third.trees


async def test_what_is_too_large_is_left_out_and_named(folder: Path) -> None:
    put(folder, a_txt="a\n", big_bin="small yet\n")
    assert not (await take(folder)).is_left_out(folder / "big.bin")
    with (folder / "big.bin").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)

    snapshot = await take(folder)

    assert snapshot.is_left_out(folder / "big.bin")
    assert list(await contents(folder, snapshot)) == ["a.txt"]


def test_what_cannot_be_read_is_left_out_and_named(folder: Path) -> None:
    put(folder, a_txt="a\n", closed_txt="c\n")
    (folder / "closed.txt").chmod(0)
    folder.parent.chmod(0o777)
    folder.chmod(0o777)
    for above in folder.parents:
        if above.owner() == Path.home().owner() and str(above).startswith("/tmp/pytest"):
            above.chmod(0o755)

    said = run_script(
        "import asyncio, concurrent.futures.thread, os, shutil, sys, tempfile\nfrom pathlib import Path\n"
        "from pygent_ls.workspace.snapshots.snapshots import Snapshots\n"
        + UNPRIVILEGED
        + textwrap.dedent(
            """
            folder = Path(sys.argv[1])
            snapshots = Snapshots(Path(tempfile.mkdtemp()), lambda: shutil.which("git"), days=1)
            taken = asyncio.run(snapshots.take([folder], {}))
            print(taken.is_left_out(folder / "closed.txt"), taken.is_left_out(folder / "a.txt"))
            """
        ),
        str(folder),
    )

    assert said == "True False\n"


async def test_unusual_permission_bits_are_remembered(folder: Path) -> None:
    put(folder, a_txt="a\n", b_txt="b\n", run="r\n")
    (folder / "a.txt").chmod(0o600)
    (folder / "run").chmod(0o755)
    before = await take(folder)
    put(folder, b_txt="B\n")
    (folder / "b.txt").chmod(0o640)
    after = await take(folder)

    assert [before.mode(folder / name) for name in ("a.txt", "b.txt", "run")] == [0o600, None, None]
    assert [after.mode(folder / name) for name in ("a.txt", "b.txt", "run")] == [0o600, 0o640, None]
    assert await names_changed(folder, before, after) == ["b.txt"]


async def test_unsaved_text_stands_in_place_of_the_file(folder: Path) -> None:
    put(folder, a_txt="saved\n")

    unsaved = await take(folder, a_txt="typed\n")
    saved = await take(folder)

    assert await contents(folder, unsaved) == {"a.txt": b"typed\n"}
    assert await contents(folder, saved) == {"a.txt": b"saved\n"}


async def test_a_repository_inside_another_is_kept_on_its_own(folder: Path) -> None:
    put(folder, a_txt="a\n", lib__inner_txt="i\n")
    commit_all(folder / "lib")
    before = await take(folder)

    put(folder, lib__inner_txt="I\n")
    after = await take(folder)

    assert sorted(after.states) == [folder, folder / "lib"]
    assert await names_changed(folder, before, after) == ["lib/inner.txt"]


async def test_patterns_of_then_say_what_was_ignored_then(folder: Path) -> None:
    put(folder, _gitignore="*.env\n", a_txt="a\n", local_env="K=1\n")
    before = await take(folder)
    (folder / ".gitignore").unlink()
    put(folder, new_txt="n\n")
    after = await take(folder)

    snapshots = snapshots_beside(folder)
    made = [each for each in await snapshots.changes(before, after) if each.old is None]

    assert await snapshots.ignored(before, made) == {folder / "local.env"}


async def test_several_at_once_do_not_disturb_each_other(folder: Path) -> None:
    put(folder, a_txt="a\n", b_txt="b\n")

    taken = await asyncio.gather(*(take(folder) for _ in range(4)))

    assert len({snapshot.trees[folder] for snapshot in taken}) == 1


async def test_a_damaged_index_and_lost_objects_cost_no_snapshot(folder: Path) -> None:
    put(folder, a_txt="a\n")
    commit_all(folder)
    first = await take(folder)
    ((place, _),) = first.states.values()
    (snapshots_root(folder) / place.key / "index").write_bytes(b"no index")
    assert (await take(folder)).trees == first.trees

    put(folder, b_txt="b\n")
    shutil.rmtree(folder / ".git" / "objects")
    (folder / ".git" / "objects").mkdir()

    assert await contents(folder, await take(folder)) == {"a.txt": b"a\n", "b.txt": b"b\n"}


@pytest.mark.parametrize("killed_at", range(1, 7))
async def test_a_daemon_that_is_killed_leaves_a_store_that_works(folder: Path, killed_at: int) -> None:
    """`git` is a program that kills who starts it, the n-th time."""
    put(folder, a_txt="a\n", b_txt="b\n")
    await take(folder)
    put(folder, a_txt="A\n", c_txt="c\n")
    (folder / "b.txt").unlink()
    deadly = folder.with_name("git")
    deadly.write_text(
        f"#!/bin/sh\necho x >> {deadly}.calls\n"
        f'[ $(wc -l < {deadly}.calls) -ge {killed_at} ] && kill -9 $PPID\nexec git "$@"\n'
    )
    deadly.chmod(0o755)
    script = f"""
        import asyncio
        from pathlib import Path
        from pygent_ls.workspace.snapshots.snapshots import Snapshots
        snapshots = Snapshots(Path({str(snapshots_root(folder))!r}), lambda: {str(deadly)!r}, days=30)
        asyncio.run(snapshots.take([Path({str(folder)!r})], {{}}))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = await asyncio.to_thread(subprocess.run, command, timeout=30, check=False)
    assert done.returncode == -signal.SIGKILL

    assert await contents(folder, await take(folder)) == {"a.txt": b"A\n", "c.txt": b"c\n"}


async def test_a_cancel_ends_a_snapshot_at_once(folder: Path) -> None:
    slow = folder.with_name("git")
    started = folder.with_name("started")
    os.mkfifo(started)
    slow.write_text(f"#!/bin/sh\necho > {started}\nexec sleep 60\n")
    slow.chmod(0o755)
    task = asyncio.create_task(snapshots_beside(folder, find=lambda: str(slow)).take([folder], {}))
    await bounded(asyncio.to_thread(started.read_bytes))

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await bounded(task)


async def test_without_git_the_error_says_so(folder: Path) -> None:
    with pytest.raises(SnapshotError, match="git is not installed"):
        await snapshots_beside(folder, find=lambda: None).take([folder], {})


async def test_old_snapshots_and_those_beyond_the_count_are_forgotten(folder: Path) -> None:
    put(folder, a_txt="a\n")
    snapshot = await take(folder)
    ((place, state),) = snapshot.states.values()
    names = snapshots_root(folder) / place.key / "refs" / "snapshots"
    (recent,) = names.iterdir()
    old = f"{datetime.now(UTC) - timedelta(days=31):%Y%m%dT%H%M%S.%f}-old"
    (names / old).write_text(f"{state.tree}\n")

    await take(folder)
    assert not (names / old).exists()
    assert recent.exists()

    for number in range(MAX_SNAPSHOTS):
        (names / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{number}").write_text(f"{state.tree}\n")
    await take(folder)
    assert not recent.exists()
    assert len(list(names.iterdir())) == MAX_SNAPSHOTS + 1
    assert await contents(folder, snapshot) == {"a.txt": b"a\n"}


async def test_stores_are_for_their_owner_alone(folder: Path) -> None:
    put(folder, a_txt="a\n")

    ((place, _),) = (await take(folder)).states.values()

    assert (snapshots_root(folder) / place.key).stat().st_mode & 0o077 == 0


async def test_a_folder_that_holds_the_stores_does_not_keep_them(folder: Path) -> None:
    put(folder, a_txt="a\n")
    inside = Snapshots(folder / "state" / "stores", find_git, days=30)

    await inside.take([folder], {})
    snapshot = await inside.take([folder], {})
    nothing = Snapshot(states={each: (place, GONE) for each, (place, _) in snapshot.states.items()})

    assert [each.path.name for each in await inside.changes(snapshot, nothing)] == ["a.txt"]
