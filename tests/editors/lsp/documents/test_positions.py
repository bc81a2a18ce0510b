"""Positions as LSP counts them, against a slow and plain definition."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.documents.edited_text import EditedText, ExpectedText
from pygent_ls.editors.lsp.documents.positions import (
    LineIndex,
    PositionEncoding,
    apply_change,
    offset_at,
    position_at,
    positions_of,
)
from pygent_ls.editors.lsp.standard import Position

ENCODINGS: list[PositionEncoding] = ["utf-8", "utf-16", "utf-32"]
ANY_ENCODING = st.sampled_from(ENCODINGS)
TEXTS = st.text(st.sampled_from("ab\n\r\r\n\x0b\x0c\x85\u2028é€😀\ud800\udc00"), max_size=40)
LONG_TEXTS = st.lists(st.sampled_from(["x" * 700, "é" * 900, "\n", "\r\n", "\r", "😀"]), max_size=12).map("".join)
POSITIONS = st.builds(Position, st.integers(0, 12), st.integers(0, 20))


def width(text: str, encoding: PositionEncoding) -> int:
    """Code units, counted one character at a time."""
    match encoding:
        case "utf-8":
            return sum(len(character.encode("utf-8", "surrogatepass")) for character in text)
        case "utf-16":
            return sum(2 if character > "\uffff" else 1 for character in text)
        case "utf-32":
            return len(text)


def plain_offset(text: str, position: Position, encoding: PositionEncoding) -> int:
    """The definition: split into lines, walk over the characters."""
    pieces = re.split(r"(\r\n|\r|\n)", text)
    lines, breaks = pieces[::2], pieces[1::2]
    if position.line >= len(lines):
        return len(text)
    before = sum(map(len, lines[: position.line])) + sum(map(len, breaks[: position.line]))
    line = lines[position.line]
    fitting = [
        n for n in range(min(len(line), position.character) + 1) if width(line[:n], encoding) <= position.character
    ]
    return before + max(fitting)


@given(text=TEXTS | LONG_TEXTS, offsets=st.lists(st.integers(0, 3_000), max_size=8).map(sorted), encoding=ANY_ENCODING)
def test_positions_in_one_pass_are_those_of_each_offset(
    text: str, offsets: list[int], encoding: PositionEncoding
) -> None:
    assert [*positions_of(text, offsets, encoding)] == [position_at(text, each, encoding) for each in offsets]


@given(text=TEXTS | LONG_TEXTS, position=POSITIONS, encoding=ANY_ENCODING)
def test_an_offset_is_what_the_definition_says(text: str, position: Position, encoding: PositionEncoding) -> None:
    expected = plain_offset(text, position, encoding)

    assert offset_at(text, position, encoding) == expected
    assert LineIndex(text, encoding).offset(position) == expected


@given(text=TEXTS | LONG_TEXTS, data=st.data(), encoding=ANY_ENCODING)
def test_a_position_leads_back_to_its_offset(text: str, data: st.DataObject, encoding: PositionEncoding) -> None:
    offset = data.draw(st.integers(0, len(text)))
    position = position_at(text, offset, encoding)

    assert LineIndex(text, encoding).position(offset) == position
    inside_break = text[offset - 1 : offset + 1] == "\r\n" if offset else False
    assert offset_at(text, position, encoding) == (offset - 1 if inside_break else offset)


@given(text=LONG_TEXTS, data=st.data())
def test_the_same_offset_is_found_in_a_text_of_many_windows(text: str, data: st.DataObject) -> None:
    text = text * 60 + "é\n"
    offset = data.draw(st.integers(0, len(text)))
    index = LineIndex(text, "utf-16")

    assert position_at(text, offset, "utf-16") == index.position(offset)
    position = Position(data.draw(st.integers(0, index.n_lines + 2)), 650)
    assert offset_at(text, position, "utf-16") == index.offset(position)


def test_only_three_things_end_a_line() -> None:
    text = "a\x0bb\x0cc\x85d\u2028e\nf\rg\r\nh"

    assert LineIndex(text, "utf-16").n_lines == 4
    assert position_at(text, text.index("e"), "utf-16") == Position(0, 8)
    assert position_at(text, text.index("h"), "utf-16") == Position(3, 0)


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_each_encoding_counts_its_own_units(encoding: PositionEncoding, character: int) -> None:
    assert position_at("aé😀b", 3, encoding) == Position(0, character)
    assert offset_at("aé😀b", Position(0, character), encoding) == 3


def test_positions_beyond_the_end_are_clamped_and_halves_of_characters_begin_them() -> None:
    assert offset_at("one\r\ntwo", Position(0, 99), "utf-16") == 3
    assert offset_at("one\r\ntwo", Position(9, 0), "utf-16") == 8
    assert offset_at("one\n", Position(1, 5), "utf-16") == 4
    assert offset_at("😀x", Position(0, 1), "utf-16") == 0
    assert offset_at("😀x", Position(0, 3), "utf-8") == 0
    assert position_at("a\r\nb", 2, "utf-16") == Position(0, 1)
    assert position_at("abc", 99, "utf-16") == Position(0, 3)


@given(text=TEXTS | LONG_TEXTS, start=POSITIONS, end=POSITIONS, new=TEXTS, encoding=ANY_ENCODING)
def test_a_change_replaces_what_lies_between_its_positions(
    text: str, start: Position, end: Position, new: str, encoding: PositionEncoding
) -> None:
    first, last = sorted((plain_offset(text, start, encoding), plain_offset(text, end, encoding)))

    assert apply_change(text, start, end, new, encoding) == text[:first] + new + text[last:]


def test_typing_and_deleting_lines_as_editors_send_them() -> None:
    text = apply_change("", Position(0, 0), Position(0, 0), "x = 1\ny = 2\n", "utf-16")
    text = apply_change(text, Position(1, 4), Position(1, 5), "3", "utf-16")
    text = apply_change(text, Position(0, 0), Position(1, 0), "", "utf-16")
    text = apply_change(text, Position(1, 0), Position(1, 0), "😀", "utf-16")

    assert text == "y = 3\n😀"


@pytest.mark.parametrize("line", ["value = compute(alpha, beta)  # a comment\n", "größe = 1  # 😀 and more\r\n"])
def test_a_change_deep_in_fifty_thousand_lines_is_quick(line: str) -> None:
    text = line * 50_000
    best_s, changed = 1.0, ""
    for _ in range(5):
        started = time.thread_time()
        changed = apply_change(text, Position(49_990, 3), Position(49_991, 1), "new", "utf-16")
        best_s = min(best_s, time.thread_time() - started)

    assert changed.count("\n") == 49_999
    assert best_s < 0.03  # some 4 ms; the walk over the lines that this guards against takes 50


CHANGES = st.lists(st.tuples(POSITIONS, POSITIONS, TEXTS), max_size=8)


@given(text=TEXTS | LONG_TEXTS, changes=CHANGES, encoding=ANY_ENCODING)
@example(text="a\rb\n", changes=[(Position(1, 0), Position(1, 1), "")], encoding="utf-16")
def test_many_changes_of_an_edited_text_do_what_each_does_alone(
    text: str, changes: list[tuple[Position, Position, str]], encoding: PositionEncoding
) -> None:
    edited, expected = EditedText(text, encoding), text
    for start, end, new in changes:
        edited.change(start, end, new)
        expected = apply_change(expected, start, end, new, encoding)
        assert edited.text == expected


@given(text=TEXTS, changes=CHANGES, which=st.integers(0, 8))
def test_an_expected_text_is_reached_exactly_when_the_edited_text_is_equal_to_it(
    text: str, changes: list[tuple[Position, Position, str]], which: int
) -> None:
    texts = [text]
    for start, end, new in changes:
        texts.append(apply_change(texts[-1], start, end, new, "utf-16"))
    expected = texts[min(which, len(changes))]
    comparison, edited = ExpectedText(expected), EditedText(text, "utf-16")

    reached = [comparison.is_reached(edited)]
    for start, end, new in changes:
        edited.change(start, end, new)
        reached.append(comparison.is_reached(edited))

    assert reached == [each == expected for each in texts]
