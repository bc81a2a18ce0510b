"""Markdown on a terminal: the same however it comes, nothing lost, nothing changed once it is written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.terminal.markdown import MarkdownStream

ANSWER = """# Title

A paragraph that is long enough to be wrapped over more than one line of the terminal.
Its second line.

Some **bold** and `code`, [a link](http://e.example/a) and <b>tags</b>.

- one
- two

1. first
2. second

```python

def f():
    return "```"
```

| a | b |
|---|---|
| 1 | 2 |

> quoted

The end"""

BLOCKS = st.sampled_from(
    (
        *("words and more words, so many that they do not fit in one line", "# head", "- item", "2. item", "> q"),
        *("```\ncode\n```", "a *b* c", "", "---", "===", "| a |\n|---|\n| b |", "~~~\nnot closed", "    indented"),
        *("`a", "<div>", "$x$", "\t", "a  "),
    )
)


def rendered(text: str, *, size: int = 1_000, width: int = 40, coloured: bool = False) -> str:
    stream = MarkdownStream(lambda: width, coloured=coloured)
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join(pieces) + stream.close()


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_an_answer_is_shown_without_its_marks() -> None:
    shown = rendered(ANSWER, width=70)

    assert "Some bold and code, a link (http://e.example/a) and" in shown
    assert "\n\n\n" not in shown
    assert "<b>tags</b>" in shown
    assert " • one\n • two\n" in shown
    assert '  def f():\n      return "```"\n' in shown
    assert "**" not in shown


@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_it_is_the_same_in_whatever_pieces_it_comes(size: int) -> None:
    assert rendered(ANSWER, size=size) == rendered(ANSWER)


@given(st.lists(BLOCKS, max_size=8), st.integers(1, 9), st.booleans())
def test_no_word_is_lost_and_none_comes_twice(blocks: list[str], size: int, coloured: bool) -> None:
    text = "\n".join(blocks)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", rendered(text, size=size, width=200, coloured=coloured))

    expected = words(re.sub(r"^(```|~~~).*|^\d\.|^ *\|?-{3}.*", "", text, flags=re.MULTILINE))
    assert words(re.sub(r"^ \d ", "", shown, flags=re.MULTILINE)) == expected


def test_a_paragraph_without_marks_is_shown_line_by_line() -> None:
    stream = MarkdownStream(lambda: 20, coloured=False)

    assert stream.feed("words that are so many that they fill some lines") == "words that are so\nmany that they fill\n"
    assert stream.feed(" of it") == ""
    assert stream.close() == "some lines of it\n"


def test_what_would_act_on_the_terminal_is_spelled_out() -> None:
    assert "\x1b" not in rendered("a \x1b]0;title\x07 b\n\n```\n\x1b[2J\n```")


def test_a_link_whose_text_is_its_address_is_shown_once() -> None:
    stream = MarkdownStream(lambda: 80, coloured=False)

    shown = stream.feed("See <http://e.example/a> and [http://e.example/b](http://e.example/b).\n\n")

    assert shown == "See http://e.example/a and http://e.example/b.\n"


def test_one_empty_line_stands_between_coloured_blocks() -> None:
    stream = MarkdownStream(lambda: 80, coloured=True)

    shown = stream.feed("One `code`.\n\n| a |\n|---|\n| 1 |\n\n```python\nx = 1\n```\n\nEnd.\n\n")

    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert [line for line in plain.split("\n") if not line.strip()] == ["", "", "", ""]
    assert "40m" not in shown
