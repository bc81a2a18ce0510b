"""multi_edit makes all of its replacements, in order, or none."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.workspace import WriteText
from pygent_ls.errors import StaleDocumentError, ToolError
from pygent_ls.tools.files.multi_edit import multi_edit
from pygent_ls.tools.files.read_file import read_file
from tests.tools.tool_bench import Bench

APP = "import math\n\n\ndef area(r):\n    return 3.14 * r * r\n\n\nprint(area(2))\n"


async def test_edits_are_made_in_order_and_the_result_says_where(bench: Bench) -> None:
    bench.write("app.py", APP)

    result = await bench.call(
        multi_edit,
        path="app.py",
        edits=[
            {"old": "3.14", "new": "math.pi"},
            {"old": "print(area(2))", "new": "print(area(3))"},
            {"old": "area(3)", "new": "area(4)"},
        ],
    )

    assert result == (
        "Edited app.py: +2 −2 lines; 3 edits.\n"
        "1: 1 replacement at line 5\n2: 1 replacement at line 8\n3: 1 replacement at line 8"
    )
    assert bench.bytes_of("app.py").decode() == APP.replace("3.14", "math.pi").replace("area(2)", "area(4)")


async def test_all_edits_are_one_operation_on_what_the_user_sees(bench: Bench) -> None:
    file = bench.write("app.py", APP)
    bench.workspace.type_into(file, "one two  # typed\n")

    plan = await bench.plan(
        multi_edit, path="app.py", edits=[{"old": "one", "new": "1"}, {"old": "two", "new": "2", "all": True}]
    )

    (operation,) = plan.operations
    assert isinstance(operation, WriteText)
    assert (operation.text, operation.before and operation.before.version) == ("1 2  # typed\n", 1)


async def test_where_one_edit_fails_none_is_made_and_the_error_names_it_with_the_nearest_text(bench: Bench) -> None:
    bench.write("app.py", APP)

    with pytest.raises(ToolError) as caught:
        await bench.call(
            multi_edit,
            path="app.py",
            edits=[{"old": "3.14", "new": "math.pi"}, {"old": "print(aera(2))", "new": "print(area(3))"}],
        )

    assert str(caught.value) == (
        "Edit 2 of 2 failed, so no edit was made: `old` was not found in app.py. The nearest text is at line 8:\n"
        "     8\tprint(area(2))"
    )
    assert bench.bytes_of("app.py").decode() == APP


async def test_text_that_an_earlier_edit_changed_is_explained(bench: Bench) -> None:
    bench.write("app.py", APP)

    with pytest.raises(ToolError, match="an earlier edit of this call changes it"):
        await bench.call(
            multi_edit,
            path="app.py",
            edits=[{"old": "return 3.14", "new": "return math.pi"}, {"old": "3.14 *", "new": "4 *"}],
        )
    assert bench.bytes_of("app.py").decode() == APP


async def test_text_that_occurs_several_times_needs_all_and_all_needs_a_read(bench: Bench) -> None:
    bench.write("a.txt", "x\nx\n")

    with pytest.raises(ToolError, match="Edit 1 failed, so no edit was made: `old` occurs 2 times"):
        await bench.call(multi_edit, path="a.txt", edits=[{"old": "x", "new": "y"}])
    with pytest.raises(ToolError, match="at lines 1 and 2, and you have not read the file"):
        await bench.call(multi_edit, path="a.txt", edits=[{"old": "x", "new": "y", "all": True}])

    await bench.call(read_file, path="a.txt")
    result = await bench.call(multi_edit, path="a.txt", edits=[{"old": "x", "new": "y", "all": True}])

    assert result == "Edited a.txt: +2 −2 lines; 1 edit.\n1: 2 replacements at lines 1 and 2"
    assert bench.bytes_of("a.txt") == b"y\ny\n"


async def test_a_file_that_changed_since_it_was_read_is_not_edited(bench: Bench) -> None:
    bench.write("a.txt", "x\n")
    await bench.call(read_file, path="a.txt")
    bench.write("a.txt", "x  # by the user\n")

    with pytest.raises(StaleDocumentError, match="by the user"):
        await bench.call(multi_edit, path="a.txt", edits=[{"old": "x", "new": "y"}])


async def test_edits_that_take_each_other_back_are_refused(bench: Bench) -> None:
    bench.write("a.txt", "x\n")

    with pytest.raises(ToolError, match=r"Together the edits leave a\.txt unchanged"):
        await bench.call(multi_edit, path="a.txt", edits=[{"old": "x", "new": "y"}, {"old": "y", "new": "x"}])


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([], "`edits`"),
        ([{"old": "x"}], r"`edits\.0\.new` is missing"),
        ([{"old": "x", "new": "y", "every": True}], r"`edits\.0\.every` is not an argument"),
        ("old → new", "`edits`"),
    ],
)
async def test_arguments_of_another_shape_are_named(bench: Bench, edits: object, said: str) -> None:
    bench.write("a.txt", "x\n")

    with pytest.raises(ToolError, match=said):
        await bench.call(multi_edit, path="a.txt", edits=edits)


async def test_line_endings_stay(bench: Bench) -> None:
    bench.write("crlf.txt", b"one\r\ntwo\r\nthree")

    await bench.call(
        multi_edit, path="crlf.txt", edits=[{"old": "one\ntwo", "new": "1\n1.5\n2"}, {"old": "three", "new": "3\n4"}]
    )

    assert bench.bytes_of("crlf.txt") == b"1\r\n1.5\r\n2\r\n3\r\n4"


@given(
    words=st.lists(st.sampled_from(["a", "b", "c", "dd", "\n"]), min_size=1, max_size=12),
    edits=st.lists(
        st.tuples(st.sampled_from(["a", "b", "ab", "dd", "c\n", "z"]), st.sampled_from(["", "x", "a", "bb\n"])),
        min_size=1,
        max_size=4,
    ),
)
async def test_it_is_each_edit_after_the_other_or_nothing_at_all(
    words: list[str], edits: list[tuple[str, str]]
) -> None:
    before = "".join(words)
    expected: str | None = before
    for old, new in edits:
        occurs = sum(expected.startswith(old, at) for at in range(len(expected)))
        if occurs != 1 or old == new:
            expected = None
            break
        expected = expected.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.write("a.txt", before)
        try:
            await bench.call(multi_edit, path="a.txt", edits=[{"old": old, "new": new} for old, new in edits])
        except ToolError:
            assert expected is None or expected == before
            assert bench.bytes_of("a.txt").decode() == before
        else:
            assert bench.bytes_of("a.txt").decode() == expected
