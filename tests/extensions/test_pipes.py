"""Lines of an output that arrives in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import ToolError
from pygent_ls.extensions.pipes import OutputLines


@given(st.lists(st.text("ab\n", max_size=6), max_size=8))
def test_however_an_output_is_cut_its_complete_lines_are_the_same(pieces: list[str]) -> None:
    lines = OutputLines(100, "too long")

    found = [line for piece in pieces for line in lines.feed(piece)]

    assert found == "".join(pieces).split("\n")[:-1]


def test_a_line_that_is_too_long_is_the_problem_once_those_before_it_are_taken() -> None:
    lines, found = OutputLines(3, "too long"), list[str]()

    with pytest.raises(ToolError, match="too long"):
        found.extend(lines.feed("a long one\nabcd"))

    assert found == ["a long one"]
