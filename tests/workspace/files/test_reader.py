"""Reading files whole, and telling whether they changed."""

from __future__ import annotations

import codecs
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.workspace import MISSING
from pygent_ls.errors import ToolError
from pygent_ls.file_access import read_file
from pygent_ls.workspace.files.disk_workspace import disk_stamp, read_document, tree_stamp
from pygent_ls.workspace.files.reader import lines_of
from pygent_ls.workspace.files.relocation import stage_copy
from tests.workspace.trees import UNPRIVILEGED, run_script


async def test_a_document_is_the_file_with_its_own_line_endings_and_encoding(tmp_path: Path) -> None:
    file = tmp_path / "mixed.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\nthree\r")

    document = await read_document(file)

    assert document.text == "one\r\ntwo\nthree\r"
    assert document.encoding.encode(document.text) == file.read_bytes()
    assert (document.path, document.stamp, document.version) == (file, disk_stamp(file), None)


async def test_a_missing_file_is_an_error_that_names_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "Settings.py").touch()
    (tmp_path / "other.md").touch()

    with pytest.raises(ToolError, match=r"no file src/setings.py. Did you mean Settings.py, in the same folder"):
        await read_document(tmp_path / "setings.py", "src/setings.py")
    with pytest.raises(ToolError, match="list_files"):
        await read_document(tmp_path / "zzz")
    with pytest.raises(ToolError, match="folder does not exist"):
        await read_document(tmp_path / "nowhere" / "x")
    with pytest.raises(ToolError, match="is a file, not a folder"):
        await read_document(tmp_path / "other.md" / "x")


async def test_what_is_no_text_file_is_refused_with_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(ToolError, match=r"logo.png is not text \(11 bytes, binary\)"):
        await read_document(tmp_path / "logo.png")
    with pytest.raises(ToolError, match="is a folder"):
        await read_document(tmp_path)
    with pytest.raises(ToolError, match="named pipe"):
        await read_document(tmp_path / "pipe")
    with pytest.raises(ToolError, match="cannot be read"):
        await read_document(tmp_path / "loop")


async def test_a_file_above_ten_megabytes_is_refused_with_what_works_instead(tmp_path: Path) -> None:
    with (tmp_path / "big.log").open("wb") as file:
        file.truncate(10_000_001)

    with pytest.raises(ToolError, match=r"too large: 10.0 MB.*grep_search.*shell"):
        await read_document(tmp_path / "big.log")


async def test_a_file_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_bytes(b"0123456789abcde\n" * 625_000)

    assert len((await read_document(tmp_path / "large.txt")).text) == 10_000_000


def test_a_file_that_may_not_be_read_says_so() -> None:
    script = f"""
import asyncio, concurrent.futures.thread, sys, tempfile
from pathlib import Path
from pygent_ls.workspace.files.disk_workspace import read_document
{UNPRIVILEGED}
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "secret.txt")
    file.write_text("x")
    file.chmod(0)
    try:
        asyncio.run(read_document(file))
    except Exception as error:
        print(type(error).__name__, error)
"""
    assert "ToolError" in (printed := run_script(script))
    assert "secret.txt cannot be read: permission denied." in printed


def test_a_stamp_is_equal_as_long_as_nothing_happens_and_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    assert disk_stamp(file) == MISSING
    assert disk_stamp(file / "below") == MISSING
    file.write_text("one")
    first = disk_stamp(file)
    assert disk_stamp(file) == first

    status = file.stat()
    file.write_text("two")  # as long, and the time of its change set back
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    second = disk_stamp(file)
    assert second != first

    (tmp_path / "b.txt").write_text("two")
    (tmp_path / "b.txt").replace(file)
    assert disk_stamp(file) not in {first, second}


def test_the_stamp_of_a_tree_changes_with_anything_below_it(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "a.py").write_text("a")
    seen = [tree_stamp(tmp_path)]

    def assert_new() -> None:
        stamp = tree_stamp(tmp_path)
        assert stamp not in seen
        assert stamp == tree_stamp(tmp_path)
        seen.append(stamp)

    (tmp_path / "src" / "deep" / "a.py").write_text("bb")
    assert_new()
    (tmp_path / "src" / "empty").mkdir()
    assert_new()
    (tmp_path / "src" / "deep" / "a.py").rename(tmp_path / "src" / "a.py")
    assert_new()
    (tmp_path / "link").symlink_to("src")
    assert_new()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("src/a.py")
    assert_new()
    (tmp_path / os.fsdecode(b"\xff")).touch()
    assert_new()
    (tmp_path / "src" / "a.py").unlink()
    assert_new()


def test_what_git_does_inside_its_folder_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    before = tree_stamp(tmp_path)
    (tmp_path / "sub" / ".git" / "index").write_text("x")

    assert tree_stamp(tmp_path) == before
    shutil.rmtree(tmp_path / "sub" / ".git")
    assert tree_stamp(tmp_path) != before


def test_a_tree_that_is_too_large_has_no_stamp(tmp_path: Path) -> None:
    for number in range(4_999):
        (tmp_path / str(number)).touch()
    (tmp_path / "dir").mkdir()
    assert tree_stamp(tmp_path) is not None
    (tmp_path / "dir" / "one more").touch()

    assert tree_stamp(tmp_path) is None


def test_the_tree_of_a_file_or_of_nothing_is_its_own_stamp(tmp_path: Path) -> None:
    (tmp_path / "a").touch()

    assert tree_stamp(tmp_path / "a") == disk_stamp(tmp_path / "a")
    assert tree_stamp(tmp_path / "b") == MISSING


# Lines by their numbers


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=6),
    numbers=st.sets(st.integers(1, 9)),
    has_mark=st.booleans(),
)
def test_lines_are_those_between_line_feeds(
    tmp_path: Path, lines: list[bytes], numbers: set[int], has_mark: bool
) -> None:
    data = b"x" + b"\n".join(lines)
    (tmp_path / "a").write_bytes(codecs.BOM_UTF8 + data if has_mark else data)

    found = lines_of(tmp_path / "a", numbers)

    assert found == {number: line for number, line in enumerate(data.split(b"\n"), 1) if number in numbers}


def test_lines_of_utf_16_are_those_of_its_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("grün\nrot\n", encoding="utf-16")

    assert lines_of(tmp_path / "a", {1, 2}) == {1: "grün".encode(), 2: b"rot"}


def test_a_line_of_many_megabytes_is_read_without_its_rest(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 25_000_000 + b"\nnext\n")

    found = lines_of(tmp_path / "a", {1, 2})

    assert found == {1: b"x" * 10_000_000, 2: b"next"}


def test_what_is_no_file_has_no_lines(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert [lines_of(tmp_path / name, {1}) for name in (".", "pipe", "missing")] == [{}, {}, {}]


_WRITES_ON = """
import os, sys
out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
for number in range(64):
    os.write(out, bytes(8_000_000))
    if number == 1:
        print("ready", flush=True)
"""


def test_a_file_that_a_program_writes_on_is_read_to_where_it_ended_at_first(tmp_path: Path) -> None:
    file = tmp_path.resolve() / "growing.log"
    file.touch()
    with subprocess.Popen([sys.executable, "-c", _WRITES_ON, str(file)], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            data, status = read_file(file)
            copy = stage_copy(file, file.parent)
        finally:
            writer.kill()

    assert len(data) <= status.st_size + 1
    assert copy.stat().st_size <= file.stat().st_size
