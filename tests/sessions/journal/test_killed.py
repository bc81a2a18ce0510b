"""Wherever a program is killed in the middle of a turn, the session loads, and strict providers take its next turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pygent_ls.agent.events import PermissionRequested, PermissionResolved, ToolCall, ToolResult
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import Message, ToolResultBlock
from pygent_ls.agent.ports.model import TextChunk
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ModelError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.interrupted_turns import CUT_OFF
from pygent_ls.sessions.journal.records import Said, Told
from pygent_ls.sessions.journal.repair import INTERRUPTED_RESULT, NOT_ALLOWED_RESULT
from pygent_ls.sessions.turns.request import TurnRequest
from tests.agent.abilities import named
from tests.fakes import Call, Gate, bounded, say
from tests.sessions.journal.kept import (
    GOING_ON,
    check_conversation,
    check_requests,
    check_whole_story,
    daemon,
    eventful_journal,
    events_in,
    journal_of,
    open_turns,
    records_in,
)
from tests.sessions.subscribers import Reader


def _cuts(*, torn: bool) -> list[int]:
    """The length of the journal after each record, or in the midst of each."""
    cuts: list[int] = []
    end = 0
    for line in eventful_journal()[1].splitlines(keepends=True):
        cuts.append(end + len(line) // 2 if torn else end + len(line))
        end += len(line)
    return cuts


def test_the_turn_that_is_cut_has_everything_in_it() -> None:
    types = {each.event.type for each in events_in(eventful_journal()[1])}

    assert types >= {
        "turn_queued", "turn_started", "text_delta", "text", "thinking", "tool_call", "tool_result", "usage", "steered",
        "permission_requested", "permission_resolved", "finished",
    }  # fmt: skip
    assert any(each.parent_tool_id for each in events_in(eventful_journal()[1]))


@pytest.mark.parametrize("torn", [False, True], ids=["behind a record", "within a record"])
async def test_after_every_record_the_session_goes_on_and_each_call_has_its_result(torn: bool) -> None:
    session_id, data = eventful_journal()
    first = data.index(b"\n") + 1
    for cut in _cuts(torn=torn):
        if cut >= first:
            await _check_cut(session_id, data[:cut])


async def _check_cut(session_id: str, data: bytes) -> None:
    seen = events_in(data)
    cut_turns = open_turns(seen)
    with journal_of(data, session_id) as root:
        path = root / f"{session_id}.jsonl"
        async with daemon(root, GOING_ON) as kept:
            looked_at = await kept.sessions.look_at(session_id)
            assert path.read_bytes() == data, "who looks writes nothing"
            session = await kept.sessions.hold(session_id)
            check_conversation(session.messages)
            assert looked_at.last_seq == session.last_seq
            assert session.last_seq >= max((each.seq for each in seen), default=0)
            assert session.usage.total_tokens == _taken(seen)
            _check_results(session.messages, data)
            assert (await kept.say(session)).text == "Gone on."
            check_requests(kept.model)
            went_on = list(session.messages)
        assert path.read_bytes().startswith(data), "what was written stays as it is"
        events = events_in(path.read_bytes())
        check_whole_story(events)
        told = _told_results(events)
        results = _results(went_on)
        assert {call: told.get(call, result) for call, result in results.items()} == results
        begun = cut_turns & {each.turn_id for each in seen if each.event.type == "turn_started"}
        for turn_id in cut_turns:
            ends = [each.event.type for each in events if each.turn_id == turn_id][-2:]
            assert ends == (["interrupted", "finished"] if turn_id in begun else ["turn_queued", "turn_queued"])
        assert [each.event.type for each in events].count("interrupted") == len(begun)
        assert {each.turn for each in session.held} >= cut_turns - begun
        async with daemon(root, GOING_ON) as again:
            later = await again.sessions.hold(session_id)
            assert later.messages == went_on
            assert later.last_seq == len(events)
            assert (await again.say(later)).text == "Gone on."
            check_requests(again.model)
            more = events_in(path.read_bytes())[len(events) :]
            assert "notice" not in [each.event.type for each in more], "what was lost is said once"


def _taken(events: list[SessionEvent]) -> int:
    """What the turns took by the last time that it was told, subagents included."""
    last = {each.turn_id: each.total_tokens for each in events if each.event.type in ("usage", "finished")}
    return sum(last.values())


def _results(messages: Sequence[Message]) -> dict[str, str]:
    blocks = [block for message in messages for block in message.blocks]
    return {each.tool_use_id: each.content for each in blocks if isinstance(each, ToolResultBlock)}


def _told_results(events: Sequence[SessionEvent]) -> dict[str, str]:
    return {each.event.tool_id: each.event.content for each in events if isinstance(each.event, ToolResult)}


def _check_results(messages: Sequence[Message], data: bytes) -> None:
    """What was known of a call is its result; of the others, that they were interrupted or never allowed."""
    kept = _results([each.message for each in records_in(data) if isinstance(each, Said)])
    known = _told_results(events_in(data)) | kept
    results = _results(messages)
    waiting = _asked_about(events_in(data))
    otherwise = {call: NOT_ALLOWED_RESULT if call in waiting else INTERRUPTED_RESULT for call in results}
    assert results == {call: known.get(call, otherwise[call]) for call in results}


def _asked_about(events: Sequence[SessionEvent]) -> set[str]:
    """The calls of which the user was asked, and had not answered."""
    asked = {
        each.event.permission_id: each.event.tool_id for each in events if isinstance(each.event, PermissionRequested)
    }
    answered = {each.event.permission_id for each in events if isinstance(each.event, PermissionResolved)}
    return {tool_id for permission_id, tool_id in asked.items() if permission_id not in answered}


async def test_what_was_being_said_is_kept_and_says_where_it_ends(tmp_path: Path) -> None:
    gate = Gate()
    withdrawn = [TextChunk(text="This does not count. "), ModelError("gone", type="network")]
    script = [withdrawn, [TextChunk(text="Half of an "), gate, *say("answer")]]
    async with daemon(tmp_path / "one", script) as kept:
        session = kept.new()
        reader = Reader()
        running = session.start_turn(TurnRequest(parts=("hello",)), reader)
        await gate.reached()
        await reader.until_type("text_delta", 2)
        data = (tmp_path / "one" / f"{session.id}.jsonl").read_bytes()
        gate.open()
        assert running.task is not None
        await bounded(running.task)

    with journal_of(data) as root:
        async with daemon(root) as kept:
            session = await kept.sessions.hold("s1")

            assert [each.text for each in session.messages] == ["hello", "Half of an " + CUT_OFF]


async def test_a_tool_that_changes_something_runs_when_the_journal_has_its_call(tmp_path: Path) -> None:
    found: list[list[str]] = []

    async def change(context: ToolContext) -> str:
        path = tmp_path / f"{context.session_id}.jsonl"
        records = records_in(path.read_bytes())
        said = [call.id for each in records if isinstance(each, Said) for call in each.message.tool_calls]
        events = [each.event.event for each in records if isinstance(each, Told)]
        found.append([*said, *(each.tool_id for each in events if isinstance(each, ToolCall))])
        return "changed"

    tools = (named("change", change, risk=ToolRisk.MEDIUM, read_only=False),)
    script = [say("I change it.", Call(name="change", arguments={}, id="the call")), say("Done.")]
    async with daemon(tmp_path, script, tools=tools) as kept:
        await kept.say(kept.new())

    assert found == [["the call", "the call"]]
