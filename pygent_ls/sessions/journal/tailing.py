"""The events of a journal as it grows: each once, in their order. Pure but for the reading that it is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.files import Line, lines_of, read_file
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.reading import UnreadableError, event_of, parsed
from pygent_ls.sessions.stream import SessionEvent

_OWN = re.compile(rb'\{"v":1,"type":"(?:(event","seq":(\d{1,16}),)|(?!event"))')
"""How this program begins a line: an event's number stands in the second group, other records have no first one."""


class Tail:
    """What of a journal was taken by now: bytes, and numbers of events.

    An event may stand there twice, where its write failed half way, and it may be known before it stands there, where
    a turn was cut off: what closes that is written once somebody goes on.
    """

    def __init__(self, since_seq: int) -> None:
        """Events up to that number are known already; 0: none is."""
        self.last_seq = since_seq
        """The last event that was taken, or known."""
        self.offset = 0
        """The end of the last line that was taken."""
        self._newest = 0

    def take(self, lines: Iterator[Line], max_bytes: int) -> tuple[list[SessionEvent], bool]:
        """The events of the next lines, about so many bytes of them; and whether that is all that there is.

        The lines begin at `offset`. A line that is being written is left for the next time.
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

    def take_end(self, path_lines: Iterable[Line], closing: Iterable[SessionEvent]) -> list[SessionEvent]:
        """What still comes of a journal that nobody writes: the last line, which may lack its line break, and what
        closes the turns that were cut off."""
        last = [event for line in path_lines for event in self._events_in(line.data)]
        return list(self._new([*last, *closing]))

    def forget_the_future(self) -> None:
        """All was taken that there is: what a reader knows beyond it has been lost, and its numbers come again."""
        self.last_seq = min(self.last_seq, self._newest)

    def _new(self, events: Iterable[SessionEvent]) -> Iterator[SessionEvent]:
        for event in events:
            self._newest = max(self._newest, event.seq)
            if event.seq > self.last_seq:
                self.last_seq = event.seq
                yield event

    def _events_in(self, line: bytes) -> Iterator[SessionEvent]:
        """The event that a line is, if it is one that can be read, and is not known."""
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
    """What still comes of a session that nobody holds, whose journal was taken to its end; None where somebody does,
    or it grows. Blocks; raises OSError where the journal is gone."""
    path = journals.path(session_id)
    assert path is not None
    size = path.stat().st_size
    if journals.is_held(session_id):
        return None
    closing: tuple[SessionEvent, ...] = ()
    with suppress(SessionError):  # nothing of it can be gone on with
        closing = journals.recall(session_id).closing
    # Who takes it up from here on finds what was read, and closes the turns with the same numbers
    if journals.is_held(session_id) or path.stat().st_size != size:
        return None
    return tail.take_end(lines_of(partial(read_file, path), tail.offset), closing)
