"""The event stream of a session: numbers, merging, batches, and a reader that does not read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import groupby
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.events import (
    AgentEvent,
    BudgetLimitReached,
    IterationLimitReached,
    LoopDetected,
    Notice,
    PermissionRequested,
    Stamped,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TimeLimitReached,
    TokenLimitReached,
    ToolCall,
    ToolProgress,
    ToolResult,
)
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.sessions.event_stream import MAX_PENDING_CHARS, PAUSE_S, EventStream
from tests.fakes import bounded
from tests.sessions.subscribers import Reader

LONG_S = 3600.0
"""A time that does not end within a test."""


def unhurried() -> EventStream:
    """A stream from which nothing goes out by the clock after the first event."""
    return EventStream(flush_interval_s=LONG_S, pause_s=LONG_S)


def stamped(event: AgentEvent, iteration: int = 1, total_tokens: int = 0) -> Stamped:
    return Stamped(event=event, iteration=iteration, total_tokens=total_tokens)


def delta(content: str, item_id: str = "i") -> TextDelta:
    return TextDelta(item_id=item_id, content=content)


async def publish(stream: EventStream, reader: Reader, *events: AgentEvent, turn_id: str = "t") -> None:
    for event in events:
        await bounded(stream.publish(stamped(event), turn_id, reader))


# Batches


async def test_the_first_event_after_a_pause_goes_out_at_once() -> None:
    stream, reader = unhurried(), Reader()

    await publish(stream, reader, Notice(content="first"))

    assert [[each.event for each in batch] for batch in reader.batches] == [[Notice(content="first")]]


async def test_what_follows_within_the_pause_waits_and_goes_out_together_once_the_loop_is_idle() -> None:
    stream, reader = EventStream(flush_interval_s=LONG_S, pause_s=0.05), Reader()

    await publish(stream, reader, Notice(content="1"), Notice(content="2"), Notice(content="3"))
    assert len(reader.events) == 1
    await reader.until(3)

    assert [[each.event for each in batch] for batch in reader.batches] == [
        [Notice(content="1")],
        [Notice(content="2"), Notice(content="3")],
    ]


async def test_a_delta_after_the_pause_goes_out_at_once() -> None:
    stream, reader = EventStream(flush_interval_s=LONG_S, pause_s=0.0), Reader()

    await publish(stream, reader, delta("a"), delta("b"))

    assert [each.event for each in reader.events] == [delta("a"), delta("b")]


async def flood(stream: EventStream, reader: Reader, *, until: Callable[[], bool]) -> int:
    """Publish a delta in each round of the event loop until that is true; returns how many there were."""
    n_deltas = 0
    while not until():
        await stream.publish(stamped(delta("x")), "t", reader)
        n_deltas += 1
        await asyncio.sleep(0)
    return n_deltas


async def test_what_comes_in_each_round_of_the_loop_goes_out_together() -> None:
    stream, reader = EventStream(flush_interval_s=LONG_S, pause_s=0.05), Reader()
    over_s = asyncio.get_running_loop().time() + 0.1

    await publish(stream, reader, delta("x"), delta("x"))
    n_deltas = await flood(stream, reader, until=lambda: asyncio.get_running_loop().time() > over_s)
    await reader.until(2)

    assert [each.event for each in reader.events] == [delta("x"), delta("x" * (n_deltas + 1))]


async def test_a_flood_that_does_not_end_goes_out_at_each_interval() -> None:
    stream, reader = EventStream(flush_interval_s=0.002, pause_s=0.001), Reader()

    await bounded(flood(stream, reader, until=lambda: len(reader.batches) == 4))

    assert [len(batch) for batch in reader.batches] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "event",
    [
        PermissionRequested(permission_id="p", tool_id="t"),
        IterationLimitReached(limit=1, value=1),
        TokenLimitReached(limit=1, value=1),
        BudgetLimitReached(limit=1.0, value=1.0),
        TimeLimitReached(limit=1.0, value=1.0),
        LoopDetected(limit=3, value=3),
        ToolCall(
            tool_id="t",
            tool_name="ask_user",
            input={},
            title="Ask",
            kind="other",
            risk=ToolRisk.LOW,
            read_only=False,
            locations=(),
        ),
    ],
    ids=lambda event: event.type,
)
async def test_what_the_user_is_asked_about_goes_out_before_the_question(event: AgentEvent) -> None:
    stream, reader = unhurried(), Reader()

    await publish(stream, reader, Notice(content="1"), Notice(content="2"), event)

    assert [each.event for each in reader.events] == [Notice(content="1"), Notice(content="2"), event]


async def test_flush_sends_everything_now_and_nothing_twice() -> None:
    stream, reader = unhurried(), Reader()
    await publish(stream, reader, Notice(content="1"), Notice(content="2"))

    stream.flush()
    stream.flush()

    assert [each.event for each in reader.events] == [Notice(content="1"), Notice(content="2")]


async def test_an_interval_of_nothing_sends_each_event_by_itself() -> None:
    stream, reader = EventStream(flush_interval_s=0.0), Reader()

    await publish(stream, reader, delta("a"), delta("b"))

    assert [[each.event for each in batch] for batch in reader.batches] == [[delta("a")], [delta("b")]]


async def test_two_turns_go_to_their_own_readers_and_share_the_numbers() -> None:
    stream, one, two = unhurried(), Reader(), Reader()
    await publish(stream, one, Notice(content="0"))

    await publish(stream, one, delta("a"), turn_id="t1")
    await publish(stream, two, delta("b"), turn_id="t2")
    await publish(stream, one, delta("c"), turn_id="t1")
    stream.flush()

    assert [(each.seq, each.turn_id, each.event) for each in one.events[1:]] == [
        (2, "t1", delta("a")),
        (4, "t1", delta("c")),
    ]
    assert [(each.seq, each.turn_id, each.event) for each in two.events] == [(3, "t2", delta("b"))]
    assert stream.last_seq == 4


# Merging


async def test_adjacent_deltas_of_one_item_are_one_event_with_the_latest_count() -> None:
    stream, reader = unhurried(), Reader()
    await publish(stream, reader, Notice(content="0"))

    await stream.publish(stamped(delta("Hel"), total_tokens=1), "t", reader)
    await stream.publish(stamped(delta("lo"), total_tokens=2), "t", reader)
    stream.flush()

    assert [(each.seq, each.event, each.total_tokens) for each in reader.events[1:]] == [(2, delta("Hello"), 2)]


@pytest.mark.parametrize(
    "other",
    [
        delta("b", item_id="another"),
        ThinkingDelta(item_id="i", content="b"),
        ToolProgress(tool_id="i", content="b"),
        Text(item_id="i", content="b"),
        Notice(content="b"),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_what_is_not_the_same_item_stays_apart(other: AgentEvent) -> None:
    stream, reader = unhurried(), Reader()
    await publish(stream, reader, Notice(content="0"))

    await publish(stream, reader, delta("a"), other, delta("c"))
    stream.flush()

    assert [each.event for each in reader.events[1:]] == [delta("a"), other, delta("c")]


item_ids = st.sampled_from(["i", "j"])
texts = st.text(max_size=4)
events: st.SearchStrategy[AgentEvent] = st.one_of(
    st.builds(TextDelta, item_id=item_ids, content=texts),
    st.builds(ThinkingDelta, item_id=item_ids, content=texts),
    st.builds(ToolProgress, tool_id=item_ids, content=texts),
    st.builds(Text, item_id=item_ids, content=texts),
    st.builds(Thinking, item_id=item_ids, content=texts),
    st.builds(Notice, content=texts),
)


def kind_of(event: AgentEvent) -> tuple[str, str] | object:
    """Equal for what may be merged; a new object for anything else, which equals nothing."""
    match event:
        case TextDelta() | ThinkingDelta():
            return event.type, event.item_id
        case ToolProgress():
            return event.type, event.tool_id
        case _:
            return object()


def merged(sent: Sequence[AgentEvent]) -> list[tuple[str, str]]:
    """Type and content, runs of deltas of one item joined: what a reader makes of either."""
    runs = [list(run) for _, run in groupby(sent, key=kind_of)]
    return [(run[0].type, "".join(getattr(each, "content", "") for each in run)) for run in runs]


positions = st.sets(st.integers(0, 29))


@given(
    sent=st.lists(events, max_size=30),
    flushed=positions,
    rounds=positions,
    busy=positions,
    pause_s=st.sampled_from([0.0, 1e-6, LONG_S]),
)
async def test_however_it_is_cut_the_text_and_the_order_are_kept(
    sent: list[AgentEvent], flushed: set[int], rounds: set[int], busy: set[int], pause_s: float
) -> None:
    stream, reader = EventStream(flush_interval_s=LONG_S, pause_s=pause_s), Reader()

    for number, event in enumerate(sent):
        (reader.stop_reading if number in busy else reader.read_on)()
        await publish(stream, reader, event)
        if number in flushed:
            stream.flush()
        if number in rounds:
            await asyncio.sleep(0)
    stream.flush()

    assert merged([each.event for each in reader.events]) == merged(sent)
    assert [each.seq for each in reader.events] == list(range(1, len(reader.events) + 1))
    assert stream.last_seq == len(reader.events)


# A reader that does not read


async def test_nothing_is_delivered_to_a_reader_that_does_not_read() -> None:
    stream, reader = EventStream(flush_interval_s=0.001), Reader()
    reader.stop_reading()

    await publish(stream, reader, delta("a"), delta("b"))
    for _ in range(3):
        await reader.asked()

    assert reader.events == []
    reader.read_on()
    await reader.until(1)
    assert [each.event for each in reader.events] == [delta("ab")]


async def test_a_reader_that_does_not_read_is_asked_rarely_even_if_nothing_is_to_be_collected() -> None:
    stream, reader = EventStream(flush_interval_s=0), Reader()
    reader.stop_reading()
    clock = asyncio.get_running_loop().time

    await publish(stream, reader, delta("a"))
    await reader.asked()
    began_s = clock()
    for _ in range(3):
        await reader.asked()

    assert clock() - began_s >= 2 * PAUSE_S


async def test_whoever_waits_in_the_queue_and_does_not_read_holds_nothing_of_the_turn_that_runs() -> None:
    stream, queued, running = EventStream(flush_interval_s=0.001), Reader(), Reader()
    queued.stop_reading()
    await publish(stream, queued, Notice(content="in the queue"), turn_id="t2")

    await publish(stream, running, delta("a"), turn_id="t1")
    await running.until(1)
    await publish(stream, running, delta("b"), turn_id="t1")
    await running.until(2)

    assert queued.events == []
    queued.read_on()
    await queued.until(1)
    assert [(each.seq, each.event) for each in (*running.events, *queued.events)] == [
        (1, delta("a")),
        (2, delta("b")),
        (3, Notice(content="in the queue")),
    ]


async def test_the_end_of_a_turn_is_delivered_to_a_reader_that_does_not_read() -> None:
    stream, reader = EventStream(flush_interval_s=0.001), Reader()
    reader.stop_reading()
    await publish(stream, reader, delta("a"))

    stream.flush()

    assert [each.event for each in reader.events] == [delta("a")]


async def test_a_turn_waits_for_a_reader_that_is_too_far_behind() -> None:
    stream, reader = EventStream(flush_interval_s=0.001), Reader()
    reader.stop_reading()
    await publish(stream, reader, delta("x" * MAX_PENDING_CHARS))

    last = asyncio.ensure_future(stream.publish(stamped(delta("y")), "t", reader))
    for _ in range(3):
        await reader.asked()
    assert not last.done()

    reader.read_on()
    await bounded(last)
    await reader.until(1)
    assert [each.event for each in reader.events] == [delta("x" * MAX_PENDING_CHARS + "y")]


async def test_a_reader_that_does_not_read_makes_no_delta_slow() -> None:
    stream, reader = unhurried(), Reader()
    reader.stop_reading()
    n_deltas = MAX_PENDING_CHARS // 8
    began_s = thread_time()

    for _ in range(n_deltas):
        await stream.publish(stamped(delta("eight ch")), "t", reader)
    stream.flush()

    assert [each.event for each in reader.events] == [delta("eight ch" * n_deltas)]
    assert thread_time() - began_s < 10.0  # joining each with all before it copies 62 GB in 14 s; this takes 1 s


async def test_whole_results_count_too_for_how_far_a_reader_is_behind() -> None:
    stream, reader = EventStream(flush_interval_s=0.001), Reader()
    reader.stop_reading()
    result = ToolResult(
        tool_id="c",
        tool_name="shell",
        content="x" * (MAX_PENDING_CHARS // 2),
        is_error=False,
        cached=False,
        truncated=False,
        duration_s=0.0,
    )
    await publish(stream, reader, result, result)

    last = asyncio.ensure_future(stream.publish(stamped(result), "t", reader))
    for _ in range(3):
        await reader.asked()
    assert not last.done()

    reader.read_on()
    await bounded(last)
