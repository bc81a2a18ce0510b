"""Texts in arguments are decoded piece by piece as a parser decodes the whole, wherever the pieces are cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.model.argument_stream import ArgumentStream

KEYS = st.text('abé_"\\\n', min_size=1, max_size=6)
TEXTS = st.text(
    st.one_of(st.sampled_from('ab"\\\n\t/\u00e9\U0001f600{}[],:'), st.characters(exclude_categories=["Cs"]))
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


def pieces_of(text: str, cuts: Sequence[int]) -> Iterator[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return (text[start:end] for start, end in pairwise(places))


def texts_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text that is not empty, in order, with its name."""
    if isinstance(value, str) and value:
        yield name, value
    inner: Iterable[tuple[object, Any]] = ()
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value).items()
    elif isinstance(value, list):
        inner = enumerate(cast("list[Any]", value))
    for key, each in inner:
        yield from texts_in(each, f"{name}.{key}" if name else str(key))


def read(pieces: Iterator[str]) -> list[tuple[str, str]]:
    stream = ArgumentStream()
    joined: list[tuple[str, str]] = []
    for piece in pieces:
        for name, text in stream.feed(piece):
            if joined and joined[-1][0] == name:
                joined[-1] = (name, joined[-1][1] + text)
            else:
                joined.append((name, text))
    return joined


@given(arguments=ARGUMENTS, cuts=st.lists(st.integers(0, 999)), ascii_only=st.booleans(), indent=st.booleans())
def test_the_pieces_are_the_texts_of_the_whole(
    arguments: dict[str, Any], cuts: list[int], ascii_only: bool, indent: bool
) -> None:
    text = json.dumps(arguments, ensure_ascii=ascii_only, indent=2 if indent else None)

    assert read(pieces_of(text, cuts)) == list(texts_in(arguments))


@given(text=st.text('{}[]",:\\u0dDc8 ab\n', max_size=80), cuts=st.lists(st.integers(0, 99)))
def test_broken_json_raises_nothing_and_every_piece_can_be_sent(text: str, cuts: list[int]) -> None:
    for name, piece in read(pieces_of(text, cuts)):
        f"{name}{piece}".encode()


def test_halves_of_surrogate_pairs_are_joined_or_replaced() -> None:
    assert read(iter(['{"a": "\\ud83d', "\\ude00 \\ud83d x \\ude00 \\ud83", 'd"}'])) == [
        ("a", "\U0001f600 \ufffd x \ufffd \ufffd")
    ]


def test_what_is_not_an_object_or_too_deep_is_not_followed() -> None:
    assert read(iter(['"a text"'])) == []
    assert read(iter(['{"a": ' + "[" * 70 + '"deep"'])) == []
    assert read(iter(['{"a": "b"} {"c": "d"}'])) == [("a", "b")]


def test_a_text_in_many_pieces_takes_the_time_of_its_length() -> None:
    stream = ArgumentStream()
    stream.feed('{"content": "')
    piece = "some words \\n and more"

    assert sum(len(text) for _ in range(50_000) for _, text in stream.feed(piece)) == 50_000 * (len(piece) - 1)
