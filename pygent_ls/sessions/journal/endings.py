"""How a journal's turns ended, by what their last events say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pygent_ls.agent.events import Finished
from pygent_ls.sessions.journal.files import Line

_FINISHED = b'"type":"finished"'
"""What the lines have in them that are looked at."""


def endings_told(lines: Iterable[Line]) -> Mapping[str, Finished]:
    """The last event of each turn, by the turn's id."""
    from pygent_ls.sessions.journal.reading import UnreadableError, event_of, parsed

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
