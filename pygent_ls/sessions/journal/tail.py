"""Follows the events of a growing journal: each once, in order. Pure except for the given read function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.decoder import UnreadableError, event_of, parsed
from pygent_ls.sessions.journal.files import JournalLine, lines_of, read_file
from pygent_ls.sessions.journal.folder import JournalFolder

_OWN = re.compile(rb'\{"v":1,"type":"(?:(event","seq":(\d{1,16}),)|(?!event"))')
"""Matches a line that this program wrote. The second group is an event's number; other records lack the first group."""


class Tail:
    """Position in a journal: its bytes and event numbers that were read.

    An event may occur twice, if a write failed half way. It may also be known before it is written, if a turn was
    interrupted, because the closing events are written only when the session continues.
    """

    def __init__(self, since_seq: int) -> None:
        """Events up to that number are already known; 0 if none are."""
        self.last_seq = since_seq
        """Number of the last event that was read or already known."""
        self.offset = 0
        """End of the last line that was read."""
        self._newest = 0

    def take(self, lines: Iterator[JournalLine], max_bytes: int) -> tuple[list[SessionEvent], bool]:
        """Return the events of about the next `max_bytes` bytes of lines, and whether that is everything.

        The lines must begin at `offset`. A line that is being written is left for the next call.
        """
        found: list[SessionEvent] = []
        begin = self.offset
        for line in lines:
            if not line.is_whole:
                break
            found += self._new(self._events_in(line.data))
            self.offset = line.end
            if line.end - begin >= max_bytes:
                return found, False
        return found, True

    def take_end(self, path_lines: Iterable[JournalLine], closing: Iterable[SessionEvent]) -> list[SessionEvent]:
        """Return the remaining events of a journal that is not being written: the last line, which may lack its line
        break, and the events that close interrupted turns."""
        last = [event for line in path_lines for event in self._events_in(line.data)]
        return list(self._new([*last, *closing]))

    def forget_the_future(self) -> None:
        """At the end of the journal, forget known events beyond it: they were lost, and their numbers are used
        again."""
        self.last_seq = min(self.last_seq, self._newest)

    def _new(self, events: Iterable[SessionEvent]) -> Iterator[SessionEvent]:
        for event in events:
            self._newest = max(self._newest, event.seq)
            if event.seq > self.last_seq:
                self.last_seq = event.seq
                yield event

    def _events_in(self, line: bytes) -> Iterator[SessionEvent]:
        """Yield the event in a line, if it can be read and is not known."""
        if own := _OWN.match(line):
            if own[1] is None:
                return
            seq = int(own[2])
            if seq <= self.last_seq:
                self._newest = max(self._newest, seq)
                return
        try:
            given = parsed(line)
            if given["type"] == "event":
                yield event_of(given)
        except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
            return


def ending(journals: JournalFolder, session_id: str, tail: Tail) -> list[SessionEvent] | None:
    """Return the remaining events of a session without an owner whose journal was read to its end; None if it has an
    owner or grows. Blocks; raises OSError if the journal is gone."""
    path = journals.path(session_id)
    assert path is not None
    size = path.stat().st_size
    if journals.is_held(session_id):
        return None
    closing: tuple[SessionEvent, ...] = ()
    with suppress(SessionError):  # no part of the session can be resumed
        closing = journals.recall(session_id).closing
    # A daemon that loads the session from here on finds what was read, and closes the turns with the same numbers.
    if journals.is_held(session_id) or path.stat().st_size != size:
        return None
    return tail.take_end(lines_of(partial(read_file, path), tail.offset), closing)
