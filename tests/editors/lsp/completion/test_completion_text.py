"""The text around a cursor, parts of other files, and what is left of an answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.completion.context import AFTER_CHARS, BEFORE_CHARS, CompletionWindow, snippets_of, window_at
from pygent_ls.editors.lsp.completion.next_edits import change_in
from pygent_ls.editors.lsp.completion.shaping import MAX_CHARS, MAX_LINES, is_enough, shaped

TEXTS = st.text(alphabet="ab (\n", max_size=60)


@given(TEXTS, st.integers(0, 60))
def test_a_short_text_is_sent_whole(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    window = window_at(text, offset, offset)
    assert (window.before, window.after) == (text[:offset], text[offset:])
    assert (window.lead, window.trail, window.imports) == ("", "", "")


@given(st.integers(0, 40_000))
def test_of_a_long_text_whole_lines_near_the_cursor_are_sent(offset: int) -> None:
    text = "".join(f"line {number}\n" for number in range(4_000))
    offset = min(offset, len(text))
    window = window_at(text, offset, offset)
    before, after = window.before, window.after

    assert before + after in text
    assert window.lead + before + after + window.trail in text
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
        ("return 1", "def f():\n    ", "\n    return 1\n", ""),
        ("x = 1\n\n    return x", "def f():\n    ", "\n    x = 1\n    return x\n", ""),
        ("}", "", "\n}\n", "}"),
        ("return 1", "def f():\n    ", "\n    return 12\n", "return 1"),
        ("  \n", "x = ", "\n", ""),
        ("a\nb\n\n", "", "", "a\nb"),
        ("\n  foo();\n}", "function f() {", "\n}\n", "\n  foo();"),
        ("\n    return 1\n\n\ndef g():\n", "def f():", "\n", "\n    return 1"),
        ("1\n    else:\n        return 2\nprint()", "        return ", "\n", "1"),
        ("```", "x = ", "\n", ""),
        ("```python\nfoo()\n```\nThis calls foo.", "x = ", "\n", "foo()"),
        ("```python\nfoo()\n", "x = ", " + 1\n", "foo()"),
    ],
)
def test_what_stands_there_already_is_not_offered(text: str, before: str, after: str, offered: str) -> None:
    assert shaped(text, before, after) == offered


@given(st.text(max_size=200), TEXTS, TEXTS)
def test_no_answer_is_too_odd(text: str, before: str, after: str) -> None:
    is_enough(text, before, after)
    offered = shaped(text, before, after)
    assert len(offered) <= MAX_CHARS
    assert not set(offered) & set("\x00\x1b\r\u202e\u200b")


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_enough_offers_the_same_as_the_whole_answer_would(text: str, before: str, after: str) -> None:
    for length in range(len(text) + 1):
        if is_enough(text[:length], before, after):
            assert shaped(text[:length], before, after) in (shaped(text, before, after), "") or after.strip()
            break


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("one\n", "x = ", " rest of the line\n", True),
        ("one\n", "x = ", ")\nnext\n", False),
        ("``", "x = ", "\n", False),
        ("```py\n", "x = ", " + 1\n", False),
        ("```py\none\n```", "x = ", "\n", True),
        ("\n    return 1\n\nd", "def f():", "\n", True),
        ("\n    return 1\n    ", "def f():", "\n", False),
        ("x" * (MAX_CHARS + 1), "", "", True),
    ],
)
def test_reading_ends_where_nothing_more_is_offered(text: str, before: str, after: str, expected: bool) -> None:
    assert is_enough(text, before, after) is expected


@given(st.text(max_size=200), TEXTS)
def test_no_answer_about_the_next_edit_is_too_odd(answer: str, text: str) -> None:
    window = CompletionWindow(before=text, after="", lead="", trail="", imports="")
    change_in(answer, window, [])
    found = change_in(f"<old>\n{text}\n</old><new>\n{answer}\n</new>", window, [])
    if found is not None:
        lines = text.split("\n")
        assert tuple(lines[found.first : found.first + len(found.old)]) == found.old


def test_the_most_alike_part_is_next_to_the_cursor() -> None:
    good = "x\n" * 100 + "class Invoice:\n    customer: str\n    amount: int\n    currency: str\n"
    poor = "customer amount currency Invoice_other\nInvoice\n"
    others = [(Path("/a"), "a", good), (Path("/b"), "b", poor), (Path("/c"), "c", "nothing")]

    found = snippets_of("# Invoice customer amount currency class\n", others)

    assert [each.name for each in found] == ["b", "a"]
    assert "currency: str" in found[-1].text
    assert not found[-1].text.startswith("x\nx\n" * 20)


@pytest.mark.parametrize(("at", "old"), [(6, "x = [1"), (9_000, "1, ]")])
def test_a_line_that_is_cut_is_not_a_line_of_the_file(at: int, old: str) -> None:
    text = f"x = [{'1, ' * 3_000}]"
    window = window_at(text, at, at, sizes=(1_000, 1_000))
    assert (window.begins_within_line, window.ends_within_line) == (at == 9_000, at == 6)
    whole = window.before + window.after
    assert change_in(f"<old>\n{whole}\n</old>\n<new>\n{old}\n</new>", window, ()) is None
