"""The text around a cursor, parts of other files, and what is left of an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.completion.context import AFTER_CHARS, BEFORE_CHARS, around, snippets_of
from pygent_ls.editors.lsp.completion.shaping import MAX_LINES, is_enough, shaped

TEXTS = st.text(alphabet="ab (\n", max_size=60)


@given(TEXTS, st.integers(0, 60))
def test_a_short_text_is_sent_whole(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    assert around(text, offset) == (text[:offset], text[offset:])


@given(st.integers(0, 40_000))
def test_of_a_long_text_whole_lines_near_the_cursor_are_sent(offset: int) -> None:
    text = "".join(f"line {number}\n" for number in range(4_000))
    offset = min(offset, len(text))
    before, after = around(text, offset)

    assert before + after in text
    assert len(before) <= BEFORE_CHARS
    assert len(after) <= AFTER_CHARS
    assert offset - len(before) == 0 or text[offset - len(before) - 1] == "\n"


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_offered_is_a_part_of_the_answer(text: str, before: str, after: str) -> None:
    offered = shaped(text, before, after)

    assert offered in text
    assert offered == "" or offered.strip()
    assert offered.count("\n") < MAX_LINES


@pytest.mark.parametrize(
    ("text", "before", "after", "offered"),
    [
        ("3.14", "x = ", "\ny = 2\n", "3.14"),
        ("x = 3.14", "x = ", "\ny = 2\n", "3.14"),
        ("```python\n3.14\n```", "x = ", "\n", "3.14"),
        ("r, 2)", "pow(", ")\n", "r, 2"),
        ("r\nmore\n", "f(", ", other)\n", "r"),
        ("3.14\ny = 2\n", "x = ", "\ny = 2\n", "3.14"),
        ("  \n", "x = ", "\n", ""),
        ("a\nb\n\n", "", "", "a\nb"),
    ],
)
def test_what_stands_there_already_is_not_offered(text: str, before: str, after: str, offered: str) -> None:
    assert shaped(text, before, after) == offered


def test_within_a_line_the_first_line_of_an_answer_is_enough() -> None:
    assert is_enough("one\n", " rest of the line\n")
    assert not is_enough("one\n", ")\nnext\n")


def test_the_most_alike_part_is_next_to_the_cursor() -> None:
    good = "x\n" * 100 + "class Invoice:\n    customer: str\n    amount: int\n    currency: str\n"
    poor = "customer amount currency Invoice_other\nInvoice\n"
    others = [(Path("/a"), "a", good), (Path("/b"), "b", poor), (Path("/c"), "c", "nothing")]

    found = snippets_of("# Invoice customer amount currency class\n", others)

    assert [each.name for each in found] == ["b", "a"]
    assert "currency: str" in found[-1].text
    assert not found[-1].text.startswith("x\nx\n" * 20)
