"""A session as a text for others, and what it tells of changed files."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.events import TextDelta, ToolResult
from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    RejectedFile,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.export.exporter import exported
from pygent_ls.sessions.journal.changes import changes_told
from pygent_ls.sessions.journal.endings import endings_told
from pygent_ls.sessions.journal.files import MemoryJournal, lines_of
from pygent_ls.sessions.journal.records import Told
from pygent_ls.sessions.saved_format.reader import read_saved
from pygent_ls.sessions.saved_format.writer import SavedSession
from tests.fakes import Call, bounded, say
from tests.sessions.journal.kept import daemon

WHEN = datetime(2026, 11, 22, 9, 0, 0, 123456, tzinfo=UTC)

texts = st.text(max_size=30)
"""Without half surrogate pairs, which no file can hold."""

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=3,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Any that providers take: the message after calls answers them."""
    found: list[Message] = []
    n_calls = 0
    for turn in range(draw(st.integers(0, 2))):
        rejected = st.builds(RejectedFile, uri=texts, n_changes=st.integers(1, 9))
        own = (
            st.builds(TextBlock, text=texts, from_outside=st.booleans())
            | st.builds(TextBlock, text=texts, rejected=st.lists(rejected, min_size=1, max_size=2).map(tuple))
            | st.builds(ImageBlock, mime_type=texts, data=texts)
        )
        thinking = st.builds(
            ThinkingBlock, thinking=texts, signature=texts, redacted=st.none() | texts, model=texts
        ) | st.builds(ThinkingBlock, thinking=texts)
        moment = draw(st.datetimes(timezones=st.just(UTC)))
        found.append(_message("user", draw(st.lists(own, min_size=1, max_size=3)), turn, moment))
        calls = [
            ToolUseBlock(
                id=f"c{n_calls + n}",
                name=draw(texts.filter(bool)),
                input=draw(st.dictionaries(texts, values, max_size=3)),
                problem=draw(st.none() | texts),
            )
            for n in range(draw(st.integers(0, 2)))
        ]
        n_calls += len(calls)
        said = draw(st.lists(st.builds(TextBlock, text=texts) | thinking, min_size=1, max_size=3))
        found.append(_message("assistant", [*said, *calls], turn, moment))
        results = [
            ToolResultBlock(
                tool_use_id=each.id, content=draw(texts), is_error=draw(st.booleans()), from_outside=draw(st.booleans())
            )
            for each in calls
        ]
        if results:
            found.append(_message("user", results, turn, moment))
    return found


def _message(role: Any, blocks: Sequence[Block], turn: int, moment: datetime) -> Message:
    return Message(role=role, content=tuple(blocks), turn_id=f"turn-{turn}", timestamp=moment)


def session_of(messages: Sequence[Message], name: str = "Dates") -> SavedSession:
    return SavedSession(
        id="1",
        name=name,
        created=WHEN,
        updated=WHEN,
        working_directory="/w",
        agent="default",
        model="fake/model",
        messages=tuple(messages),
        usage=Usage(input_tokens=12, cost_usd=0.5),
    )


@given(conversations(), texts)
def test_what_json_holds_is_read_back_as_the_same_session(messages: list[Message], name: str) -> None:
    session = session_of(messages, name)
    assert read_saved(exported(session, "json"), "it") == session


@pytest.mark.parametrize("cost", ["NaN", "Infinity", "1e999", "-1"])
def test_a_cost_that_is_none_is_refused(cost: str) -> None:
    text = exported(session_of([], name="s"), "json").replace('"cost_usd": 0.5', f'"cost_usd": {cost}')
    assert cost in text

    with pytest.raises(SessionError, match="it is not a saved session: metadata\\.cost_usd: "):
        read_saved(text, "it")


def test_what_the_model_has_called_and_has_no_result_yet_is_not_in_what_can_be_loaded() -> None:
    call = ToolUseBlock(id="1", name="shell", input={})
    session = session_of([Message(role="user", content="go"), Message(role="assistant", content=(call,))])
    assert len(read_saved(exported(session, "json"), "it").messages) == 1
    assert "**Tool call**: shell" in exported(session, "markdown")


# Changes


def told(tool_id: str, *changes: FileChange, parent: str | None = None, seq: int = 1, name: str = "edit_file") -> Told:
    result = ToolResult(
        tool_id=tool_id,
        tool_name=name,
        content='"changes":[{',
        is_error=False,
        cached=False,
        truncated=False,
        duration_s=0.5,
        changes=changes,
    )
    event = SessionEvent(
        event=result, seq=seq, turn_id="t", iteration=1, total_tokens=0, timestamp=WHEN, parent_tool_id=parent
    )
    return Told(event=event)


def change(name: str) -> FileChange:
    return FileChange(path=Path("/w") / name, kind="edit", added=1, removed=0, patch=f"@@ {name} @@\n+x\n")


def test_changes_are_found_in_a_journal_by_their_call_and_those_of_a_subagent_by_the_call_that_started_it() -> None:
    journal = MemoryJournal()
    delta = SessionEvent(
        event=TextDelta(item_id="i", content='"type":"tool_result","changes":[{'),
        seq=1,
        turn_id="t",
        iteration=1,
        total_tokens=0,
        timestamp=WHEN,
        parent_tool_id=None,
    )
    journal.append(
        [
            Told(event=delta),
            told("a", change("1"), change("2")),
            told("inner", change("3"), parent="middle"),
            told("middle", parent="top"),
            told("also", change("4"), parent="top"),
            told("top"),
            told("none"),
            told("loop", change("5"), parent="loop"),
        ]
    )

    found = changes_told(lines_of(journal.read))

    names = {call: [each.path.name for each in changes] for call, changes in found.items()}
    assert names == {"a": ["1", "2"], "top": ["3", "4"], "loop": ["5"]}
    assert found["a"][0] == change("1")
    assert endings_told(lines_of(journal.read)) == {}


def test_damage_in_a_journal_costs_the_changes_that_are_damaged() -> None:
    journal = MemoryJournal()
    journal.append([told("a", change("1")), told("b", change("2"))])
    data = journal.read(0).data.replace(b'"tool_name":"edit_file"', b'"tool_name":7', 1)
    lines = lines_of(lambda at: type(journal.read(0))(at, data[at:]))
    assert list(changes_told(lines)) == ["b"]


async def test_the_page_of_a_session_shows_its_changes_whoever_has_it(tmp_path: Path) -> None:
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "first", "new": "<second>"})
    async with daemon(tmp_path, [say("", edit), say("Done.")]) as one, daemon(tmp_path) as other:
        session = one.new()
        await one.say(session, "Change it")

        own = await bounded(one.sessions.export(session.id, "html"))
        others = await bounded(other.sessions.export(session.id, "html"))

    assert own == others
    assert '<span class="del">-the first file</span><span class="add">+the &lt;second&gt; file</span>' in own
    assert "<title>Change it</title>" in own


async def test_what_is_deleted_is_restorable_where_it_was_kept_and_else_gone(tmp_path: Path) -> None:
    async with daemon(tmp_path) as kept, daemon(tmp_path / "none", persist=False) as unkept:
        session, gone = kept.new(), unkept.new()
        await session.services.memory.outputs.keep("a", "shell", "all")
        assert await bounded(kept.sessions.delete(session.id))
        assert not await bounded(unkept.sessions.delete(gone.id))
        assert await session.services.memory.outputs.text_of("output:a") == "all"
