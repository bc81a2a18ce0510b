"""read_file shows a document with line numbers, and says what it left out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.files.file_parts import MAX_CHARS
from pygent_ls.tools.files.read_file import read_file
from tests.tools.tool_bench import Bench


async def test_a_file_is_shown_with_its_line_numbers(bench: Bench) -> None:
    bench.write("app.py", "import math\n\nprint(3.14)\n")

    assert await bench.call(read_file, path="app.py") == "     1\timport math\n     2\t\n     3\tprint(3.14)"


async def test_reading_counts_as_read_by_the_model_and_the_result_depends_on_the_file(bench: Bench) -> None:
    file = bench.write("app.py", "x\n")

    await bench.call(read_file, path="app.py")

    assert bench.reads.knows(file)
    assert [document.path for document in bench.context.shown] == [file]
    assert bench.context.dependencies == {file: await bench.workspace.stamp(file)}


async def test_unsaved_text_is_what_is_read(bench: Bench) -> None:
    file = bench.write("app.py", "saved\n")
    bench.workspace.type_into(file, "typed\n")

    assert await bench.call(read_file, path="app.py") == "     1\ttyped"


async def test_a_range_includes_both_ends_and_says_how_long_the_file_is(bench: Bench) -> None:
    bench.write("n.txt", "".join(f"line {n}\n" for n in range(1, 11)))

    assert await bench.call(read_file, path="n.txt", start_line=3, end_line=5) == (
        "     3\tline 3\n     4\tline 4\n     5\tline 5\n[Lines 3–5 of 10 in n.txt.]"
    )


async def test_an_end_beyond_the_last_line_stops_there(bench: Bench) -> None:
    bench.write("n.txt", "a\nb\nc")

    assert await bench.call(read_file, path="n.txt", start_line=3, end_line=99) == (
        "     3\tc\n[Lines 3–3 of 3 in n.txt.]"
    )


async def test_a_start_beyond_the_end_says_how_many_lines_there_are(bench: Bench) -> None:
    bench.write("n.txt", "a\nb\n")

    with pytest.raises(ToolError, match=r"n\.txt has 2 lines, so start_line 3 does not exist\."):
        await bench.call(read_file, path="n.txt", start_line=3)


async def test_a_range_that_ends_before_it_starts_is_an_error(bench: Bench) -> None:
    bench.write("n.txt", "a\nb\n")

    with pytest.raises(ToolError, match=r"end_line \(1\) is before start_line \(2\)"):
        await bench.call(read_file, path="n.txt", start_line=2, end_line=1)


@pytest.mark.parametrize("start_line", [0, -1])
async def test_lines_count_from_one(bench: Bench, start_line: int) -> None:
    bench.write("n.txt", "a\n")

    with pytest.raises(ToolError, match="start_line"):
        await bench.call(read_file, path="n.txt", start_line=start_line)


async def test_an_empty_file_says_so(bench: Bench) -> None:
    bench.write("empty.txt")

    assert await bench.call(read_file, path="empty.txt") == "empty.txt is empty."


async def test_a_long_file_is_cut_at_2000_lines_and_says_where_to_go_on(bench: Bench) -> None:
    bench.write("long.txt", "".join(f"{n}\n" for n in range(1, 5001)))

    first = await bench.call(read_file, path="long.txt")
    second = await bench.call(read_file, path="long.txt", start_line=2001)

    assert first.endswith(
        "  2000\t2000\n[Lines 1–2000 of 5000 in long.txt. Too many for one result: continue with start_line=2001.]"
    )
    assert second.startswith("  2001\t2001\n")


async def test_text_of_many_characters_is_cut_between_lines_and_says_where_to_go_on(bench: Bench) -> None:
    bench.write("wide.txt", "".join(f"{n:<999}\n" for n in range(1, 101)))

    text = await bench.call(read_file, path="wide.txt")

    assert len(text) <= MAX_CHARS + 100
    assert "[Lines 1–37 of 100 in wide.txt. Too many for one result: continue with start_line=38.]" in text


async def test_a_long_line_is_cut_and_says_how_much_is_missing(bench: Bench) -> None:
    bench.write("min.js", "a" * 2500 + "\nb\n")

    assert await bench.call(read_file, path="min.js") == (
        f"     1\t{'a' * 2000} [… 500 more characters in this line]\n     2\tb\n"
        "[To read the rest of a long line, give its number as start_line, and start_column.]"
    )


async def test_lines_end_as_in_an_editor_and_nowhere_else(bench: Bench) -> None:
    bench.write("mixed.txt", "a\r\nb\nc\rd\x0ce\u2028f\x85g")

    assert await bench.call(read_file, path="mixed.txt") == (
        "     1\ta\n     2\tb\n     3\tc\n     4\td\x0ce\u2028f\x85g"
    )


async def test_other_encodings_are_read_as_text(bench: Bench) -> None:
    bench.write("latin.txt", "bêta\n".encode("latin-1"))
    bench.write("wide.txt", "bêta\n".encode("utf-16"))

    assert await bench.call(read_file, path="latin.txt") == "     1\tbêta"
    assert await bench.call(read_file, path="wide.txt") == "     1\tbêta"


async def test_binary_files_folders_and_missing_files_are_errors(bench: Bench) -> None:
    bench.write("data.bin", b"\x00\x01")
    bench.write("src/app.py", "x\n")

    with pytest.raises(ToolError, match="not text"):
        await bench.call(read_file, path="data.bin")
    with pytest.raises(ToolError, match="folder"):
        await bench.call(read_file, path="src")
    with pytest.raises(ToolError, match=r"Did you mean app\.py"):
        await bench.call(read_file, path="src/ap.py")


async def test_nothing_outside_the_workspace_is_read(bench: Bench) -> None:
    (bench.folder.parent / "secret.txt").write_text("plum")
    (bench.folder / "link").symlink_to(bench.folder.parent)

    for path in ("../secret.txt", "link/secret.txt", str(bench.folder.parent / "secret.txt")):
        with pytest.raises(OutsideWorkspaceError):
            await bench.call(read_file, path=path)


@given(
    lines=st.lists(
        st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=30), min_size=1
    ),
    start=st.integers(1, 40),
    length=st.integers(0, 40),
)
async def test_any_range_shows_exactly_its_lines(bench: Bench, lines: list[str], start: int, length: int) -> None:
    text = "\n".join(lines)
    if text.startswith("\ufeff"):  # a byte order mark is not part of the text
        return
    bench.write("any.txt", text + "\n")
    wanted = [(number, line) for number, line in enumerate(lines, start=1) if start <= number <= start + length]
    if not wanted:
        with pytest.raises(ToolError, match=f"has {len(lines)} line"):
            await bench.call(read_file, path="any.txt", start_line=start, end_line=start + length)
        return

    shown = await bench.call(read_file, path="any.txt", start_line=start, end_line=start + length)

    body = shown if len(wanted) == len(lines) else shown.rpartition("\n[")[0]
    found = [re.fullmatch(r" *(\d+)\t(.*)", line, re.DOTALL) for line in body.split("\n")]
    assert [(int(match[1]), match[2]) for match in found if match] == wanted
