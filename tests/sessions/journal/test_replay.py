"""What a session is by now, as its records tell it one after another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pygent_ls.agent.events import (
    AgentEvent,
    Finished,
    Notice,
    PermissionRequested,
    PermissionResolved,
    TextDelta,
    TurnStarted,
    UsageReported,
)
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.files import JournalLine
from pygent_ls.sessions.journal.interrupted_turns import CUT_OFF
from pygent_ls.sessions.journal.records import (
    NOWHERE,
    Begun,
    Cut,
    Opened,
    Record,
    Said,
    Shortened,
    Spent,
    Told,
    line_of,
)
from pygent_ls.sessions.journal.repair import LOST_BEGINNING, LOST_WORDS
from pygent_ls.sessions.journal.replay import Recalled, recall
from tests.sessions.index.journals import state
from tests.sessions.journal.kept import GOING_ON, daemon, journal_of

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
BEGUN = Begun(id="s1", created=WHEN, working_directory=Path("/w"))
OPENED = Opened(at=WHEN, pid=1, host="h", version="1")
STATE = state("A name", at=WHEN, mode="default")
BEGINNING: Sequence[Record] = (BEGUN, OPENED, STATE)
TOOK = Usage(input_tokens=100, output_tokens=20, context_tokens=120)
DAMAGE = b'{"v":1,"type":"cut","len'


def said(index: int, text: str) -> Said:
    """A message; those at even places are the user's."""
    message = Message(role="assistant" if index % 2 else "user", content=text, turn_id="t1", timestamp=WHEN)
    return Said(index=index, message=message)


def told(seq: int, event: AgentEvent, turn_id: str = "t1") -> Told:
    """An event of a turn."""
    return Told(event=SessionEvent(event=event, seq=seq, turn_id=turn_id, iteration=1, total_tokens=0, timestamp=WHEN))


def recalled(*records: Record | bytes, session_id: str = "s1") -> Recalled:
    """What the records say; bytes are a line as it is."""
    lines = [each if isinstance(each, bytes) else line_of(each).rstrip(b"\n") for each in records]
    return recall([JournalLine(line, end, is_whole=True) for end, line in enumerate(lines, 1)], session_id)


def texts(found: Recalled) -> list[str]:
    """The conversation."""
    return [each.text for each in found.messages]


STARTED = TurnStarted(prompt="go", model="fake/model", mode="default", agent="default")


def test_what_was_cut_is_gone_and_what_follows_takes_its_place() -> None:
    found = recalled(*BEGINNING, said(0, "a"), said(1, "b"), said(2, "c"), Cut(length=1), said(1, "new"))

    assert texts(found) == ["a", "new"]
    assert found.notices == ()


def test_where_a_cut_is_lost_what_stood_there_does_not_come_back() -> None:
    found = recalled(*BEGINNING, said(0, "a"), said(1, "b"), said(2, "c"), said(3, "d"), DAMAGE, said(1, "new"))

    assert texts(found) == ["a", "new"]
    assert "1 line damaged" in found.notices[0]


def test_what_was_written_twice_counts_once() -> None:
    twice = [said(0, "a"), said(1, "b")]

    assert texts(recalled(*BEGINNING, *twice, DAMAGE, *twice, said(2, "c"))) == ["a", "b", "c"]


def test_a_compaction_counts_for_the_messages_that_it_stands_for_also_where_they_were_cut_and_said_again() -> None:
    short = Shortened(start=0, end=2, stands=(), task=(), words=(), summary="short")
    before = [*BEGINNING, said(0, "a"), said(1, "b"), short]

    def counting(*further: Record) -> list[str]:
        found = recalled(*before, *further)
        return [each.summary for each in found.compactions if each.applies_to(found.messages)]

    assert counting(said(2, "c")) == ["short"]
    assert counting(Cut(length=1), said(1, "new"), said(2, "c")) == []
    assert counting(Cut(length=1), said(1, "new"), Cut(length=1), said(1, "b")) == ["short"]


def test_a_turn_that_is_over_counts_also_where_the_totals_were_not_written_any_more() -> None:
    spent = Spent(at=WHEN, usage=TOOK, last_turn=TOOK)
    finished = Finished(stop_reason="end_turn", usage=TOOK, files_changed=())
    first = [*BEGINNING, told(1, STARTED), told(2, finished)]
    second = [told(3, STARTED, "t2"), told(4, finished, "t2")]

    assert recalled(*first).usage == TOOK
    assert recalled(*first, spent).usage == TOOK
    assert recalled(*first, spent, *second).usage == TOOK.plus(TOOK)


def test_a_turn_that_was_cut_counts_with_what_it_had_told_last() -> None:
    more = Usage(input_tokens=300, output_tokens=60, context_tokens=120)

    found = recalled(
        *BEGINNING, told(1, STARTED), told(2, UsageReported(usage=TOOK)), told(3, UsageReported(usage=more))
    )

    assert found.usage == more
    assert [each.event.type for each in found.closing] == ["interrupted", "finished"]
    assert [each.seq for each in found.closing] == [4, 5]


def test_all_who_read_of_a_turn_that_was_cut_are_told_the_same_end() -> None:
    cut = [*BEGINNING, told(1, STARTED), told(2, UsageReported(usage=TOOK))]

    first, later = recalled(*cut), recalled(*cut)

    assert first.closing == later.closing
    assert [each.timestamp for each in first.closing] == [WHEN, WHEN]


@pytest.mark.parametrize("lost", range(3), ids=["session", "opened", "state"])
def test_no_record_of_the_beginning_is_needed(lost: int) -> None:
    beginning: list[Record | bytes] = [*BEGINNING]
    beginning[lost] = DAMAGE

    found = recalled(*beginning, said(0, "a"), said(1, "b"))

    assert texts(found) == ["a", "b"]
    assert found.id == "s1"
    assert found.created_at == WHEN
    assert found.working_directory == (NOWHERE if lost == 0 else Path("/w"))
    assert found.name == ("New session" if lost == 2 else "A name")


def test_where_the_beginning_of_a_conversation_is_lost_the_user_begins_all_the_same() -> None:
    found = recalled(*BEGINNING, said(1, "an answer"), said(2, "a prompt"))

    assert [(each.role, each.text) for each in found.messages] == [
        ("user", LOST_BEGINNING),
        ("assistant", "an answer"),
        ("user", "a prompt"),
    ]


def test_where_the_words_of_the_user_between_two_answers_are_lost_that_is_said_there() -> None:
    found = recalled(*BEGINNING, said(0, "a"), said(1, "b"), DAMAGE, said(3, "d"))

    assert [(each.role, each.text) for each in found.messages] == [
        ("user", "a"),
        ("assistant", "b"),
        ("user", LOST_WORDS),
        ("assistant", "d"),
    ]
    assert [each.text for each in found.written] == ["a", "b"]


def test_what_is_lost_is_told_until_a_turn_has_told_it() -> None:
    again = OPENED
    before = [*BEGINNING, said(0, "a"), DAMAGE]

    assert recalled(*before).notices
    assert recalled(*before, again).notices
    telling = [again, told(1, STARTED), told(2, Notice(content=recalled(*before).notices[0], level="warning"))]
    assert recalled(*before, *telling).notices[0].startswith("The last turn was interrupted")
    after = [*telling, told(3, Finished(stop_reason="end_turn", usage=TOOK, files_changed=()))]
    assert recalled(*before, *after).notices == ()
    assert recalled(*before, *after, DAMAGE).notices


def test_what_is_damaged_in_a_part_that_was_gone_on_with_long_ago_is_told() -> None:
    finished = Finished(stop_reason="end_turn", usage=TOOK, files_changed=())
    after = [OPENED, told(1, STARTED), told(2, finished), OPENED, told(3, STARTED, "t2"), told(4, finished, "t2")]

    assert recalled(*BEGINNING, said(0, "a"), *after).notices == ()
    assert "1 line damaged" in recalled(DAMAGE, *BEGINNING, said(0, "a"), *after).notices[0]
    assert "1 line damaged" in recalled(*BEGINNING, said(0, "a"), DAMAGE, *after).notices[0]


def test_a_question_that_was_open_when_its_turn_was_cut_is_no_longer_open() -> None:
    asked = [told(2 + n, PermissionRequested(permission_id=f"p{n}", tool_id=f"c{n}")) for n in range(2)]
    answered = told(4, PermissionResolved(permission_id="p0", tool_id="c0", outcome="allow_once", by="user"))

    found = recalled(*BEGINNING, told(1, STARTED), *asked, answered)

    closing = [each.event for each in found.closing]
    assert closing[0] == PermissionResolved(permission_id="p1", tool_id="c1", outcome="cancelled", by="user")
    assert [each.type for each in closing] == ["permission_resolved", "interrupted", "finished"]


def test_an_event_that_says_nothing_is_told_of_while_its_turn_has_no_end() -> None:
    strange = line_of(told(2, TextDelta(item_id="1", content="lost"))).replace(b'"content":"lost"', b'"content":7')
    before = [*BEGINNING, said(0, "go"), told(1, STARTED), strange, told(3, TextDelta(item_id="2", content="words"))]

    cut_off = recalled(*before)
    assert cut_off.notices[0] == ("The session was loaded only in part. Skipped in its journal: 1 line damaged.")
    assert texts(cut_off) == ["go", f"words{CUT_OFF}"]
    finished = told(4, Finished(stop_reason="end_turn", usage=TOOK, files_changed=()))
    assert recalled(*before, finished).notices == ()


def test_a_journal_that_was_copied_is_a_session_of_its_own() -> None:
    assert recalled(*BEGINNING, session_id="other").id == "other"


def test_moments_that_nobody_could_have_written_are_damage() -> None:
    strange = [
        line_of(STATE).rstrip(b"\n").replace(b"2026-01-02T00:00:00.000000Z", moment)
        for moment in (b"2026-01-02T00:00:00", b"0001-01-01T00:00:00+14:00", b"9999-12-31T23:59:59-14:00", b"soon")
    ]

    found = recalled(*BEGINNING, *strange)

    assert found.updated_at - WHEN < timedelta(seconds=1)
    assert "4 lines damaged" in found.notices[0]


@pytest.mark.parametrize(("data", "why"), [(b"", "empty"), (b"\0" * 100, "damaged"), (b"\n\n", "empty")])
async def test_where_nothing_is_left_it_is_said_why(data: bytes, why: str) -> None:
    with journal_of(data) as root:
        async with daemon(root) as kept:
            with pytest.raises(SessionError, match=why) as caught:
                await kept.sessions.look_at("s1")

    assert caught.value.kind == "unreadable_session"


async def test_a_session_whose_folder_is_lost_goes_on_in_one_that_is_open() -> None:
    data = b"".join(map(line_of, (OPENED, STATE, said(0, "a"), said(1, "b"))))
    with journal_of(data) as root:
        async with daemon(root, GOING_ON) as kept:
            session = await kept.sessions.hold("s1")

            assert session.working_directory == Path("/w")
            assert (await kept.say(session)).text == "Gone on."


@pytest.mark.parametrize("name", ["no-such", "../s1", "s1.jsonl", "", "a" * 200, "folder"])
async def test_what_is_no_session_is_unknown(name: str) -> None:
    with journal_of(line_of(BEGUN)) as root:
        (root / "folder.jsonl").mkdir()
        async with daemon(root) as kept:
            for wanted in (kept.sessions.look_at, kept.sessions.hold, kept.sessions.delete):
                with pytest.raises(SessionError) as caught:
                    await wanted(name)
                assert caught.value.kind == "unknown_session"
