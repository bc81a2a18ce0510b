"""edit_file replaces text that it can tell apart from all else, and leaves everything else byte for byte."""

from __future__ import annotations

import pytest

from pygent_ls.agent.ports.workspace import WriteText
from pygent_ls.errors import StaleDocumentError, ToolError
from pygent_ls.tools.files.edit_file import edit_file
from pygent_ls.tools.files.read_file import read_file
from tests.tools.tool_bench import Bench

APP = "import math\n\n\ndef area(r):\n    return 3.14 * r * r\n\n\nprint(area(2))\n"


async def test_the_only_occurrence_is_replaced_and_the_result_says_where(bench: Bench) -> None:
    bench.write("app.py", APP)

    result = await bench.call(edit_file, path="app.py", old="3.14", new="math.pi")

    assert result == "Edited app.py: +1 −1 lines; 1 replacement at line 5."
    assert bench.bytes_of("app.py").decode() == APP.replace("3.14", "math.pi")


async def test_nothing_is_written_before_the_plan_is_applied(bench: Bench) -> None:
    file = bench.write("app.py", APP)

    plan = await bench.plan(edit_file, path="app.py", old="3.14", new="math.pi")

    (operation,) = plan.operations
    assert isinstance(operation, WriteText)
    assert (operation.path, operation.before and operation.before.text) == (file, APP)
    assert plan.label == "Edit app.py"
    assert bench.bytes_of("app.py").decode() == APP


async def test_the_unsaved_text_is_what_is_edited(bench: Bench) -> None:
    file = bench.write("app.py", APP)
    bench.workspace.type_into(file, "r = 1  # typed\n")

    plan = await bench.plan(edit_file, path="app.py", old="1", new="2")

    (operation,) = plan.operations
    assert isinstance(operation, WriteText)
    assert (operation.text, operation.before and operation.before.version) == ("r = 2  # typed\n", 1)


async def test_text_that_occurs_several_times_is_refused_with_its_lines(bench: Bench) -> None:
    bench.write("app.py", "x = 1\ny = 1\nz = 1\n")

    with pytest.raises(ToolError, match=r"occurs 3 times in app\.py, at lines 1, 2 and 3\. .*set `all` to true"):
        await bench.call(edit_file, path="app.py", old="1", new="2")
    assert bench.bytes_of("app.py") == b"x = 1\ny = 1\nz = 1\n"


async def test_text_that_overlaps_itself_is_not_unique(bench: Bench) -> None:
    bench.write("a.txt", "aaa\n")

    with pytest.raises(ToolError, match="occurs 2 times"):
        await bench.call(edit_file, path="a.txt", old="aa", new="b")


async def test_all_replaces_every_occurrence_of_a_file_that_was_read(bench: Bench) -> None:
    bench.write("app.py", "x = 1\ny = 1\nz = 2\n")
    await bench.call(read_file, path="app.py")

    result = await bench.call(edit_file, path="app.py", old="1", new="one", all=True)

    assert result == "Edited app.py: +2 −2 lines; 2 replacements at lines 1 and 2."
    assert bench.bytes_of("app.py") == b"x = one\ny = one\nz = 2\n"


async def test_all_is_refused_for_several_places_of_a_file_that_was_not_read(bench: Bench) -> None:
    bench.write("app.py", "x = 1\ny = 1\n")

    with pytest.raises(ToolError, match="at lines 1 and 2, and you have not read the file"):
        await bench.call(edit_file, path="app.py", old="1", new="2", all=True)
    assert bench.bytes_of("app.py") == b"x = 1\ny = 1\n"


async def test_a_file_that_changed_since_it_was_read_is_not_edited_and_its_text_is_quoted(bench: Bench) -> None:
    bench.write("app.py", "x = 1\n")
    await bench.call(read_file, path="app.py")
    bench.write("app.py", "x = 1  # by the user\n")

    with pytest.raises(StaleDocumentError, match="by the user"):
        await bench.call(edit_file, path="app.py", old="x = 1", new="x = 2")
    assert bench.bytes_of("app.py") == b"x = 1  # by the user\n"


async def test_an_empty_old_and_one_that_changes_nothing_are_errors(bench: Bench) -> None:
    bench.write("app.py", APP)
    bench.write("empty.txt")

    with pytest.raises(ToolError, match="`old` is empty"):
        await bench.call(edit_file, path="app.py", old="", new="x")
    with pytest.raises(ToolError, match="are the same"):
        await bench.call(edit_file, path="app.py", old="3.14", new="3.14")
    with pytest.raises(ToolError, match=r"empty\.txt is empty"):
        await bench.call(edit_file, path="empty.txt", old="x", new="y")


async def test_a_missing_file_is_an_error_that_names_the_nearest(bench: Bench) -> None:
    bench.write("app.py", APP)

    with pytest.raises(ToolError, match=r"Did you mean app\.py"):
        await bench.call(edit_file, path="apps.py", old="a", new="b")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"alpha\r\nbeta\r\ngamma", b"alpha\r\nBETA\r\ngamma"),
        (b"\xef\xbb\xbfalpha\nbeta\n", b"\xef\xbb\xbfalpha\nBETA\n"),
        (b"b\xe9ta beta\n", b"b\xe9ta BETA\n"),
        ("alpha\nbeta\n".encode("utf-16"), "alpha\nBETA\n".encode("utf-16")),
        (b"alpha\r\nbeta\ngamma\r\n", b"alpha\r\nBETA\ngamma\r\n"),
        (b"alpha\rbeta\r", b"alpha\rBETA\r"),
    ],
    ids=["crlf", "bom", "latin-1", "utf-16", "mixed", "cr"],
)
async def test_encoding_line_endings_and_mode_stay(bench: Bench, before: bytes, after: bytes) -> None:
    file = bench.write("file.txt", before)
    file.chmod(0o755)

    await bench.call(edit_file, path="file.txt", old="beta", new="BETA")

    assert bench.bytes_of("file.txt") == after
    assert file.stat().st_mode & 0o777 == 0o755


async def test_a_character_that_the_encoding_lacks_is_refused_before_the_user_is_asked(bench: Bench) -> None:
    bench.write("latin.txt", b"b\xe9ta\n")

    with pytest.raises(ToolError, match="latin\\.txt is encoded in latin-1, which cannot represent '\\\\u20ac'"):
        await bench.plan(edit_file, path="latin.txt", old="ta", new="€")


async def test_half_a_character_is_refused(bench: Bench) -> None:
    bench.write("app.py", APP)

    with pytest.raises(ToolError, match=r"cannot represent '\\ud800'"):
        await bench.plan(edit_file, path="app.py", old="3.14", new="\ud800")


async def test_line_breaks_match_those_of_the_file_and_the_new_ones_are_like_them(bench: Bench) -> None:
    bench.write("crlf.txt", b"one\r\ntwo\r\nthree\r\n")

    result = await bench.call(edit_file, path="crlf.txt", old="one\ntwo\n", new="one\nand a half\ntwo\n")

    assert bench.bytes_of("crlf.txt") == b"one\r\nand a half\r\ntwo\r\nthree\r\n"
    assert result == "Edited crlf.txt: +1 −0 lines; 1 replacement at line 2."


async def test_text_that_differs_in_line_breaks_only_is_not_unique(bench: Bench) -> None:
    bench.write("mixed.txt", b"a\nb\r\na\r\nb\r\n")

    with pytest.raises(ToolError, match=r"occurs 2 times in mixed\.txt, at lines 1 and 3"):
        await bench.call(edit_file, path="mixed.txt", old="a\nb", new="c")


async def test_in_a_mixed_file_new_lines_are_like_those_at_the_place(bench: Bench) -> None:
    bench.write("mixed.txt", b"a\nb\nc\r\nd\r\n")

    await bench.call(edit_file, path="mixed.txt", old="c", new="c1\nc2")
    await bench.call(edit_file, path="mixed.txt", old="a", new="a1\na2")

    assert bench.bytes_of("mixed.txt") == b"a1\na2\nb\nc1\r\nc2\r\nd\r\n"


async def test_line_endings_themselves_can_be_replaced(bench: Bench) -> None:
    bench.write("mixed.txt", b"a\r\nb\nc\n")

    await bench.call(edit_file, path="mixed.txt", old="a\r\n", new="a\n")

    assert bench.bytes_of("mixed.txt") == b"a\nb\nc\n"


async def test_a_line_ending_that_is_not_there_cannot_be_replaced(bench: Bench) -> None:
    bench.write("unix.txt", b"a\nb\n")

    with pytest.raises(ToolError, match="differ only in line endings"):
        await bench.call(edit_file, path="unix.txt", old="b\r\n", new="b\n")


# What the model is told where its text is not there


async def explained(bench: Bench, text: str, old: str) -> str:
    bench.write("app.py", text)
    with pytest.raises(ToolError) as caught:
        await bench.call(edit_file, path="app.py", old=old, new="something else")
    assert bench.bytes_of("app.py").decode() == text
    return str(caught.value)


async def test_the_nearest_text_is_quoted_with_its_line_numbers(bench: Bench) -> None:
    assert await explained(bench, APP, "def aera(r):\n    return 3.1415 * r * r\n") == (
        "`old` was not found in app.py. The nearest text is at line 4:\n"
        "     4\tdef area(r):\n"
        "     5\t    return 3.14 * r * r"
    )


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        (
            APP,
            "def area(r):\n  return 3.14",
            "differs only in indentation, at line 4:\n     4\tdef area(r):\n     5\t    ret",
        ),
        (
            "if x:\n\treturn 1\n",
            "if x:\n    return 1",
            "differs only in indentation (the file indents with tabs), at line 1",
        ),
        ("if x:\n    return 1\n", "if x:\n\treturn 1", "in indentation (the file indents with spaces), at line 1"),
        ("a\nx = 1  \ny = 2\n", "x = 1\ny = 2", "differs only in trailing spaces, at line 2"),
        (
            "f(a,\n  b)\n",
            "f(a, b)",
            "differs only in whitespace or line breaks, at line 1:\n     1\tf(a,\n     2\t  b)",
        ),
        ("a\rb\nc\n", "a\nb\nc", "differs only in whitespace or line breaks, at line 1"),
        ("x\nDef Area()\n", "def area()", "differs only in upper and lower case, at line 2"),
        ("say ‘hello’ — now\n", "say 'hello' - now", "differs only in characters that look alike"),
        (APP, "     4\tdef area(r):\n     5\t    return 3.14 * r * r", "The file contains it without the line numbers"),
        (APP, "4: def area(r):\n5:     return 3.14 * r * r", "The file contains it without the line numbers"),
        (APP, "def area(r):\\n    return", "The file contains it without the backslashes"),
        (APP, "zebra crossing", "Nothing in the file resembles `old`. Read the file with read_file"),
        (APP, "   \n  \n", "Nothing in the file resembles `old`."),
    ],
)
async def test_what_differs_is_said(bench: Bench, text: str, old: str, said: str) -> None:
    assert said in await explained(bench, text, old)


async def test_numbers_that_do_stand_in_the_file_are_not_taken_for_line_numbers(bench: Bench) -> None:
    bench.write("table.tsv", "1\tone\n2\ttwo\n")

    await bench.call(edit_file, path="table.tsv", old="1\tone\n2\ttwo", new="1\tuno\n2\tdue")

    assert bench.bytes_of("table.tsv") == b"1\tuno\n2\tdue\n"


async def test_a_long_text_that_is_missing_is_quoted_in_part(bench: Bench) -> None:
    text = "".join(f"value_{n} = compute({n})\n" for n in range(100))
    message = await explained(bench, text, text.replace("compute(50)", "computed(50)"))

    assert "The nearest text is at line 1:\n     1\tvalue_0 = compute(0)\n" in message
    assert message.endswith("    20\tvalue_19 = compute(19)\n[… 80 more lines]")


@pytest.mark.timeout(20)
async def test_a_large_file_is_compared_in_bounded_time(bench: Bench) -> None:
    line = "    value = compute(first_argument, second_argument)  # and so on\n"
    text = "".join(f"{line[:-1]} {n}\n" for n in range(60_000))

    message = await explained(bench, text, (line * 30).replace("compute", "komputieren"))

    assert "The nearest text is at line" in message
