"""Writer of a session's journal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Protocol

from pygent_ls.agent.context.memory import Compaction
from pygent_ls.agent.edits.commit import to_its_end
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.files import FileJournal, Journal, MemoryJournal, lines_of
from pygent_ls.sessions.journal.folder import opened
from pygent_ls.sessions.journal.records import (
    AgentNote,
    Agents,
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
from pygent_ls.sessions.journal.replay import Recalled, conversation_of

PAUSE_S = 1.0
"""Seconds before a failed write is retried. Each attempt writes everything pending, which may be much."""


SYNC_S = 1.0
"""Seconds that a finished turn waits for the disk once it is cancelled again. The daemon must exit within 3 s."""

FREE_S = 1.0
"""Seconds that a session that is closed waits for work on its conversation outside turns."""


async def come_free(lock: asyncio.Lock) -> None:
    """Return when the lock is free, or after `FREE_S`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FREE_S), lock:
            pass


class JournaledSession(Protocol):
    """What of a session its journal holds."""

    messages: list[Message]
    usage: Usage
    last_turn_usage: Usage
    """Usage of the last turn that used a model."""

    @property
    def state(self) -> State:
        """Current state, without the conversation."""
        ...

    @property
    def compactions(self) -> Sequence[Compaction]:
        """All compactions of the conversation, in order."""
        ...

    @property
    def agent_notes(self) -> tuple[AgentNote, ...]:
        """Subagents in the background of which the model has to be told."""
        ...


class JournalWriter:
    """Writes a session to its journal: each call of `keep` appends what is new, in one write.

    It compares messages by identity, so new ones are found at the end of the conversation, and the cost of a write does
    not grow with the conversation.
    """

    def __init__(self, session: JournaledSession, recalled: Recalled | None = None) -> None:
        self.journal: Journal = MemoryJournal()
        self.problem: str | None = None
        """Why the last write failed; None if it succeeded."""
        self._failed_at_s: float | None = None
        self._told: str | None = None
        self._session = session
        self._written: list[Message] = list(recalled.written) if recalled else []
        self._written_state: State | None = recalled.state if recalled else None
        self._written_at = recalled.updated_at if recalled else None
        self._n_compactions_written = len(session.compactions)
        self._written_spent: tuple[Usage, Usage] | None = (Usage(), Usage())
        self._written_agents = recalled.agents if recalled else ()
        self._pending: list[Record] = []
        """Records that are not written yet."""
        self._is_synced = True
        self._closing: Sequence[SessionEvent] = ()
        if recalled is not None:
            self._written_spent = None if recalled.closing else self._spent()  # the interrupted turn counts, too
            self._pending.append(opened())
            if recalled.has_hole:
                self._pending.append(Cut(length=len(self._written)))
            self._closing = recalled.closing

    @property
    def messages(self) -> list[Message]:
        """The session's own list."""
        return self._session.messages

    def mark(self) -> int | None:
        """Return the size of the journal that holds the current conversation; None if it is in memory or cannot be
        written."""
        self.keep()
        return self.journal.size if isinstance(self.journal, FileJournal) and self.problem is None else None

    async def conversation_at(self, mark: int) -> tuple[Message, ...]:
        """Return the conversation at that size of the journal. Raises OSError."""
        lines = takewhile(lambda line: line.end <= mark, lines_of(self.journal.read))
        return await asyncio.to_thread(conversation_of, lines)

    def begin(self, journal: Journal) -> None:
        """Write the session to this journal from now on. Must be called before anything else happens in the session."""
        self.journal = journal
        closing, self._closing = self._closing, ()
        self.keep(closing)

    def keep(self, events: Sequence[SessionEvent] = ()) -> None:
        """Append these events and everything else that is new. If that fails, set `problem` and retry in a later call;
        nothing is raised."""
        self._gather(events)
        failed_at_s = self._failed_at_s
        if failed_at_s is None or time.monotonic() - failed_at_s >= PAUSE_S:
            self._write()

    def note(self, record: Queued) -> None:
        """Append this record and everything else that is new, like `keep`."""
        self._pending.append(record)
        self.keep()

    def _gather(self, events: Sequence[SessionEvent]) -> None:
        self._pending += [*self._said(), *self._shortened(), *(Told(event=each) for each in events), *self._changed()]

    def _write(self) -> None:
        is_new = not all(isinstance(each, Opened) for each in self._pending)
        try:
            self.journal.append(self._pending if is_new else ())
        except OSError as error:
            self.problem = error.strerror or str(error)
            self._failed_at_s = time.monotonic()
            return
        self.problem = self._failed_at_s = None
        if is_new:
            self._pending = []
            self._is_synced = False

    async def sync(self) -> None:
        """Append what is new, and return when it would survive a power failure. Failures are handled as in `keep`."""
        self._gather(())
        self._write()
        if self._is_synced:
            return
        self._is_synced = True  # records added meanwhile reset it
        is_done = False
        try:
            await self.journal.sync()
            is_done = True
        except OSError as error:
            self.problem = error.strerror or str(error)
        finally:
            self._is_synced = self._is_synced and is_done

    async def sync_at_the_end(self) -> None:
        """Run `sync` at the end of a turn. A cancel does not interrupt it at once."""
        await to_its_end(self.sync(), SYNC_S)

    def untold_problem(self) -> str | None:
        """Return a notice that the session cannot be written; None if it can, or if the user was told."""
        if self.problem == self._told:
            return None
        self._told = self.problem
        if self.problem is None:
            return None
        return (
            f"The session cannot be written to disk: {self.problem}. It is kept in memory, and writing will be retried."
        )

    def _said(self) -> Iterator[Record]:
        written, messages = self._written, self._session.messages
        n_written = len(written)
        if n_written > len(messages) or (n_written and messages[n_written - 1] is not written[-1]):
            pairs = zip(written, messages, strict=False)
            n_same = next((at for at, (old, new) in enumerate(pairs) if old is not new), min(n_written, len(messages)))
            del written[n_same:]
            yield Cut(length=n_same)
        for message in messages[len(written) :]:
            yield Said(index=len(written), message=message)
            written.append(message)

    def _shortened(self) -> Iterator[Record]:
        made = self._session.compactions[self._n_compactions_written :]
        self._n_compactions_written += len(made)
        for each in made:
            yield Shortened(
                start=each.start,
                end=each.end,
                stands=each.stands,
                task=each.task,
                words=each.words,
                summary=each.summary,
            )

    def _spent(self) -> tuple[Usage, Usage]:
        return self._session.usage, self._session.last_turn_usage

    def _changed(self) -> Iterator[Record]:
        state, spent = self._session.state, self._spent()
        is_spent = spent != self._written_spent
        if not state.is_as(self._written_state) or (state.at != self._written_at and not is_spent):
            self._written_state = state
            yield state
        if is_spent:
            self._written_spent = spent
            usage, last_turn = spent
            yield Spent(at=state.at, usage=usage, last_turn=last_turn)
        self._written_at = state.at
        if self._session.agent_notes != self._written_agents:
            self._written_agents = self._session.agent_notes
            yield Agents(agents=self._written_agents)
