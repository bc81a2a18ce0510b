"""Replacing text: what holds for every document and every replacement."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pygent_ls.errors import ToolError
from pygent_ls.tools.files.replacement import replace, with_line_endings_of

TEXT = st.text(alphabet="ab \n", max_size=12)
WANTED = st.text(alphabet="ab \n", min_size=1, max_size=4)
BREAKS = st.lists(st.sampled_from(["\n", "\r\n"]), max_size=40)

"""The machine may be busy."""


@st.composite
def texts_with_old(draw: st.DrawFn) -> tuple[str, str]:
    """A text and something that occurs in it."""
    old = draw(WANTED)
    return old.join(draw(st.lists(TEXT, min_size=2, max_size=4))), old


def with_breaks(text: str, breaks: list[str]) -> str:
    r"""Return the text with these line endings in turn, and `\n` after the last of them."""
    left = iter(breaks)
    return "".join(next(left, "\n") if character == "\n" else character for character in text)


def occurrences(text: str, wanted: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(wanted, at)]


@given(text=TEXT, old=WANTED, new=TEXT, breaks=BREAKS)
@example(text="aaa", old="aa", new="b", breaks=[])
def test_only_what_occurs_exactly_once_is_replaced(text: str, old: str, new: str, breaks: list[str]) -> None:
    assume(old != new)
    document = with_breaks(text, breaks)
    places = occurrences(text, old)
    if len(places) != 1:
        with pytest.raises(ToolError, match=r"occurs \d+ times" if places else "not found"):
            replace(document, old, new, name="a", every=False)
        return

    replaced = replace(document, old, new, name="a", every=False)

    assert replaced.text.replace("\r\n", "\n") == text.replace(old, new)
    assert len(replaced.lines) == 1


@given(text_and_old=texts_with_old(), new=TEXT, breaks=BREAKS)
def test_all_replaces_each_occurrence_and_counts_them(
    text_and_old: tuple[str, str], new: str, breaks: list[str]
) -> None:
    text, old = text_and_old
    assume(old != new)

    replaced = replace(with_breaks(text, breaks), old, new, name="a", every=True)

    assert replaced.text.replace("\r\n", "\n") == text.replace(old, new)
    assert len(replaced.lines) == text.count(old)


@given(text_and_old=texts_with_old(), new=TEXT, ending=st.sampled_from(["\r\n", "\r", "\n"]))
def test_a_document_with_one_kind_of_line_ending_keeps_it(text_and_old: tuple[str, str], new: str, ending: str) -> None:
    text, old = f"{text_and_old[0]}\n", text_and_old[1]
    assume(old != new)

    replaced = replace(text.replace("\n", ending), old, new, name="a", every=True)

    assert replaced.text == text.replace(old, new).replace("\n", ending)


@given(before=TEXT, old=TEXT, after=TEXT, new=TEXT, breaks=BREAKS)
def test_what_stands_around_the_place_stays_byte_for_byte(
    before: str, old: str, after: str, new: str, breaks: list[str]
) -> None:
    document = with_breaks(f"{before}X{old}{after}", breaks)

    replaced = replace(document, f"X{old}", new, name="a", every=False).text

    assert replaced.startswith(with_breaks(before, breaks))
    assert replaced.endswith(with_breaks(after, breaks[(before + old).count("\n") :]))


@given(text=TEXT, new=TEXT, breaks=BREAKS)
def test_lines_that_old_and_new_share_keep_their_endings(text: str, new: str, breaks: list[str]) -> None:
    document = with_breaks(text, breaks)

    replaced = replace(f"{document}X{document}", f"{text}X{text}", f"{text}{new}Y{text}", name="a", every=False).text

    assert replaced.startswith(document)
    assert replaced.endswith(document)


@given(text_and_old=texts_with_old(), new=TEXT)
def test_windows_line_breaks_from_the_model_mean_the_same(text_and_old: tuple[str, str], new: str) -> None:
    text, old = text_and_old
    assume(old != new)

    windows = replace(text, old.replace("\n", "\r\n"), new.replace("\n", "\r\n"), name="a", every=True)

    assert windows.text == text.replace(old, new)


@pytest.mark.parametrize(
    ("document", "text", "wanted"),
    [
        ("a\r\nb\r\n", "c\nd\n", "c\r\nd\r\n"),
        ("a\nb\n", "c\nd\n", "c\nd\n"),
        ("a\rb\r", "c\nd\n", "c\rd\r"),
        ("a\r\nb\n", "c\nd\n", "c\nd\n"),
        ("a\nb\n", "c\r\nd\n", "c\r\nd\n"),
        ("no end", "c\nd\n", "c\nd\n"),
    ],
)
def test_a_text_takes_the_endings_of_a_document_that_has_one_kind(document: str, text: str, wanted: str) -> None:
    assert with_line_endings_of(document, text) == wanted


@pytest.mark.timeout(20)
def test_breaking_up_a_file_that_is_one_long_line_takes_no_time() -> None:
    replaced = replace("a=1;" * 100_000, ";", ";\n", name="min.js", every=True)

    assert replaced.text == "a=1;\n" * 100_000
