"""What was written by an earlier program is read by this one and by all that come."""

from __future__ import annotations

import json
from itertools import starmap, zip_longest
from pathlib import Path
from typing import Any, cast

import pytest

from pygent_ls.sessions.journal.decoder import UnreadableError, parsed, record_of
from pygent_ls.sessions.journal.records import VERSION, line_of, message_record
from tests.sessions.journal.golden import GOLDEN, expectation, load
from tests.sessions.journal.kept import (
    GOING_ON,
    bytes_of,
    check_conversation,
    check_requests,
    check_whole_story,
    daemon,
    events_in,
    journal_of,
)

FILES = sorted(GOLDEN.glob("*.jsonl"))

RECORDS = {"session", "opened", "state", "event", "message", "cut", "compaction", "usage", "queued"}
EVENTS = {
    "turn_queued", "turn_started", "text_delta", "text", "thinking_delta", "thinking", "tool_call", "tool_progress",
    "tool_result", "permission_requested", "permission_resolved", "plan", "usage", "llm_error", "cancelled", "finished",
}  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_journal_says_what_it_always_said(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))

    assert _known_parts(json.loads(json.dumps(expectation(load(path)))), expected) == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_a_golden_session_can_be_gone_on_with(path: Path) -> None:
    with journal_of(data := bytes_of(path)) as root:
        async with daemon(root, GOING_ON) as kept:
            session = await kept.sessions.hold("s1")
            check_conversation(session.messages)
            session.set_model(kept.model.name)  # the one that it had is not there any more
            assert (await kept.say(session)).text == "Gone on."
            check_requests(kept.model)
            messages = list(map(message_record, session.messages))
        written = (root / "s1.jsonl").read_bytes()
        assert written.startswith(data)
        check_whole_story(events_in(written))
        assert [message_record(each) for each in load(root / "s1.jsonl").messages] == messages


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_field_of_a_golden_line_is_lost_or_has_come_to_be_called_otherwise(path: Path) -> None:
    lost: list[object] = []
    for line in path.read_bytes().split(b"\n"):
        if line and (given := _read(line)):
            try:
                written = json.loads(line_of(record_of(given)))
            except UnreadableError as problem:
                lost += [line] if problem.why == "damaged" else []
            else:
                lost += [line] if _known_parts(written, given) != given else []

    assert lost == []


def test_the_golden_journals_of_each_version_have_everything_in_them() -> None:
    for version in range(1, VERSION + 1):
        lines = [
            line for path in FILES if path.stem.startswith(f"v{version}-") for line in path.read_bytes().split(b"\n")
        ]
        found = [given for line in lines if line and (given := _read(line))]

        assert {each["type"] for each in found} >= RECORDS
        assert {each["event"]["type"] for each in found if each["type"] == "event"} >= EVENTS
        blocks = [block for each in found if each["type"] == "message" for block in _blocks(each["message"]["content"])]
        assert {each["type"] for each in blocks} >= {"text", "thinking", "tool_use", "tool_result"}
        assert any("signature" in each for each in blocks)
        assert any("redacted" in each for each in blocks)
        assert {each["type"] for each in blocks if "providerData" in each} == {"thinking", "tool_use"}


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        return dict(parsed(line))
    except UnreadableError:
        return None


def _known_parts(written: object, given: object) -> object:
    """What was written, without the fields that the given one has not: those came later."""
    parts = written
    if isinstance(written, dict) and isinstance(given, dict):
        new, old = cast("dict[str, object]", written), cast("dict[str, object]", given)
        parts = {key: _known_parts(new[key], old[key]) for key in old if key in new}
    elif isinstance(written, list) and isinstance(given, list):
        parts = list(starmap(_known_parts, zip_longest(cast("list[object]", written), cast("list[object]", given))))
    return parts


def _blocks(content: object) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else []  # pyright: ignore[reportUnknownVariableType]
