"""The events of a stream, whatever pieces its bytes come in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.llm.server_sent_events import EventReader, SentEvent, TooLongError


def read(pieces: Sequence[bytes], max_event_bytes: int = 1000) -> list[SentEvent]:
    reader = EventReader(max_event_bytes)
    return [event for piece in pieces for event in reader.feed(piece)] + reader.end()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [("", "a"), ("", "b")]),
        (b"data:a\r\n\r\nevent: e\r\ndata: b\r\n\r\n", [("", "a"), ("e", "b")]),
        (b"data: a\r\rdata: b\r\r", [("", "a"), ("", "b")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        (b": a comment\n\ndata: a\n: another\nid: 7\nretry: 10\n\n", [("", "a")]),
        (b"data: a\ndata:\ndata:  b\n\n", [("", "a\n\n b")]),
        (b"data\n\n", [("", "")]),
        (b"event: e\n\ndata: a\n\n", [("", "a")]),
        (b"data: a", [("", "a")]),
        (b"data: a\r", [("", "a")]),
        (b"database: a\n\n", []),
        (b"\xc3\xa9\n\ndata: \xc3\xa9\xff\n\n", [("", "\u00e9\ufffd")]),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_a_stream_has_the_events_that_the_standard_says(stream: bytes, events: list[tuple[str, str]]) -> None:
    assert read([stream]) == events
    assert read([bytes([byte]) for byte in stream]) == events


LINES = st.sampled_from(
    [b"data: a", b"data:", b"data: \xc3\xa9", b"event: x", b": c", b"", b"", b"id: 1", b"data", b"\xef\xbb\xbfdata: b"]
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
) | st.binary(max_size=60)


@given(STREAMS, st.lists(st.integers(0, 200), max_size=8))
def test_any_pieces_give_the_same_events(stream: bytes, cuts: list[int]) -> None:
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    pieces = [stream[start:end] for start, end in pairwise(places)]

    assert read(pieces) == read([stream])


@pytest.mark.parametrize(
    "stream", [b"x" * 5000, b"data: " + b"x" * 5000 + b"\n", b"data: xxxxxxx\n" * 500], ids=["a line", "data", "lines"]
)
def test_an_event_without_an_end_is_given_up(stream: bytes) -> None:
    for size in (1, 100, 5000):
        with pytest.raises(TooLongError, match="1000 bytes"):
            read([stream[start : start + size] for start in range(0, len(stream), size)])


def test_what_is_no_part_of_an_event_takes_no_room() -> None:
    assert read([b": a comment of some length\n"] * 500 + [b"data: a\n\n"]) == [("", "a")]
