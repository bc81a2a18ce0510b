"""Entries of a session list, and how they are computed incrementally from a journal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from pygent_ls.agent.context.conversation_text import utf8
from pygent_ls.agent.events import Finished
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Message, TextBlock, Usage
from pygent_ls.sessions.export.exporter import Exportable
from pygent_ls.sessions.journal.decoder import ParsedLine, UnreadableError, event_of, parsed, record_of
from pygent_ls.sessions.journal.files import JournalLine
from pygent_ls.sessions.journal.records import (
    Agents,
    Begun,
    Cut,
    Opened,
    Queued,
    Record,
    Said,
    Shortened,
    Spent,
    State,
    Told,
)
from pygent_ls.sessions.journal.replay import MOST_SEQ
from pygent_ls.sessions.saved_format.writer import timestamp
from pygent_ls.sessions.titles import UNNAMED

BEGINNINGS = ("turn_queued", "turn_started")
"""Events that begin a turn."""

_EVENT = b'{"v":1,"type":"event","seq":'
_PASSING = tuple(
    b'"type":"%s"}}' % kind
    for kind in (
        *(b"text_delta", b"thinking_delta", b"tool_progress", b"text", b"thinking"),
        b"tool_call_delta",
        *(b"tool_call", b"tool_result", b"usage", b"plan", b"hook", b"notice"),
    )
)
"""Beginning and endings of the lines that only advance the number of the last event. Nearly all lines are such."""


class Listable(Exportable, Protocol):
    """A session with all its data: in memory, or just loaded."""

    @property
    def mode(self) -> Mode: ...
    @property
    def last_seq(self) -> int: ...


class SessionEntry(Struct, frozen=True, kw_only=True):
    """A session in a list."""

    id: str
    name: str
    working_directory: Path
    created_at: datetime
    updated_at: datetime
    agent: str
    model: str
    mode: Mode
    usage: Usage
    n_messages: int
    last_seq: int
    is_interrupted: bool = False
    """Whether its last turn was interrupted when its daemon ended, and the session has not continued since."""

    @classmethod
    def of(cls, session: Listable, *, is_interrupted: bool = False) -> SessionEntry:
        """Return the entry of a session."""
        return cls(
            id=session.id,
            name=session.name,
            working_directory=session.working_directory,
            created_at=session.created_at,
            updated_at=session.updated_at,
            agent=session.agent,
            model=session.model,
            mode=session.mode,
            usage=session.usage,
            n_messages=len(session.messages),
            last_seq=session.last_seq,
            is_interrupted=is_interrupted,
        )

    @property
    def is_used(self) -> bool:
        """Whether it has messages or usage, or was named. Editors create sessions that are never used, and each script
        that runs a command leaves one."""
        return self.n_messages > 0 or not self.usage.is_nothing or self.name != UNNAMED

    @property
    def place(self) -> str:
        """Sort key in a list: when the session was used, to the microsecond, then its id."""
        return f"{timestamp(self.updated_at)} {self.id}"


def meant(wanted: str, sessions: Iterable[SessionEntry]) -> list[SessionEntry]:
    """Return the session with that id, or else those whose id starts with the text or that have it as their name."""
    found = [each for each in sessions if each.id.startswith(wanted) or each.name == wanted] if wanted else []
    return [each for each in found if each.id == wanted] or found


class Put(Struct, frozen=True):
    """The text of a message at that position in the conversation."""

    place: int
    turn_id: str
    text: str


class CutAt(Struct, frozen=True):
    """The messages at that position and after it were removed from the conversation."""

    place: int


Change = Put | CutAt


class Facts(Struct):
    """What is known of a session from its journal so far. Reading further lines updates it."""

    begun: Begun | None = None
    state: State | None = None
    spent: Spent | None = None
    updated_at: datetime | None = None
    n_messages: int = 0
    last_seq: int = 0
    open_turns: set[str] = field(default_factory=set[str])
    is_unpaid: bool = False
    """Whether the usage of the last turn is not in `spent` yet."""
    is_damaged: bool = False
    """Whether relevant records were lost."""

    def add(self, lines: Iterable[JournalLine]) -> list[Change]:
        """Process the next lines; return the changes to the searchable text."""
        changes: list[Change] = []
        passed: dict[int, bytes] = {}
        for line in lines:
            if line.data.startswith(_EVENT) and line.data.endswith(_PASSING):
                seq = line.data[len(_EVENT) : line.data.find(b",", len(_EVENT))]
                passed[int(seq) if seq.isdigit() else 0] = line.data
                continue
            try:
                given = parsed(line.data)
                if given["type"] == "event":
                    self._happened(given)
                else:
                    changes += self._taken(record_of(given))
            except UnreadableError:
                self.is_damaged = True
        self._passed(passed)
        return changes

    def _passed(self, events: Mapping[int, bytes]) -> None:
        """Process the last readable one of these events."""
        for seq in sorted(events, reverse=True):
            if seq <= self.last_seq:
                return
            with contextlib.suppress(UnreadableError):
                self._happened(parsed(events[seq]))

    def _happened(self, given: ParsedLine) -> None:
        """Process an event. Most only advance `last_seq`."""
        try:
            kind, turn_id, seq = given["event"]["type"], given["turn"], given["seq"]
            if not isinstance(seq, int) or seq > MOST_SEQ:
                raise TypeError
            if kind in BEGINNINGS:
                self.open_turns.add(event_of(given).turn_id)
            elif kind == "finished" and turn_id in self.open_turns:
                finished = event_of(given).event
                self.open_turns.discard(turn_id)
                self.is_unpaid |= isinstance(finished, Finished) and not finished.usage.is_nothing
        except (ValueError, KeyError, TypeError):
            raise UnreadableError("damaged") from None
        self.last_seq = max(self.last_seq, seq)

    def _taken(self, record: Record) -> list[Change]:
        match record:
            case Begun():
                self.begun = self.begun or record
            case State():
                self.state, self.updated_at = record, record.at
            case Spent():
                self.spent, self.updated_at = record, record.at
                self.is_unpaid = False
            case Said(index=index, message=message):
                put = Put(index, message.turn_id, words_of(message))
                is_next = index == self.n_messages
                self.is_damaged |= not is_next
                self.n_messages = index + 1
                return [put] if is_next else [CutAt(index), put]
            case Cut(length=length):
                self.is_damaged |= length > self.n_messages
                self.n_messages = min(self.n_messages, length)
                return [CutAt(length)]
            case Queued(turn=turn_id, steers=None):
                self.open_turns.add(turn_id)
            case Queued() | Opened() | Told() | Shortened() | Agents():
                pass
        return []

    @property
    def are_whole(self) -> bool:
        """Whether the facts are complete. Otherwise the whole journal is needed, once no daemon owns the session."""
        is_cut = self.is_damaged or self.is_unpaid or bool(self.open_turns)
        return not is_cut and self.begun is not None and self.state is not None

    def entry(self, session_id: str) -> SessionEntry | None:
        """Return the session's entry from these facts; None if they do not suffice."""
        if self.state is None:
            return None
        created_at = self.begun.created if self.begun else self.state.at  # a session in memory has no first record
        return SessionEntry(
            id=session_id,
            name=self.state.name,
            working_directory=self.begun.working_directory if self.begun else Path(),
            created_at=created_at,
            updated_at=max(created_at, self.updated_at or created_at),
            agent=self.state.agent,
            model=self.state.model,
            mode=self.state.mode,
            usage=self.spent.usage if self.spent else Usage(),
            n_messages=self.n_messages,
            last_seq=self.last_seq,
        )


def words_of(message: Message) -> str:
    """Return the text that the user and the model wrote in a message, without attachments and tool results."""
    parts = [each.text for each in message.blocks if isinstance(each, TextBlock) and each.is_typed]
    return utf8("\n".join(part for part in parts if part.strip())).replace("\0", " ")
