"""Replay of a journal: rebuilds the session, skips damaged lines and closes interrupted turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.context.memory import Compaction
from pygent_ls.agent.events import Finished, PlanChanged, PlanEntry
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.decoder import ParsedLine, UnreadableError, Why, event_of, parsed, record_of
from pygent_ls.sessions.journal.files import JournalLine
from pygent_ls.sessions.journal.interrupted_turns import NEEDED, OpenTurns
from pygent_ls.sessions.journal.records import (
    NOWHERE,
    AgentNote,
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
from pygent_ls.sessions.journal.repair import LOST_WORDS, repaired
from pygent_ls.sessions.titles import UNNAMED

MOST_SEQ = 2**53 - 1
"""Highest event number that every client reads exactly. A higher one was not written by this program."""

SKIPPED: dict[Why, str] = {
    "damaged": "damaged",
    "later": "from a later version of pygent-ls",
    "unknown": "of a kind unknown to this version",
}


class Recalled(Struct, frozen=True, kw_only=True):
    """A session as loaded from its journal. Its calls have results, and its turns have ends."""

    id: str
    created_at: datetime
    updated_at: datetime
    working_directory: Path
    """`NOWHERE` if it is lost."""
    state: State
    messages: tuple[Message, ...]
    written: tuple[Message, ...]
    """Messages in the journal, up to the first lost one. What differs in `messages` has not been written."""
    has_hole: bool
    """Whether a message is lost, so that the journal has further messages after `written`."""
    compactions: tuple[Compaction, ...]
    """All compactions in order, including those of messages that were cut since."""
    plan: tuple[PlanEntry, ...]
    usage: Usage
    last_turn_usage: Usage
    turn_ids: frozenset[str]
    """Ids of all turns with any event."""
    last_seq: int
    """Includes the events that close interrupted turns."""
    held: tuple[Queued, ...]
    """Prompts that were accepted but whose turns did not begin, in order."""
    agents: tuple[AgentNote, ...]
    """Subagents in the background that ran at the end, or whose reports the model has not read."""
    closing: tuple[SessionEvent, ...]
    """Events that close interrupted turns, not yet in a journal."""
    notices: tuple[str, ...]
    """Notices for the user about damage and interrupted turns."""
    size: int
    """Number of journal bytes that were read."""

    @property
    def name(self) -> str:
        """Name shown to the user."""
        return self.state.name

    @property
    def agent(self) -> str:
        """Agent that its last turn used, or that was chosen since."""
        return self.state.agent

    @property
    def model(self) -> str:
        """Model that its last turn used, or that was chosen since."""
        return self.state.model

    @property
    def mode(self) -> Mode:
        """Mode that its last turn used, or that was chosen since."""
        return self.state.mode

    @property
    def is_interrupted(self) -> bool:
        """Whether a turn was interrupted and the session has not continued since."""
        return bool(self.closing)


class _Recalling(Struct):
    begun: Begun | None = None
    opened_at: datetime | None = None
    state: State | None = None
    updated_at: datetime | None = None
    messages: dict[int, Message] = field(default_factory=dict[int, Message])
    compactions: list[Compaction] = field(default_factory=list[Compaction])
    plan: tuple[PlanEntry, ...] = ()
    usage: Usage = field(default_factory=Usage)
    last_turn_usage: Usage = field(default_factory=Usage)
    unwritten: Usage = field(default_factory=Usage)
    """Usage of finished turns that is not in the session's totals yet."""
    agents: tuple[AgentNote, ...] = ()
    last_seq: int = 0
    turn_ids: set[str] = field(default_factory=set[str])
    turns: OpenTurns = field(default_factory=OpenTurns)
    unread: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])
    """Lines of the open turns, by turn id. Nearly all turns have an end, and then these need no parsing."""
    skipped: Counter[Why] = field(default_factory=Counter[Why])
    """Unreadable lines not yet reported to the user, by reason."""
    skipped_before: Counter[Why] = field(default_factory=Counter[Why])
    """Records known to the daemon that last opened the session. Its next turn reports them in a notice."""
    size: int = 0

    def add(self, line: JournalLine) -> None:
        self.size = line.end
        try:
            given = parsed(line.data)
            if given["type"] == "event":
                self._happened(given, line.data)
            else:
                self._take(record_of(given))
        except UnreadableError as problem:
            self.skipped[problem.why] += 1

    def _happened(self, given: ParsedLine, line: bytes) -> None:
        """Process an event. Events are many, and most no longer matter, so only the relevant ones are parsed fully."""
        try:
            kind = given["event"]["type"]
            seq = given["seq"]
            if not isinstance(seq, int) or seq > MOST_SEQ:
                raise TypeError
            if self.turns.needs(given["turn"], kind):
                if kind in NEEDED:
                    self.unread.setdefault(given["turn"], []).append(line)
                else:
                    self._bounded(event_of(given))
            elif kind == "notice":
                self._was_told(given["event"]["content"])
            elif kind == "plan" and "parent" not in given:
                event = event_of(given).event
                self.plan = event.entries if isinstance(event, PlanChanged) else self.plan
        except (ValueError, KeyError, TypeError):
            raise UnreadableError("damaged") from None
        self.last_seq = max(self.last_seq, seq)
        self.turn_ids.add(str(given["turn"]))

    def _was_told(self, content: object) -> None:
        """Count lines as reported only if a notice says so: a line damaged since may also precede the notice."""
        if self.skipped_before and isinstance(content, str) and content.startswith(_skipping(self.skipped_before)):
            self.skipped -= self.skipped_before
            self.skipped_before.clear()

    def _bounded(self, told: SessionEvent) -> None:
        """Process the begin or the end of a turn."""
        self.turns.add(told)
        if isinstance(told.event, Finished):
            self.unread.pop(told.turn_id, None)
            self.unwritten = self.unwritten.plus(told.event.usage)

    def end(self) -> None:
        """Finish reading: parse what the turns that are still open did."""
        for lines in self.unread.values():
            for line in lines:
                try:
                    self.turns.add(event_of(parsed(line)))
                except (ValueError, KeyError, TypeError):
                    self.skipped["damaged"] += 1
        self.unread.clear()

    def _take(self, record: Record) -> None:
        match record:
            case Begun():
                self.begun = self.begun or record
            case State():
                self.state, self.updated_at = record, record.at
                self.plan = self.plan if record.plan is None else record.plan
            case Said(index=index, message=message):
                self._said(index, message)
            case Cut(length=length):
                self._cut(length)
            case Shortened():
                self._shortened(record)
            case Spent():
                self.usage, self.last_turn_usage, self.updated_at = record.usage, record.last_turn, record.at
                self.unwritten = Usage()
            case Opened() | Agents():
                self._noted(record)
            case Queued(turn=turn_id):
                self.turn_ids.add(turn_id)
                self.turns.queued(record)
            case Told():
                pass

    def _noted(self, record: Opened | Agents) -> None:
        if isinstance(record, Agents):
            self.agents = record.agents
        else:
            self._was_opened(record)

    def _was_opened(self, opened: Opened) -> None:
        self.skipped_before = self.skipped.copy()
        self.opened_at = self.opened_at or opened.at

    def _said(self, index: int, message: Message) -> None:
        if self.messages.get(index, message) != message:  # a `Cut` before it is lost
            self._cut(index)
        self.messages[index] = message
        self.turns.said(message)

    def _cut(self, length: int) -> None:
        self.messages = {at: each for at, each in self.messages.items() if at < length}

    def _shortened(self, record: Shortened) -> None:
        """Apply a compaction if its part of the conversation is complete."""
        messages = self.messages
        if record.start < record.end and all(at in messages for at in range(record.end)):
            self.compactions.append(
                Compaction(
                    start=record.start,
                    end=record.end,
                    first=messages[record.start],
                    last=messages[record.end - 1],
                    stands=record.stands,
                    task=record.task,
                    words=record.words,
                    summary=record.summary,
                )
            )


def recall(lines: Iterable[JournalLine], session_id: str, *, is_running: bool = False) -> Recalled:
    """Rebuild a session from its journal's lines. If `is_running`, a daemon owns it, and no turn counts as interrupted.

    Raises `SessionError` (`unreadable_session`) if nothing can be read.
    """
    found = _Recalling()
    for line in lines:
        if is_running and not line.is_whole:
            break  # it is being written
        found.add(line)
    found.end()
    begun, state = found.begun, found.state
    if begun is None and state is None and not found.messages:
        why = "damaged and cannot be read at all" if found.skipped else "empty"
        raise SessionError(
            f"The session {session_id!r} cannot be read: its journal is {why}.", kind="unreadable_session"
        )
    begun = replace(begun, id=session_id) if begun else _probably_begun(found, session_id)
    return _recalled(found, begun, state or _probable_state(begun), is_running=is_running)


def _probably_begun(found: _Recalling, session_id: str) -> Begun:
    """Return a substitute for a lost first record."""
    moments = [found.opened_at, found.updated_at, *(each.timestamp for each in found.messages.values())]
    return Begun(id=session_id, created=min(filter(None, moments)), working_directory=NOWHERE)


def _probable_state(begun: Begun) -> State:
    """Return the state of a session for which nothing was chosen."""
    return State(
        at=begun.created,
        name=UNNAMED,
        agent="",
        own_agent=None,
        model="",
        own_model=None,
        mode="default",
        own_mode=None,
        max_thinking_tokens=None,
        context_mode=None,
    )


def conversation_of(lines: Iterable[JournalLine]) -> tuple[Message, ...]:
    """Return the conversation at the end of these lines, with a result for each call."""
    found = _Recalling()
    for line in lines:
        found.add(line)
    found.end()
    return tuple(repaired(_with_lost_prompts(found.messages), found.turns.results))


def _recalled(found: _Recalling, begun: Begun, state: State, *, is_running: bool) -> Recalled:
    places = sorted(found.messages)
    n_written = next((at for at, place in enumerate(places) if at != place), len(places))
    in_order = [found.messages[place] for place in places]
    closed = in_order if is_running else found.turns.with_lost_words(_with_lost_prompts(found.messages))
    messages = in_order if is_running else repaired(closed, found.turns.results)
    updated_at = max(begun.created, found.updated_at or begun.created)
    closing = () if is_running else found.turns.closing(found.last_seq, updated_at)
    spent = found.usage.plus(found.unwritten)
    return Recalled(
        id=begun.id,
        created_at=begun.created,
        updated_at=updated_at,
        working_directory=begun.working_directory,
        state=state,
        messages=tuple(messages),
        written=tuple(in_order[:n_written]),
        has_hole=n_written < len(places),
        compactions=tuple(found.compactions),
        plan=found.plan,
        usage=spent if is_running else spent.plus(found.turns.usage),
        last_turn_usage=found.last_turn_usage if found.unwritten.is_nothing else found.unwritten,
        turn_ids=frozenset(found.turn_ids),
        last_seq=closing[-1].seq if closing else found.last_seq,
        held=found.turns.held,
        agents=found.agents,
        closing=closing,
        notices=tuple(_notices(found, closing, has_hole=n_written < len(places))),
        size=found.size,
    )


def _with_lost_prompts(messages: Mapping[int, Message]) -> list[Message]:
    """Return the messages in order. A placeholder is inserted between two answers whose user message is lost, because
    some providers require alternating roles."""
    filled: list[Message] = []
    for place in sorted(messages):
        message = messages[place]
        if filled and place - 1 not in messages and filled[-1].role == message.role == "assistant":
            filled.append(replace(message, role="user", content=LOST_WORDS))
        filled.append(message)
    return filled


def _notices(found: _Recalling, closing: Iterable[SessionEvent], *, has_hole: bool) -> Iterable[str]:
    if found.skipped:
        yield _skipping(found.skipped) + (" Messages are missing from the conversation." if has_hole else "")
    kinds = Counter(each.event.type for each in closing)
    if kinds["interrupted"]:
        yield (
            "The last turn was interrupted when pygent-ls exited. You can continue the conversation. Changes that "
            "unfinished tool calls had already made remain."
        )

    if n_held := kinds["turn_queued"]:
        prompts, their = ("prompt", "its turn") if n_held == 1 else ("prompts", "their turns")
        yield f"pygent-ls exited before {their} started: you can send {n_held} {prompts} again or remove them."


def _skipping(skipped: Counter[Why]) -> str:
    parts = [f"{n} {'line' if n == 1 else 'lines'} {SKIPPED[why]}" for why, n in skipped.items()]
    return f"The session was loaded only in part. Skipped in its journal: {' and '.join(parts)}."
