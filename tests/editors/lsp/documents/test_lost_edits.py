"""Edits that were dropped, refused or hidden by typing: what is reported, and what the next attempt is made from."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.documents.merged_changes import holds_all_of

lines = st.lists(st.sampled_from(["a\n", "b\n", "\n", "x\n", "}\n"]), max_size=7)
place = st.integers(0, 20)
ranges = st.tuples(place, place)


@given(head=lines, x=st.sampled_from(["x\n", "\n"]), n=st.integers(1, 4), tail=lines, typed=lines, where=ranges)
@example(head=["a\n"], x="x\n", n=1, tail=["b\n"], typed=["typed\n"], where=(0, 0))
def test_one_of_equal_lines_that_was_not_taken_away_is_never_taken_for_gone(
    head: list[str], x: str, n: int, tail: list[str], typed: list[str], where: tuple[int, int]
) -> None:
    head, tail = [*head, "A\n"], ["B\n", *tail]
    before, expected = "".join([*head, *[x] * (n + 1), *tail]), "".join([*head, *[x] * n, *tail])
    at, until = sorted(min(each, len(head)) for each in where)

    typed_above = "".join([*head[:at], *typed, *head[until:], *[x] * (n + 1), *tail])
    typed_below = "".join([*head, *[x] * (n + 1), *tail, *typed])

    assert not holds_all_of(before, expected, typed_above)
    assert not holds_all_of(before, expected, typed_below)


@given(head=lines, old=lines, new=lines, tail=lines, typed=lines, where=ranges)
def test_typing_at_one_place_outside_the_edit_neither_makes_nor_hides_it(
    head: list[str], old: list[str], new: list[str], tail: list[str], typed: list[str], where: tuple[int, int]
) -> None:
    old, new = ["old\n", *old, "old end\n"], ["new\n", *new, "new end\n"]
    at, until = sorted(min(each, len(tail)) for each in where)
    tail_typed = [*tail[:at], *typed, *tail[until:]]
    before, expected = "".join(head + old + tail), "".join(head + new + tail)

    assert not holds_all_of(before, expected, "".join(head + old + tail_typed))
    assert holds_all_of(before, expected, "".join(head + new + tail_typed))


@given(head=lines, old=lines, new=lines, tail=lines, places=st.lists(place, min_size=1, max_size=4))
def test_new_lines_at_several_places_neither_make_nor_hide_an_edit(
    head: list[str], old: list[str], new: list[str], tail: list[str], places: list[int]
) -> None:
    head, tail = [*head, "A\n"], ["B\n", *tail]
    old, new = ["old\n", *old, "old end\n"], ["new\n", *new, "new end\n"]
    before, expected = "".join(head + old + tail), "".join(head + new + tail)
    head_typed, tail_typed = list(head), list(tail)
    for number, at in enumerate(places):
        typed = f"typed {number}\n"
        if number % 2:
            head_typed.insert(min(at, len(head) - 1), typed)
        else:
            tail_typed.insert(1 + min(at, len(tail) - 1), typed)

    assert not holds_all_of(before, expected, "".join(head_typed + old + tail_typed))
    assert holds_all_of(before, expected, "".join(head_typed + new + tail_typed))


def test_an_edit_that_changes_nothing_is_always_there() -> None:
    assert holds_all_of("a\n", "a\n", "typed\n")
