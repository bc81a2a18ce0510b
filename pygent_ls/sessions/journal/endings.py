"""How a journal's turns ended, read from their last events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pygent_ls.agent.events import Finished
from pygent_ls.sessions.journal.decoder import UnreadableError, event_of, parsed
from pygent_ls.sessions.journal.files import JournalLine

_FINISHED = b'"type":"finished"'
"""Byte string that identifies the lines to parse."""


def endings_told(lines: Iterable[JournalLine]) -> Mapping[str, Finished]:
    """Return the last event of each turn, by turn id."""

    found: dict[str, Finished] = {}
    for line in lines:
        if _FINISHED in line.data:
            try:
                told = event_of(parsed(line.data))
            except (UnreadableError, ValueError, KeyError, TypeError):
                continue
            if isinstance(told.event, Finished):
                found[told.turn_id] = told.event
    return found
