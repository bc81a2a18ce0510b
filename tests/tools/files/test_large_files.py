"""read_file and grep_search work on files above 10 MB, part by part; edits of them are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pygent_ls.errors import FileTooLargeError, ToolError
from pygent_ls.tools.files.edit_file import edit_file
from pygent_ls.tools.files.read_file import read_file
from pygent_ls.tools.search.grep import grep_search
from tests.tools.masked_bench import MaskedBench
from tests.tools.tool_bench import Bench

LINE = "2024-01-01 12:00:00 INFO a request was answered\n"
N_LINES = 250_000


async def test_a_large_log_is_read_on_from_where_the_note_says(bench: Bench) -> None:
    bench.write("big.log", "".join(f"{n} {LINE}" for n in range(1, N_LINES + 1)))

    first = await bench.call(read_file, path="big.log")
    following = re.search(r"continue with start_line=(\d+)", first)
    assert following is not None
    start = int(following[1])
    second = await bench.call(read_file, path="big.log", start_line=start, end_line=start + 1)
    last = await bench.call(read_file, path="big.log", start_line=N_LINES)

    assert first.startswith("     1\t1 2024-01-01")
    assert f"Lines 1–{start - 1} of {N_LINES} in big.log (13.6 MB)." in first
    assert len(first) < 40_000
    assert [line.split("\t")[1].split()[0] for line in second.splitlines()[:-1]] == [str(start), str(start + 1)]
    assert second.endswith(f"[Lines {start}–{start + 1} of {N_LINES} in big.log (13.6 MB).]")
    assert last == f"{N_LINES}\t{N_LINES} {LINE}[Lines {N_LINES}–{N_LINES} of {N_LINES} in big.log (13.6 MB).]"


async def test_a_line_of_any_length_is_read_by_its_characters(bench: Bench) -> None:
    bench.write("one.json", "first\n" + "x" * 12_000_000 + "needle" + "y" * 100)
    bench.write("small.json", "x" * 50_000 + "needle")

    for name, n_before in (("one.json", 12_000_000), ("small.json", 50_000)):
        found = await bench.call(grep_search, pattern="needle", path=name)
        line = 2 if name == "one.json" else 1
        piece = await bench.call(read_file, path=name, start_line=line, start_column=n_before - 2)
        assert f"{name}:{line}:" in found
        assert piece.startswith(f"     {line}\txxxneedle")
        cut = await bench.call(read_file, path=name, start_line=line)
        assert "more characters in this line]" in cut
        assert "start_column" in cut
        piece = await bench.call(read_file, path=name, start_line=line, start_column=1)
        assert f"Continue with start_line={line}, start_column=38001." in piece


async def test_a_place_that_does_not_exist_is_an_error_with_the_number_that_does(bench: Bench) -> None:
    bench.write("big.log", LINE * N_LINES)

    with pytest.raises(ToolError, match=r"has 250,000 lines, so start_line 250,001 does not exist"):
        await bench.call(read_file, path="big.log", start_line=N_LINES + 1)
    with pytest.raises(ToolError, match=r"Line 2 of big\.log has 47 characters, so start_column 100 does not exist"):
        await bench.call(read_file, path="big.log", start_line=2, start_column=100)
    with pytest.raises(ToolError, match="Leave out end_line"):
        await bench.call(read_file, path="big.log", start_line=2, end_line=9, start_column=1)


async def test_the_buffer_is_read_in_place_of_a_large_file(bench: Bench) -> None:
    file = bench.write("big.log", LINE * N_LINES)
    bench.workspace.type_into(file, "typed\n")

    assert await bench.call(read_file, path="big.log") == "     1\ttyped"


async def test_an_edit_of_a_large_file_is_refused_with_what_works(bench: Bench) -> None:
    bench.write("big.log", LINE * N_LINES)

    with pytest.raises(FileTooLargeError, match=r"read_file reads larger ones in parts.*sed"):
        await bench.call(edit_file, path="big.log", old="INFO", new="DEBUG")


async def test_a_pattern_that_matches_everywhere_in_a_long_line_ends_soon(bench: Bench) -> None:
    bench.write("one.json", "x" * 100_000_000)

    with pytest.raises(ToolError, match="out of memory"):
        await bench.call(grep_search, pattern="x")


KEY = "AKIAQ3EGRIPPLETESTK7"


async def test_secrets_in_parts_are_masked(tmp_path: Path) -> None:
    bench = MaskedBench(tmp_path)
    pem = "-----BEGIN RSA PRIVATE KEY-----\n" + ("q7Wm0Kf3Zs9Xv1Lp5Rt8Yb2Nc6Hd4Gj" * 2 + "\n") * 20
    pem += "-----END RSA PRIVATE KEY-----\n"
    body = LINE * N_LINES
    (tmp_path / "big.log").write_text(f"{body}key {KEY} end\n{pem}{body}" + "x" * 3000 + f" {KEY} " + "y" * 3000)

    line = await bench.call("read_file", path="big.log", start_line=N_LINES + 1, end_line=N_LINES + 1)
    inside = await bench.call("read_file", path="big.log", start_line=N_LINES + 5, end_line=N_LINES + 9)
    within = await bench.call("read_file", path="big.log", start_line=2 * N_LINES + 24, start_column=3010)

    assert KEY not in line
    assert "key {{SECRET_" in line
    assert "q7Wm0Kf3Zs9X" not in inside
    assert KEY[8:] not in within
