"""Tool calls that arrive in pieces."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.llm.openai.call_fragments import CallFragments

Fragment = tuple[int | None, str, str, str]
Whole = list[tuple[str, str, str]]


def put_together(fragments: list[Fragment]) -> Whole:
    """The calls (id, name, arguments) as the loop joins them: the first id and name count."""
    calls: dict[int, tuple[str, str, str]] = {}
    collector = CallFragments()
    for fragment in fragments:
        chunk = collector.add(*fragment)
        call_id, name, arguments = calls.get(chunk.index, ("", "", ""))
        calls[chunk.index] = (call_id or chunk.id or "", name or chunk.name or "", arguments + chunk.arguments)
    assert list(calls) == list(range(len(calls))), "numbered in the order they began"
    return list(calls.values())


TWO_CALLS: Whole = [("a", "f", '{"x": 1}'), ("b", "g", '{"y": 2}')]

HABITS: dict[str, list[Fragment]] = {
    "as the format says": [
        (0, "a", "f", ""),
        (0, "", "", '{"x"'),
        (0, "", "", ": 1}"),
        (1, "b", "g", ""),
        (1, "", "", '{"y": 2}'),
    ],
    "mixed together": [(0, "a", "f", '{"x"'), (1, "b", "g", '{"y"'), (0, "", "", ": 1}"), (1, "", "", ": 2}")],
    "whole calls at index 0": [(0, "a", "f", '{"x": 1}'), (0, "b", "g", '{"y": 2}')],
    "whole calls without an index": [(None, "a", "f", '{"x": 1}'), (None, "b", "g", '{"y": 2}')],
    "pieces without an index": [
        (None, "a", "f", ""),
        (None, "", "", '{"x": 1}'),
        (None, "b", "g", ""),
        (None, "", "", '{"y"'),
        (None, "", "", ": 2}"),
    ],
    "id and name in every piece": [
        (0, "a", "f", '{"x"'),
        (0, "a", "f", ": 1}"),
        (0, "a", "f", ""),
        (1, "b", "g", '{"y": 2}'),
        (1, "b", "g", ""),
    ],
    "the index begins at 1": [(1, "a", "f", '{"x": 1}'), (2, "b", "g", '{"y": 2}')],
    "the id comes after the name": [(0, "", "f", ""), (0, "a", "", '{"x": 1}'), (1, "b", "g", '{"y": 2}')],
}


@pytest.mark.parametrize("habit", HABITS)
def test_two_calls_are_told_apart(habit: str) -> None:
    assert put_together(HABITS[habit]) == TWO_CALLS


def test_calls_without_any_id_are_told_apart_by_their_names() -> None:
    fragments: list[Fragment] = [(0, "", "f", '{"x": 1}'), (0, "", "g", '{"y"'), (0, "", "", ": 2}")]

    assert put_together(fragments) == [("", "f", '{"x": 1}'), ("", "g", '{"y": 2}')]


def test_the_same_id_at_another_index_is_another_call() -> None:
    fragments: list[Fragment] = [(0, "same", "f", "{}"), (1, "same", "f", "{}")]

    assert put_together(fragments) == [("same", "f", "{}"), ("same", "f", "{}")]


def test_a_name_that_is_repeated_without_an_id_goes_on_with_its_call() -> None:
    fragments: list[Fragment] = [(0, "", "f", '{"x"'), (0, "", "f", ": 1}"), (0, "", "f", "")]

    assert put_together(fragments) == [("", "f", '{"x": 1}')]


def test_arguments_nested_beyond_any_sense_are_passed_on() -> None:
    deep = "[" * 100_000

    assert put_together([(0, "", "f", deep), (0, "", "g", "x")]) == [("", "f", deep + "x")]


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=2), min_size=1, max_size=4),
    st.integers(1, 5),
    st.booleans(),
)
def test_any_calls_in_any_pieces_come_out_whole(inputs: list[dict[str, str]], size: int, indexed: bool) -> None:
    expected = [(f"id{n}", f"tool{n}", json.dumps(given)) for n, given in enumerate(inputs)]
    fragments: list[Fragment] = []
    for n, (call_id, name, arguments) in enumerate(expected):
        index = n if indexed else None
        fragments.append((index, call_id, name, ""))
        fragments += [(index, "", "", arguments[at : at + size]) for at in range(0, len(arguments), size)]

    assert put_together(fragments) == expected
