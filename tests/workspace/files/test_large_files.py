"""Parts of files of any size are read in one pass and in bounded memory, as a reading of the whole would show them."""

from __future__ import annotations

import io
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.ports.workspace import PartWanted
from pygent_ls.errors import NotTextError, ToolError
from pygent_ls.workspace.files.large_files import read_part, scan
from tests.fakes import bounded

LINE = "a line of a log that is long enough\n"


def wanted(line: int = 1, column: int = 1, max_lines: int = 2_000, max_chars: int = 38_000) -> PartWanted:
    return PartWanted(line=line, column=column, max_lines=max_lines, max_chars=max_chars, max_line_chars=2_000)


TEXTS = st.text(st.sampled_from("ab\n\r\u00e9\U0001f600 "), min_size=1, max_size=60)


@given(
    text=TEXTS,
    line=st.integers(1, 12),
    max_lines=st.integers(1, 8),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    piece_chars=st.integers(1, 9),
)
def test_lines_are_those_of_the_whole_text(
    text: str, line: int, max_lines: int, encoding: str, piece_chars: int
) -> None:
    data, lines = text.encode(encoding), [each.rstrip("\r\n") for each in split_lines(text)]
    asked = wanted(line, max_lines=max_lines)
    if line > len(lines):
        with pytest.raises(ToolError, match=f"has {len(lines)} lines?, so start_line {line} does not exist"):
            scan(io.BytesIO(data), "a.txt", len(data), asked, piece_chars)
        return

    found = scan(io.BytesIO(data), "a.txt", len(data), asked, piece_chars)

    assert found.lines == lines[line - 1 : line - 1 + max_lines]
    assert found.lengths == [len(each) for each in found.lines]
    assert (found.n_lines, found.counted_all) == (len(lines), True)
    assert found.before == "".join(f"{each}\n" for each in lines[: line - 1])


@given(text=TEXTS, line=st.integers(1, 4), column=st.integers(1, 20), piece_chars=st.integers(1, 9))
def test_the_rest_of_a_line_begins_at_its_column(text: str, line: int, column: int, piece_chars: int) -> None:
    data, lines = text.encode(), [each.rstrip("\r\n") for each in split_lines(text)]
    asked = wanted(line, column, max_lines=1)
    if line > len(lines) or column > len(lines[line - 1]) + 1:
        with pytest.raises(ToolError, match="does not exist"):
            scan(io.BytesIO(data), "a.txt", len(data), asked, piece_chars)
        return

    found = scan(io.BytesIO(data), "a.txt", len(data), asked, piece_chars)

    assert found.lines in ([lines[line - 1][column - 1 :]], [])
    assert found.before.endswith(lines[line - 1][: column - 1])


async def test_a_long_line_takes_no_more_memory_than_what_is_kept_of_it(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_bytes(b"x" * 60_000_000)

    tracemalloc.start()
    try:
        part = await read_part(file, "one.json", wanted(column=59_999_991))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (part.lines, part.lengths, part.n_lines) == (("x" * 10,), (10,), 1)
    assert len(part.before) <= 65_536
    assert peak < 10_000_000


async def test_a_file_with_damaged_bytes_is_still_text(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(LINE.encode() * 40_000 + b"caf\xc3\xa9 \xff \0 end\n")

    part = await read_part(file, "a.log", wanted(40_001))

    assert part.lines == ("caf\u00e9 \\xff \u2400 end",)


async def test_windows_text_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(b"caf\xe9\r\n\x80 5\r\n")

    part = await read_part(file, "a.log", wanted())

    assert part.lines == ("caf\u00e9", "\u20ac 5")


async def test_bytes_are_not_shown_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "a.log").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")

    with pytest.raises(NotTextError) as binary:
        await read_part(tmp_path / "a.bin", "a.bin", wanted())
    with pytest.raises(NotTextError) as image:
        await read_part(tmp_path / "a.log", "a.log", wanted())

    assert (binary.value.mime_type, image.value.mime_type) == (None, "image/png")


async def test_a_pipe_a_device_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path, why in ((tmp_path / "pipe", "not a regular file"), (Path("/dev/zero"), "device"), (tmp_path, "folder")):
        with pytest.raises(ToolError, match=why):
            await bounded(read_part(path, str(path), wanted()))


async def test_a_file_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret\n")
    (tmp_path / "big.log").symlink_to(tmp_path / "secret.txt")

    with pytest.raises(ToolError, match="link"):
        await read_part(tmp_path / "big.log", "big.log", wanted())
