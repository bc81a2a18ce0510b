"""Minimal replacements: they give the new text, and are such as editors can carry out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.documents.minimal_edits import Replacement, at_most, minimal_edits
from pygent_ls.editors.lsp.documents.positions import apply_change, position_at
from tests.house.growth import limited

LINES = st.sampled_from(["a", "b", "", "    x = 1", "é😀", "\ud83d\ude00", "y\x0cz", "same"])
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r", ""])
TEXTS = st.lists(st.tuples(LINES, ENDS).map("".join), max_size=14).map("".join)
RAW_TEXTS = st.text(st.sampled_from("a\r\n\ud83d\ude00"), max_size=12)
PAIRS = st.tuples(TEXTS, TEXTS) | st.tuples(RAW_TEXTS, RAW_TEXTS)


def apply_edits(old: str, edits: Sequence[Replacement]) -> str:
    """The text after these replacements, which are in ascending order and do not overlap."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += old[done : edit.start], edit.text
        done = edit.end
    return "".join(parts) + old[done:]


@given(pair=PAIRS)
def test_the_edits_give_exactly_the_new_text(pair: tuple[str, str]) -> None:
    old, new = pair

    assert apply_edits(old, minimal_edits(old, new)) == new


def splits(text: str, offset: int) -> bool:
    around = text[max(0, offset - 1) : offset + 1] if offset else ""
    surrogates = len(around) == 2 and "\ud800" <= around[0] <= "\udbff" and "\udc00" <= around[1] <= "\udfff"
    return around == "\r\n" or surrogates


@given(pair=PAIRS)
def test_edits_are_in_order_apart_and_never_inside_a_line_break_or_a_surrogate_pair(pair: tuple[str, str]) -> None:
    old, new = pair
    shift, last_end = 0, -1
    for edit in minimal_edits(old, new):
        assert last_end < edit.start <= edit.end
        assert old[edit.start : edit.end] != edit.text
        assert not splits(old, edit.start)
        assert not splits(old, edit.end)
        assert not splits(new, edit.start + shift)
        shift += len(edit.text) - (edit.end - edit.start)
        assert not splits(new, edit.end + shift)
        last_end = edit.end


@given(pair=st.tuples(TEXTS, TEXTS))
def test_an_editor_that_applies_them_from_the_end_has_the_new_text(pair: tuple[str, str]) -> None:
    old, new = pair
    buffer = old
    for edit in reversed(minimal_edits(old, new)):
        start, end = position_at(old, edit.start, "utf-16"), position_at(old, edit.end, "utf-16")
        buffer = apply_change(buffer, start, end, edit.text, "utf-16")

    assert buffer == new


@given(pair=PAIRS, n_edits=st.integers(1, 4))
def test_few_joined_edits_give_the_same_text(pair: tuple[str, str], n_edits: int) -> None:
    old, new = pair
    edits = minimal_edits(old, new)
    joined = at_most(n_edits, old, edits)

    assert apply_edits(old, joined) == new
    assert len(joined) == min(n_edits, len(edits))
    assert all(before.end < after.start for before, after in pairwise(joined))


def test_edits_with_little_between_them_are_joined_first() -> None:
    edits = [Replacement(0, 1, "A"), Replacement(2, 3, "B"), Replacement(10, 11, "C")]

    assert at_most(2, "a-b-------c", edits) == [Replacement(0, 3, "A-B"), Replacement(10, 11, "C")]


def test_nothing_changed_is_no_edit() -> None:
    assert minimal_edits("same\n", "same\n") == []


def test_a_changed_word_is_that_word_alone() -> None:
    assert minimal_edits("def f():\n    return 1\n", "def f():\n    return 2\n") == [Replacement(20, 21, "2")]


def test_changes_far_apart_are_separate_edits() -> None:
    old = "".join(f"line {number}\n" for number in range(100))
    new = old.replace("line 3\n", "line three\n").replace("line 90\n", "").replace("line 95\n", "line 95\nmore\n")

    edits = minimal_edits(old, new)

    assert [old[edit.start : edit.end] for edit in edits] == ["3", "line 90\n", ""]
    assert [edit.text for edit in edits] == ["three", "", "more\n"]


def test_line_endings_that_change_are_replaced_whole() -> None:
    assert minimal_edits("a\r\nsame\nb", "a\nsame\nb") == [Replacement(1, 3, "\n")]
    assert minimal_edits("a\rsame\nb", "a\r\nsame\nb") == [Replacement(1, 2, "\r\n")]


def test_a_first_text_and_a_last_text_are_one_edit() -> None:
    assert minimal_edits("", "new\n") == [Replacement(0, 0, "new\n")]
    assert minimal_edits("old\n", "") == [Replacement(0, 4, "")]


def test_a_word_replaced_everywhere_stays_many_small_edits_however_alike_the_lines_are() -> None:
    old = "".join(f"line {number}\n\n" for number in range(3_000))
    new = old.replace("line", "lime")

    with limited():
        edits = minimal_edits(old, new)

    assert len(edits) == 3_000
    assert apply_edits(old, edits) == new


def test_a_huge_rewrite_with_hardly_a_line_in_common_is_quick() -> None:
    old = "".join(f"{number % 7}\n{{\n}}\n" for number in range(20_000))
    new = "".join(f"{number % 11}\n}}\n{{\n\n" for number in range(20_000))

    with limited():
        edits = minimal_edits(old, new)

    assert apply_edits(old, edits) == new
