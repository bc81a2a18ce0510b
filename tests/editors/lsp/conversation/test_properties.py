"""Whatever happens in a session: each way to read the operations leads to the same conversation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent import events as ev
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.agent.ports.hooks import HookRan
from pygent_ls.sessions.event_stream import SessionEvent
from tests.editors.lsp.conversation.client import ItemsClient
from tests.editors.lsp.conversation.story import (
    CHANGE,
    FILE,
    REPORT,
    Of,
    after,
    called,
    events,
    failed,
    finished,
    progress,
    queued,
    reducer,
    resulted,
    started,
    text,
    text_delta,
    thinking,
    thinking_delta,
    used,
    written,
)

IDS = st.sampled_from(["a", "b", "c"])
THOUGHTS = st.sampled_from(["think a", "think b"])
WORDS = st.text(alphabet="ab \n😀", min_size=1, max_size=12) | st.just("x" * 15_000)


def in_background(call: ev.ToolCall) -> ev.ToolCall:
    return replace(call, tool_name="task", input={"background": True})


def requested(tool_id: str) -> ev.PermissionRequested:
    return ev.PermissionRequested(permission_id="p", tool_id=tool_id)


def resolved(tool_id: str, outcome: PermissionOutcome) -> ev.PermissionResolved:
    return ev.PermissionResolved(permission_id="p", tool_id=tool_id, outcome=outcome, by="user")


def denied(tool_id: str) -> ev.PermissionDenied:
    return ev.PermissionDenied(tool_id=tool_id, tool_name="shell", reason="no")


def changing(result: ev.ToolResult) -> ev.ToolResult:
    return replace(result, changes=(CHANGE,))


def given_up(error: ev.LlmError) -> ev.LlmError:
    return replace(error, will_retry=False)


def steered(content: str, *attachments: ev.PromptAttachment) -> ev.Steered:
    return ev.Steered(content=content, attachments=attachments)


RESULTS = st.builds(resulted, IDS, WORDS, is_error=st.booleans(), ms=st.sampled_from([0, 9]))

OUTCOMES: st.SearchStrategy[PermissionOutcome] = st.sampled_from(["allow_once", "reject_once", "cancelled"])

INSIDE = st.one_of(
    st.builds(text_delta, WORDS, IDS),
    st.builds(thinking_delta, WORDS, THOUGHTS),
    st.builds(text, WORDS, IDS),
    st.builds(thinking, WORDS, THOUGHTS),
    st.builds(written, st.sampled_from(["path", "content", "edits.0.new"]), WORDS, IDS),
    st.builds(called, IDS, WORDS, st.just("") | IDS),
    st.builds(called, IDS).map(in_background),
    st.builds(progress, WORDS, IDS),
    IDS.map(requested),
    st.builds(resolved, IDS, OUTCOMES),
    IDS.map(denied),
    RESULTS,
    RESULTS.map(changing),
    st.builds(failed, st.integers(1, 3), IDS, IDS),
    st.builds(failed).map(given_up),
    st.builds(used, input_tokens=st.integers(0, 9)),
    st.just(ev.Notice(content="By the way")),
    st.just(HookRan(hook_event="stop", command="lint", decision="", duration_s=0.1)),
    st.just(ev.Compacted(tokens_before=9, tokens_after=1, messages_summarised=2)),
    st.just(ev.LoopDetected(limit=3, value=3)),
    st.just(ev.PlanChanged(entries=(ev.PlanEntry(content="Do it", status="pending"),))),
    WORDS.map(steered),
    st.just(steered("", REPORT)),
    st.just(steered("", REPORT, FILE)),
)

AROUND = st.one_of(
    st.builds(started, WORDS),
    st.builds(started, WORDS, st.just(REPORT), st.just(FILE)),
    st.builds(queued, WORDS, held=st.booleans()),
    st.just(ev.Cancelled()),
    st.just(ev.Interrupted()),
    st.builds(finished, st.just(CHANGE)),
)

TOLD = st.one_of(
    st.builds(Of, INSIDE, st.just("t1") | st.just("t2"), st.none() | IDS),
    st.builds(Of, INSIDE),
    st.builds(Of, AROUND, st.just("t1") | st.just("t2") | st.just("t3")),
)


@st.composite
def streams(draw: st.DrawFn) -> list[SessionEvent]:
    """Any events in any order: the daemon's own are fewer."""
    return events(Of(started()), *draw(st.lists(TOLD, max_size=40)))


def parts(happened: Sequence[SessionEvent], cuts: Sequence[int]) -> list[Sequence[SessionEvent]]:
    places = [0, *sorted(each % (len(happened) + 1) for each in cuts), len(happened)]
    return [happened[begin:end] for begin, end in pairwise(places)]


CUTS = st.lists(st.integers(0, 1000), max_size=6)


@given(streams(), CUTS)
def test_however_the_events_come_in_batches_the_conversation_is_the_same(
    happened: list[SessionEvent], cuts: list[int]
) -> None:
    client, stream = ItemsClient(), reducer()
    for each in parts(happened, cuts):
        client.take(stream.after(each))

    assert client.shown == after(happened).shown


@given(streams(), st.integers(0, 1000), CUTS)
def test_a_client_that_comes_back_goes_on_as_if_it_had_stayed(
    happened: list[SessionEvent], cut: int, cuts: list[int]
) -> None:
    seen, missed = happened[: cut % (len(happened) + 1)], happened[cut % (len(happened) + 1) :]
    client, again = after(seen), reducer()
    for each in parts(seen, cuts):
        again.skip(each)
    for each in parts(missed, cuts):
        client.take(again.after(each))

    assert client.shown == after(happened).shown


@given(streams())
def test_an_operation_never_names_what_the_client_does_not_have_and_a_batch_has_one_for_each_item(
    happened: list[SessionEvent],
) -> None:
    known: set[str | None] = {None}
    stream = reducer()
    for each in happened:
        named = set[str]()
        for operation in stream.after([each])["items"]:
            key = operation["item"]["key"] if operation["op"] == "put" else operation["key"]
            assert key not in named
            named.add(key)
            if operation["op"] == "put":
                assert operation.get("parent") in known
                known.add(key)
            assert key in known


@given(streams())
def test_an_item_keeps_its_type_and_its_turn(happened: list[SessionEvent]) -> None:
    client, stream = ItemsClient(), reducer()
    known: dict[str, tuple[str, str]] = {}
    for each in happened:
        client.take(stream.after([each]))
        now = {key: (item["type"], item["turnId"]) for key, item in client.items.items()}
        assert known.items() <= now.items()
        known = now
