"""What a program writes for a terminal, and the answer in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.llm.cli.output import MAX_QUOTED_CHARS, Cleaner, last_words


def cleaned(text: str, size: int | None = None) -> str:
    cleaner = Cleaner()
    pieces = [text[start : start + (size or len(text))] for start in range(0, len(text), size or len(text) or 1)]
    return "".join([*map(cleaner.feed, pieces), cleaner.close()])


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("plum\n", "plum"),
        ("\n\nplum\n\n", "plum"),
        ("a\n\n  b\n\tc\n", "a\n\n  b\n\tc"),
        ("\x1b[1;32mplum\x1b[0m and \x1b[38;2;1;2;3mpear\x1b[K\n", "plum and pear"),
        ("\x1b]0;a title\x07plum \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "plum link"),
        ("\x1b(B\x1b[?25lplum\x1b[?25h\x1b=\n", "plum"),
        ("one\r\ntwo\r\n", "one\ntwo"),
        ("plum\x08\x00\x7f\n", "plum"),
        (">>> plum\n>>> ", "plum"),
        (">>> Assistant: plum\n", "plum"),
        ("Assistant: plum\nand pear", "plum\nand pear"),
        ("## Assistant\n\nplum", "plum"),
        ("## Assistants\nplum", "## Assistants\nplum"),
        ("Assistant", "Assistant"),
        ("He said:\n> plum\n", "He said:\n> plum"),
        ("He said:\n>", "He said:\n>"),
        ("The Assistant: x", "The Assistant: x"),
        ("", ""),
        (" \n", ""),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_escapes_and_prompts_are_left_out(written: str, answer: str, size: int | None) -> None:
    assert cleaned(written, size) == answer


def test_text_is_given_on_as_it_comes() -> None:
    cleaner = Cleaner()
    assert [cleaner.feed(piece) for piece in ("Hel", "lo\n", "you", " >", "\x1b[", "1mbold")] == [
        "Hel",
        "lo",
        "\nyou",
        "",
        "",
        " >bold",
    ]


output = st.text("aA:>#s\n \t\x1b[m0;]\x07\\\r", max_size=40)


@given(
    st.lists(output | st.sampled_from([">>> ", "Assistant:", "## Assistant\n", "\x1b[31m"]), max_size=5).map("".join),
    st.integers(1, 7),
)
def test_in_whatever_pieces_it_comes_the_answer_is_the_same(written: str, size: int) -> None:
    assert cleaned(written, size) == cleaned(written)


@given(st.text(st.characters(exclude_categories=["C"])))
def test_ordinary_text_loses_nothing_inside(text: str) -> None:
    assert cleaned(f"x{text}x") == f"x{text}x"


def test_the_last_words_are_the_end_without_colours() -> None:
    said = "\n".join(["line"] * 20 + ["\x1b[31merror: no key\x1b[0m", ""])
    assert last_words(said).splitlines()[-2:] == ["line", "error: no key"]
    assert len(last_words(said).splitlines()) == 8
    assert last_words("x" * 5_000) == "…" + "x" * MAX_QUOTED_CHARS
    assert last_words(" \n") == ""
