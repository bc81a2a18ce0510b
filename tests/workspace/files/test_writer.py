"""A file holds the old bytes or the new ones, whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from fnmatch import fnmatch
from pathlib import Path

import pytest

from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.disk_workspace import write_atomically
from tests.workspace.trees import UNPRIVILEGED, run_script, snapshot


def test_a_new_file_has_the_usual_mode_or_the_one_asked_for(tmp_path: Path) -> None:
    (tmp_path / "by hand").touch()
    usual = stat.S_IMODE((tmp_path / "by hand").stat().st_mode)

    write_atomically(tmp_path / "a", b"new")
    write_atomically(tmp_path / "b", b"new", 0o750)

    assert (tmp_path / "a").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == usual
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o750


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o4755, 0o2711, 0o1777])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"old")
    file.chmod(mode)

    write_atomically(file, b"new")

    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_file_keeps_its_owner_where_that_is_permitted(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"old")
    if os.geteuid() == 0:
        os.chown(file, 12_345, 23_456)
    owner = (file.stat().st_uid, file.stat().st_gid)

    write_atomically(file, b"new")

    assert (file.stat().st_uid, file.stat().st_gid) == owner


def test_a_file_keeps_its_extended_attributes(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"old")
    if hasattr(os, "setxattr"):
        os.setxattr(file, "user.origin", b"elsewhere")
        write_atomically(file, b"new")
        assert os.getxattr(file, "user.origin") == b"elsewhere"
    else:
        write_atomically(file, b"new")
    assert file.read_bytes() == b"new"


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("dir/target")
    (tmp_path / "new").symlink_to("dir/not yet")

    write_atomically(tmp_path / "link", b"new")
    write_atomically(tmp_path / "new", b"made")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dir" / "target").read_bytes() == b"new"
    assert (tmp_path / "dir" / "not yet").read_bytes() == b"made"
    assert {path.name for path in (tmp_path / "dir").iterdir()} == {"target", "not yet"}


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("x" * 255), b"new")

    assert (tmp_path / ("x" * 255)).read_bytes() == b"new"


def test_what_cannot_be_written_says_why_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    before = snapshot(tmp_path)
    problems = {
        "dir": "is a folder",
        "no/x": "does not exist",
        "file/x": "not a folder",
        "pipe": "not a regular file",
        "y" * 256: "too long",
        "loop": "not a regular file",
    }
    for name, problem in problems.items():
        with pytest.raises(ToolError, match=problem) as refusal:
            write_atomically(tmp_path / name, b"new", name=name)
        assert name in str(refusal.value)

    assert snapshot(tmp_path) == before


def test_read_only_files_and_folders_are_left_alone() -> None:
    script = f"""
import os, tempfile
from pathlib import Path
from pygent_ls.workspace.files.disk_workspace import write_atomically
{UNPRIVILEGED}
with tempfile.TemporaryDirectory() as folder:
    file, locked = Path(folder, "file.txt"), Path(folder, "locked")
    file.write_text("old")
    file.chmod(0o444)
    locked.mkdir()
    locked.joinpath("x").write_text("old")
    locked.chmod(0o555)
    for path in (file, locked / "x", locked / "new"):
        try:
            write_atomically(path, b"new")
        except Exception as error:
            print(type(error).__name__, error)
    print(file.read_text(), locked.joinpath("x").read_text(), sorted(os.listdir(folder)), os.listdir(locked))
    locked.chmod(0o755)
"""
    *errors, state = run_script(script).splitlines()

    assert len(errors) == 3
    assert all(error.startswith("ToolError") and "read-only" in error for error in errors)
    assert state == "old old ['file.txt', 'locked'] ['x']"


def test_a_disk_that_takes_no_more_leaves_the_old_bytes(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_bytes(b"old" * 1_000)
    before = snapshot(tmp_path)
    script = """
import resource, sys
from pathlib import Path
from pygent_ls.workspace.files.disk_workspace import write_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
for name in ("file.txt", "new.txt"):
    try:
        write_atomically(Path(sys.argv[1], name), b"n" * 10_001)
    except Exception as error:
        print(type(error).__name__, error)
"""
    printed = run_script(script, str(tmp_path)).splitlines()

    assert len(printed) == 2
    assert all(line.startswith("ToolError") and "no space is left, or a limit is reached" in line for line in printed)
    assert snapshot(tmp_path) == before


def test_a_reader_never_sees_half_a_write(tmp_path: Path) -> None:
    file = tmp_path / "file"
    states = [letter * 300_000 for letter in (b"a", b"b")]
    write_atomically(file, states[0])
    done = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not done.is_set():
            seen.add(file.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(60):
            write_atomically(file, states[number % 2])
    finally:
        done.set()
        reader.join(timeout=10)

    assert seen <= set(states)


def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    script = """
import sys
from pathlib import Path
from pygent_ls.workspace.files.disk_workspace import write_atomically
print("ready", flush=True)
while True:
    for letter in (b"a", b"b"):
        write_atomically(Path(sys.argv[1]), letter * 300_000)
        print(flush=True)
"""
    for n_writes in (1, 2, 5):
        command = [sys.executable, "-c", script, str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(n_writes + 1):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        assert file.read_bytes() in {b"a" * 300_000, b"b" * 300_000}


def test_a_writer_that_is_killed_at_any_step_leaves_the_old_bytes_or_the_new(tmp_path: Path) -> None:
    script = """
import os, signal, sys
from pathlib import Path
from pygent_ls.workspace.files import writer

file, old, new = Path(sys.argv[1]), b"old" * 9, b"new" * 99_999
file.touch(0o751)
file.chmod(0o751)
seen = []
for n_lines in range(1_000):
    file.write_bytes(old)
    child = os.fork()
    if not child:
        def killed_after(frame, event, argument, left=[n_lines]):
            if frame.f_code.co_filename != writer.__file__:
                return None
            left[0] -= event == "line"
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return killed_after
        sys.settrace(killed_after)
        writer.write_atomically(file, new)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    seen.append({old: "old", new: "new"}.get(file.read_bytes(), "other") + oct(file.stat().st_mode & 0o777))
    if os.WIFEXITED(status):
        break
print(" ".join(seen))
"""
    seen = run_script(script, str(tmp_path / "file")).split()

    assert len(seen) > 20, "steps"
    assert set(seen) == {"old0o751", "new0o751"}
    assert seen == sorted(seen, reverse=True), "once it is there it stays"
    left = [path.name for path in tmp_path.iterdir() if path.name != "file"]
    assert all(fnmatch(name, ".pygent-[0-9a-f]*.tmp") for name in left)


def test_a_full_disk_leaves_the_old_bytes_and_is_said(tmp_path: Path) -> None:
    script = """
import os, resource, sys
from pathlib import Path
from pygent_ls.workspace.files.disk_workspace import write_atomically

folder = Path(sys.argv[1])
(folder / "file.txt").write_bytes(b"old" * 1_000)
(folder / "rest").write_bytes(b"x" * 8_192)
if sys.argv[2] == "no such disk":
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
for name in ("file.txt", "new.txt"):
    try:
        write_atomically(folder / name, b"n" * 60_000)
    except Exception as error:
        print(type(error).__name__, error)
print((folder / "file.txt").read_bytes() == b"old" * 1_000, *sorted(os.listdir(folder)))
"""
    bwrap = shutil.which("bwrap")
    small_disk = [bwrap, "--dev-bind", "/", "/", "--size", "65536", "--tmpfs", str(tmp_path)] if bwrap else []
    arguments = [str(tmp_path), "disk of 64 KiB" if bwrap else "no such disk"]
    done = subprocess.run(
        [*small_disk, sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=30, check=True
    )

    *errors, state = done.stdout.splitlines()
    assert len(errors) == 2
    assert all(line.startswith("ToolError") and "no space is left, or a limit is reached" in line for line in errors)
    assert state == "True file.txt rest"
