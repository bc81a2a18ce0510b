"""Writes down what happens in a session, as it happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from pygent_ls.agent.committing import to_its_end
from pygent_ls.agent.context_memory import Compaction
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.sessions.journal.files import FileJournal, Journal, MemoryJournal, lines_of
from pygent_ls.sessions.journal.folder import opened
from pygent_ls.sessions.journal.records import Cut, Opened, Queued, Record, Said, Shortened, Spent, State, Told
from pygent_ls.sessions.stream import SessionEvent

if TYPE_CHECKING:  # with it comes pydantic
    from pygent_ls.sessions.journal.recalling import Recalled

PAUSE_S = 1.0
"""How long a write that failed is not tried again: all that waits is written anew each time, and it may be much."""


SYNC_S = 1.0
"""How long a turn that is over waits for the disk once it is cancelled again: the daemon is to be gone within 3 s."""

FREE_S = 1.0
"""How long a session that is closed waits for what works on its conversation beside turns, likewise."""


async def come_free(lock: asyncio.Lock) -> None:
    """Return when nobody has the lock, or soon."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FREE_S), lock:
            pass


class Keeper:
    """Keeps a session's journal true to the session: each call of `keep` adds what is new, in one write.

    It knows what it wrote by the messages' identity, so what is new is found at the end of the conversation, and the
    cost of a write does not grow with it.
    """

    def __init__(
        self,
        messages: list[Message],
        *,
        state: Callable[[], State],
        compactions: Callable[[], Sequence[Compaction]],
        spent: Callable[[], tuple[Usage, Usage]],
        recalled: Recalled | None = None,
    ) -> None:
        """`messages` is the session's own list; `compactions` gives all that were made; `spent` what the session took,
        and its last turn."""
        self.journal: Journal = MemoryJournal()
        self.problem: str | None = None
        """Why the last write failed; None where it did not."""
        self._failed_at_s: float | None = None
        self._told: str | None = None
        self._messages = messages
        self._state = state
        self._compactions = compactions
        self._spent = spent
        self._written: list[Message] = list(recalled.written) if recalled else []
        self._written_state: State | None = recalled.state if recalled else None
        self._written_at = recalled.updated_at if recalled else None
        self._n_compactions_written = len(compactions())
        self._written_spent: tuple[Usage, Usage] | None = (Usage(), Usage())
        self._pending: list[Record] = []
        """What could not be written yet."""
        self._is_synced = True
        self._closing: Sequence[SessionEvent] = ()
        if recalled is not None:
            self._written_spent = None if recalled.closing else spent()  # a turn that was cut is counted in it
            self._pending.append(opened())
            if recalled.has_hole:
                self._pending.append(Cut(length=len(self._written)))
            self._closing = recalled.closing

    @property
    def messages(self) -> list[Message]:
        """The session's own list."""
        return self._messages

    def mark(self) -> int | None:
        """The size of the journal that tells the conversation as it is; None where none will."""
        self.keep()
        return self.journal.size if isinstance(self.journal, FileJournal) and self.problem is None else None

    async def conversation_at(self, mark: int) -> tuple[Message, ...]:
        """The conversation as it was when the journal had that size. Raises OSError."""
        from pygent_ls.sessions.journal.recalling import conversation_of

        lines = takewhile(lambda line: line.end <= mark, lines_of(self.journal.read))
        return await asyncio.to_thread(conversation_of, lines)

    def begin(self, journal: Journal) -> None:
        """Keep the session there from now on; called before anything else happens in it."""
        self.journal = journal
        closing, self._closing = self._closing, ()
        self.keep(closing)

    def keep(self, events: Sequence[SessionEvent] = ()) -> None:
        """Add these events, and whatever else is new. Where that fails, `problem` says why, and one of the next calls
        tries again; nothing is raised."""
        self._gather(events)
        failed_at_s = self._failed_at_s
        if failed_at_s is None or time.monotonic() - failed_at_s >= PAUSE_S:
            self._write()

    def note(self, record: Queued) -> None:
        """Add this record, and whatever else is new; see `keep`."""
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
        """Keep what is new now, and return when it would survive a failure of the power. Failing is as in `keep`."""
        self._gather(())
        self._write()
        if self._is_synced:
            return
        self._is_synced = True  # what is added meanwhile is not
        is_done = False
        try:
            await self.journal.sync()
            is_done = True
        except OSError as error:
            self.problem = error.strerror or str(error)
        finally:
            self._is_synced = self._is_synced and is_done

    async def sync_at_the_end(self) -> None:
        """`sync` of a turn that is over: a cancel does not cut it off at once."""
        await to_its_end(self.sync(), SYNC_S)

    def untold_problem(self) -> str | None:
        """That the session cannot be kept, for the user; None where it can, or where they know."""
        if self.problem == self._told:
            return None
        self._told = self.problem
        if self.problem is None:
            return None
        return (
            f"The session cannot be written to disk: {self.problem}. It is kept in memory, and writing will be retried."
        )

    def _said(self) -> Iterator[Record]:
        written, messages = self._written, self._messages
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
        made = self._compactions()[self._n_compactions_written :]
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

    def _changed(self) -> Iterator[Record]:
        state, spent = self._state(), self._spent()
        is_spent = spent != self._written_spent
        if not state.is_as(self._written_state) or (state.at != self._written_at and not is_spent):
            self._written_state = state
            yield state
        if is_spent:
            self._written_spent = spent
            usage, last_turn = spent
            yield Spent(at=state.at, usage=usage, last_turn=last_turn)
        self._written_at = state.at
