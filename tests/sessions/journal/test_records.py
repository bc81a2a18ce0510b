"""Journal records: every written record is read back, and every other line is refused."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from pygent_ls.agent import events
from pygent_ls.agent.context.conversation_text import utf8
from pygent_ls.agent.events import AgentEvent
from pygent_ls.agent.messages import (
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.decoder import UnreadableError, parsed, record_of
from pygent_ls.sessions.journal.records import (
    VERSION,
    Begun,
    Cut,
    Opened,
    Record,
    Said,
    Shortened,
    Spent,
    State,
    Told,
    line_of,
)

_TEXT = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", "\n", "\r\n\x85\u2028", "\0", "\ud83d", "half \udc00 a pair", "😀", "</script>", "1e999"]),
)
_NUMBERS = st.one_of(st.integers(-(10**300), 10**300), st.floats(allow_nan=False))
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
_MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
_PATHS = st.sampled_from([Path("/w"), Path("/w/a b/ü.py"), Path("relative")])

st.register_type_strategy(str, _TEXT)
st.register_type_strategy(Path, _PATHS)
st.register_type_strategy(datetime, _MOMENTS)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))

_COUNTS = st.integers(0, 10**15)
_USAGE = st.builds(
    Usage,
    input_tokens=_COUNTS,
    output_tokens=_COUNTS,
    cost_usd=st.none() | st.floats(0, 1e6),
    context_limit=st.none() | _COUNTS,
)
st.register_type_strategy(Usage, _USAGE)
_CHANGES = st.builds(
    FileChange,
    path=_PATHS,
    kind=st.sampled_from(["edit", "create", "delete"]),
    added=_COUNTS,
    removed=_COUNTS,
    patch=_TEXT,
)

_SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "input": st.dictionaries(_TEXT, _JSON, max_size=3),
    "changes": st.lists(_CHANGES, max_size=2).map(tuple),
    "files_changed": st.lists(_CHANGES, max_size=2).map(tuple),
    "usage": _USAGE,
    "limit": _COUNTS,
    "value": _COUNTS,
}
"""Values of fields whose annotated type is wider than what is written."""


def _of(kind: type[Any]) -> st.SearchStrategy[Any]:
    special = {name: _SPECIAL[name] for name in kind.__struct_fields__ if name in _SPECIAL}
    return st.builds(kind, **special)


_EVENTS = st.one_of([_of(kind) for kind in get_args(AgentEvent)])
_BLOCKS = st.one_of(
    st.builds(TextBlock, text=_TEXT, from_outside=st.booleans()),
    st.builds(ThinkingBlock, thinking=_TEXT, signature=_TEXT, model=_TEXT),
    st.builds(ThinkingBlock, thinking=st.just(""), redacted=_TEXT, model=_TEXT),
    st.builds(ThinkingBlock, thinking=_TEXT),
    st.builds(ImageBlock, mime_type=st.just("image/png"), data=st.just("AAAA")),
    st.builds(
        ToolUseBlock,
        id=st.text(min_size=1),
        name=st.text(min_size=1),
        input=st.dictionaries(_TEXT, _JSON, max_size=3),
        problem=st.none() | _TEXT,
    ),
    st.builds(ToolResultBlock, tool_use_id=_TEXT, content=_TEXT, is_error=st.booleans(), from_outside=st.booleans()),
)
_MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    content=_TEXT | st.lists(_BLOCKS, max_size=4).map(tuple),
    turn_id=_TEXT,
    timestamp=_MOMENTS,
)
_TOLD = st.builds(
    SessionEvent,
    event=_EVENTS,
    seq=st.integers(1, 2**53 - 1),
    turn_id=_TEXT,
    iteration=_COUNTS,
    total_tokens=_COUNTS,
    timestamp=_MOMENTS,
    parent_tool_id=st.none() | _TEXT,
)
_RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(Begun),
    st.builds(Opened, pid=_COUNTS),
    st.builds(State, max_thinking_tokens=st.none() | _COUNTS),
    st.builds(Told, event=_TOLD),
    st.builds(Said, index=_COUNTS, message=_MESSAGES),
    st.builds(Cut, length=_COUNTS),
    st.builds(
        Shortened,
        start=_COUNTS,
        end=_COUNTS,
        stands=st.lists(_MESSAGES, max_size=2).map(tuple),
        task=st.lists(_BLOCKS, max_size=2).map(tuple),
        words=st.lists(_TEXT, max_size=2).map(tuple),
        summary=_TEXT,
    ),
    st.builds(Spent, usage=_USAGE, last_turn=_USAGE),
)


def _without_halves(value: Any) -> Any:
    """As UTF-8 can hold it; a message has no half surrogate pairs, an event may."""
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, tuple | list):
        return [_without_halves(each) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        return {_without_halves(key): _without_halves(each) for key, each in given.items()}
    if isinstance(value, Struct):
        return [type(value), *(_without_halves(getattr(value, name)) for name in value.__struct_fields__)]
    return value


@given(_RECORDS)
def test_what_is_written_is_read(record: Record) -> None:
    line = line_of(record)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    line.decode()
    assert _without_halves(record_of(parsed(line))) == _without_halves(record)


@pytest.mark.parametrize("kind", get_args(AgentEvent), ids=lambda kind: kind.__name__)
def test_every_kind_of_event_can_be_written_and_read(kind: type[Any]) -> None:
    @given(_of(kind))
    def check(event: AgentEvent) -> None:
        told = Told(
            event=SessionEvent(
                event=event, seq=1, turn_id="t", iteration=1, total_tokens=0, timestamp=datetime.now(UTC)
            )
        )
        assert _without_halves(record_of(parsed(line_of(told)))) == _without_halves(told)

    check()


def test_numbers_that_are_none_come_back_as_such() -> None:
    given = {"nan": math.nan, "more": math.inf}
    use = ToolUseBlock(id="1", name="x", input=given)

    found = record_of(parsed(line_of(Said(index=0, message=Message(role="assistant", content=(use,))))))

    assert isinstance(found, Said)
    assert str(found.message.tool_calls[0].input) == str(given)


def test_the_texts_of_a_changed_file_are_not_kept_but_its_patch_is() -> None:
    change = FileChange(
        path=Path("/w/a"), kind="edit", added=1, removed=1, patch="@@", old_text="SECRET old", new_text="SECRET new"
    )
    finished = events.Finished(stop_reason="end_turn", usage=Usage(), files_changed=(change,))
    told = SessionEvent(event=finished, seq=1, turn_id="t", iteration=1, total_tokens=0, timestamp=datetime.now(UTC))

    line = line_of(Told(event=told))

    assert b"SECRET" not in line
    assert b"@@" in line


@given(
    st.one_of(
        st.binary(max_size=60),
        _JSON.map(lambda value: json.dumps(value).encode()),
        st.fixed_dictionaries(
            {"v": st.just(VERSION), "type": st.sampled_from(["session", "state", "event", "message", "cut", "usage"])},
            optional=dict.fromkeys(("index", "message", "event", "at", "seq", "turn", "length", "created"), _JSON),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_what_is_no_record_is_said_to_be_none(line: bytes) -> None:
    with suppress(UnreadableError):  # and nothing else
        record_of(parsed(line))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"v":2,"type":"message","index":0}', "later"),
        (b'{"v":1,"type":"mood","is":"fine"}', "unknown"),
        (b'{"v":true,"type":"cut","length":0}', "damaged"),
        (b'{"v":0,"type":"cut","length":0}', "damaged"),
        (b'{"v":1,"type":"cut","length":-1}', "damaged"),
        (b'{"v":1,"type":"cut","length":true}', "damaged"),
        (b'{"v":1,"type":"cut"}', "damaged"),
        (b"[" * 100_000, "damaged"),
        (b'{"v":1,"type":"cut","length":' + b"9" * 10_000 + b"}", "damaged"),
        (b"\0" * 100, "damaged"),
        (b'{"v":1,"type":"opened","at":"2026-01-01T00:00:00","pid":1,"host":"h","version":"1"}', "damaged"),
        (b'{"v":1,"type":"opened","at":"0001-01-01T00:00:00+14:00","pid":1,"host":"h","version":"1"}', "damaged"),
    ],
    ids=lambda given: str(given[:40]),
)
def test_a_line_says_why_it_cannot_be_read(line: bytes, why: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        record_of(parsed(line))

    assert caught.value.why == why
