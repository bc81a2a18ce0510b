"""Event stream of a session: numbers events, merges deltas and delivers batches."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.events import (
    AgentEvent,
    BudgetLimitReached,
    IterationLimitReached,
    LoopDetected,
    PermissionRequested,
    Stamped,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TimeLimitReached,
    TokenLimitReached,
    ToolCall,
    ToolCallDelta,
    ToolProgress,
    ToolResult,
)
from pygent_ls.agent.messages import now

ASKING = "ask_user"
"""Name of the tool that asks the user as soon as it is called."""

PAUSE_S = 0.002
"""Time after a delivery in which the next events wait for each other. It bounds the cost of a fast model: a delivery
takes the daemon and the editor a fraction of a millisecond each."""

MAX_PENDING_CHARS = 1_000_000
"""Maximum number of characters that may wait for a slow subscriber; beyond it, the turn waits for the subscriber."""


class SessionEvent(Struct, frozen=True, kw_only=True):
    """Event with its position in the session: `seq` rises by one, from 1, without gaps."""

    event: AgentEvent
    seq: int
    turn_id: str
    iteration: int
    total_tokens: int
    timestamp: datetime
    parent_tool_id: str | None = None


class Subscriber(Protocol):
    """Receiver of a turn's events."""

    @property
    def congested(self) -> bool:
        """True while delivered events are still waiting to be read. Nothing more is delivered then."""
        ...

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        """Take the next events of the turn, in order. Must not block."""
        ...

    async def drained(self) -> None:
        """Return when the subscriber is no longer congested, or is gone."""
        ...


class NoSubscriber:
    """Subscriber of a turn that no front end watches. Whoever follows the session still receives its events."""

    congested = False

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        """Drop the events."""

    async def drained(self) -> None:
        """Return at once."""


class _Pending(Struct):
    stamped: Stamped
    turn_id: str
    subscriber: Subscriber
    timestamp: datetime
    n_chars: int = 0
    contents: list[str] = field(default_factory=list[str])
    """Pieces of a delta, joined once, on delivery. Joining at each piece would cost half a minute for a reader that is
    a million characters behind."""


def _not_kept(_events: Sequence[SessionEvent]) -> None:
    """Default `keep` for a stream whose events are not stored."""


class EventStream:
    """Numbers events and delivers them in batches.

    An event is delivered at once, or `pause_s` after the delivery before it. It waits longer while each round of the
    event loop brings more events, for at most `flush_interval_s`, and while its subscriber is congested. Adjacent
    deltas of one item are merged while they wait, so a slow reader gets fewer and larger ones. A batch is given to
    `keep` before it is delivered, so that no delivered event can be lost.
    """

    def __init__(
        self,
        *,
        flush_interval_s: float,
        pause_s: float = PAUSE_S,
        last_seq: int = 0,
        keep: Callable[[Sequence[SessionEvent]], None] = _not_kept,
    ) -> None:
        """Start after `last_seq`, the number of the session's last event."""
        self.last_seq = last_seq
        self._keep = keep
        self._interval_s = flush_interval_s
        self._pause_s = min(pause_s, flush_interval_s)
        self._pending: list[_Pending] = []
        self._pending_chars = 0
        self._last_flush = -math.inf  # the loop's clock may just have started
        self._timer: asyncio.Handle | None = None
        self._n_published = 0
        self._n_seen = 0
        """Number of published events when the timer was last due."""

    async def publish(self, stamped: Stamped, turn_id: str, subscriber: Subscriber, *, waits: bool = True) -> None:
        """Queue an event for delivery. Waits only while too much text is undelivered; pass `waits=False` for a
        cancelled turn, which must not wait."""
        self._add(stamped, turn_id, subscriber)
        self._n_published += 1
        loop = asyncio.get_running_loop()
        if self._timer is None:
            wait_s = self._last_flush + self._pause_s - loop.time()
            if wait_s <= 0 and not subscriber.congested:
                self.flush()
                return
            self._timer = loop.call_later(max(wait_s, 0.0), self._on_timer)
        if _comes_before_a_question(stamped.event):
            self.flush()  # the question follows at once and must not overtake the events that it is about
        elif waits and self._pending_chars > MAX_PENDING_CHARS:
            await subscriber.drained()

    def flush(self) -> None:
        """Deliver everything now, even to congested subscribers. Called at the end of a turn, before its response."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pending, self._pending = self._pending, []
        self._deliver(pending)

    def _deliver(self, pending: Sequence[_Pending]) -> None:
        self._pending_chars -= sum(each.n_chars for each in pending)
        batches: dict[int, tuple[Subscriber, list[SessionEvent]]] = {}
        numbered = [self._numbered(each) for each in pending]
        self._keep(numbered)
        for each, event in zip(pending, numbered, strict=True):
            batches.setdefault(id(each.subscriber), (each.subscriber, []))[1].append(event)
        for subscriber, events in batches.values():
            subscriber.deliver(events)
        self._last_flush = asyncio.get_running_loop().time()

    def _on_timer(self) -> None:
        loop = asyncio.get_running_loop()
        n_seen, self._n_seen = self._n_seen, self._n_published
        if n_seen != self._n_published and loop.time() < self._last_flush + self._interval_s:
            self._timer = loop.call_soon(self._on_timer)  # events come in each round of the loop: take them all
            return
        self._timer = None
        ready: list[_Pending] = []
        waiting: list[_Pending] = []
        for each in self._pending:  # a queued turn whose editor does not read must not delay the running one
            (waiting if each.subscriber.congested else ready).append(each)
        self._pending = waiting
        if waiting:
            self._timer = loop.call_later(max(self._interval_s, PAUSE_S), self._on_timer)
        if ready:
            self._deliver(ready)

    def _add(self, new: Stamped, turn_id: str, subscriber: Subscriber) -> None:
        event = new.event
        last = self._pending[-1] if self._pending else None
        if (
            last
            and last.turn_id == turn_id
            and last.stamped.parent_tool_id == new.parent_tool_id
            and _continues(last.stamped.event, event)
        ):
            last.stamped = new  # only the contents differ, which are joined on delivery
        else:
            self._pending.append(last := _Pending(new, turn_id, subscriber, now()))
        n_chars = _chars(event)
        last.n_chars += n_chars
        self._pending_chars += n_chars
        match event:
            case TextDelta(content=content) | ThinkingDelta(content=content) | ToolProgress(content=content):
                last.contents.append(content)
            case ToolCallDelta(content=content):
                last.contents.append(content)
            case _:
                pass

    def _numbered(self, each: _Pending) -> SessionEvent:
        self.last_seq += 1
        return SessionEvent(
            event=_joined(each.stamped.event, each.contents),
            seq=self.last_seq,
            turn_id=each.turn_id,
            iteration=each.stamped.iteration,
            total_tokens=each.stamped.total_tokens,
            timestamp=each.timestamp,
            parent_tool_id=each.stamped.parent_tool_id,
        )


def _comes_before_a_question(event: AgentEvent) -> bool:
    match event:
        case ToolCall(tool_name=name):
            return name == ASKING
        case (
            PermissionRequested()
            | IterationLimitReached()
            | TokenLimitReached()
            | BudgetLimitReached()
            | TimeLimitReached()
            | LoopDetected()
        ):
            return True
        case _:
            return False


def _continues(last: AgentEvent, new: AgentEvent) -> bool:
    """Whether both events are deltas of one item."""
    match last, new:
        case (TextDelta(), TextDelta()) | (ThinkingDelta(), ThinkingDelta()):
            return last.item_id == new.item_id
        case ToolProgress(), ToolProgress():
            return last.tool_id == new.tool_id
        case ToolCallDelta(), ToolCallDelta():
            return (last.item_id, last.argument) == (new.item_id, new.argument)
        case _:
            return False


def _joined(event: AgentEvent, contents: Sequence[str]) -> AgentEvent:
    match event:
        case TextDelta() | ThinkingDelta() | ToolProgress() | ToolCallDelta() if len(contents) > 1:
            return replace(event, content="".join(contents))
        case _:
            return event


def _chars(event: AgentEvent) -> int:
    """Return the number of characters that the event counts for while it waits; small events count as 0."""
    match event:
        case TextDelta(content=content) | ThinkingDelta(content=content) | ToolProgress(content=content):
            return len(content)
        case Text(content=content) | Thinking(content=content) | ToolCallDelta(content=content):
            return len(content)
        case ToolResult(content=content, changes=changes):
            return len(content) + sum(len(each.patch) for each in changes)
        case _:
            return 0
