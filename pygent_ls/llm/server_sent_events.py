"""Parser of `text/event-stream` bytes that arrive in any pieces. Pure.

httpx-sse is not used: it is slower (2 µs per event instead of 1, benchmarks/model_call.py), it imports httpx, which
costs 0.1 s and 11 MB although aiohttp does the work, and it does not limit the memory that an endless line takes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_EVENT_BYTES = 16_000_000
"""Maximum size of one event: far above any real answer, and small enough to hold in memory."""

_LINE_END = re.compile(rb"\r\n|\n|\r")

_BOM = b"\xef\xbb\xbf"


class SentEvent(NamedTuple):
    """One event; `name` is empty if the server sends none."""

    name: str
    data: str


class TooLongError(ValueError):
    """An event is longer than `MAX_EVENT_BYTES`."""


class EventReader:
    """Parses one stream, piece by piece; comments, ids and retry times are dropped.

    Lines end with CR, LF or both, as the standard says. A line `error: DATA` is an event named `error`.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._tail = bytearray()
        """Bytes after the last line end; a CR at their end may be half of a CRLF."""
        self._is_first = True
        self._name = b""
        self._data: list[bytes] = []
        self._n_bytes = 0

    def feed(self, piece: bytes) -> list[SentEvent]:
        """Return the events that the piece completes. Raises `TooLongError`."""
        if not (self._tail or self._data or self._name):
            piece = piece.lstrip(b"\r\n")  # empty lines before an event have no meaning, and there may be millions
        ends_here = b"\n" in piece or b"\r" in piece or self._tail.endswith(b"\r")
        if not ends_here:
            self._tail += piece
            self._check(len(self._tail))
            return []
        text = bytes(self._tail) + piece if self._tail else piece
        held = b"\r" if text.endswith(b"\r") else b""
        body = text[:-1] if held else text
        lines = _LINE_END.split(body) if b"\r" in body else body.split(b"\n")
        self._tail = bytearray(lines.pop() + held)
        events: list[SentEvent] = []
        for line in lines:
            self._take(line, events)
        return events

    def end(self) -> list[SentEvent]:
        """Return the last event, if the server leaves out the empty line after it."""
        events: list[SentEvent] = []
        for line in (bytes(self._tail).removesuffix(b"\r"), b""):
            self._take(line, events)
        self._tail.clear()
        return events

    def _take(self, line: bytes, events: list[SentEvent]) -> None:
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        if not line:
            if self._data:
                events.append(SentEvent(_text(self._name), _text(b"\n".join(self._data))))
            self._name, self._data, self._n_bytes = b"", [], 0
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            value = value.removeprefix(b" ")
            self._check(len(value))
            self._data.append(value)
            self._n_bytes += len(value) + 1
        elif field == b"event":
            self._name = value.removeprefix(b" ")
        elif field == b"error":  # not a standard field; llama.cpp and GPUStack send errors this way
            events.append(SentEvent("error", _text(value.removeprefix(b" "))))

    def _check(self, n_more: int) -> None:
        if self._n_bytes + n_more > self._max_event_bytes:
            raise TooLongError(f"an event of more than {self._max_event_bytes} bytes")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
