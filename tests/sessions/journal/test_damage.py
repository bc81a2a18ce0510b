"""Whatever happens to a journal's bytes, its session loads as far as it can, says so, and can be gone on with."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.decoder import UnreadableError, parsed, record_of
from pygent_ls.sessions.journal.records import Begun, Opened, Said, State
from pygent_ls.sessions.journal.replay import MOST_SEQ
from tests.sessions.journal.kept import (
    GOING_ON,
    check_conversation,
    check_requests,
    daemon,
    eventful_journal,
    events_in,
    journal_of,
    records_in,
)

_PLACES = st.floats(0, 1, exclude_max=True)
"""Where in a journal: a share of its bytes, or of its lines."""

_NOISE = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.sampled_from([b"\0" * 4096, b"\xff\xfe", b"\xed\xa0\x80", b"\n", b"\r\n", b'{"v":1}', b"[" * 5000, b"9" * 6000]),
)


@st.composite
def _damages(draw: st.DrawFn) -> bytes:
    """The journal, after one to three things have happened to it."""
    data = eventful_journal()[1]
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["cut", "overwrite", "insert", "drop", "double", "swap", "flip", "lose the head"]))
        at = int(draw(_PLACES) * len(data))
        lines = data.splitlines(keepends=True) or [b""]
        line, other = (int(draw(_PLACES) * len(lines)) for _ in range(2))
        match kind:
            case "cut":
                data = data[:at]
            case "overwrite":
                noise = draw(_NOISE)
                data = data[:at] + noise + data[at + len(noise) :]
            case "insert":
                data = data[:at] + draw(_NOISE) + data[at:]
            case "drop":
                data = b"".join([*lines[:line], *lines[max(line, other) + 1 :]])
            case "double":
                data = b"".join([*lines[:line], *lines[other:]])
            case "swap":
                lines[line], lines[other] = lines[other], lines[line]
                data = b"".join(lines)
            case "flip" if data:
                data = data[:at] + bytes([data[at] ^ (1 << draw(st.integers(0, 7)))]) + data[at + 1 :]
            case _:
                data = data[at:]
    return data


@given(_damages())
def test_whatever_is_damaged_the_rest_loads_and_can_be_gone_on_with(data: bytes) -> None:
    asyncio.run(_check(data))


async def _check(data: bytes) -> None:
    left = records_in(data)
    with journal_of(data) as root:
        path = root / "s1.jsonl"
        async with daemon(root, GOING_ON) as kept:
            if not any(isinstance(each, Begun | State | Said) for each in left):
                with pytest.raises(SessionError, match="its journal is") as caught:
                    await kept.sessions.hold("s1")
                assert caught.value.kind == "unreadable_session"
                assert path.read_bytes() == data
                return
            session = await kept.sessions.hold("s1")
            assert (await kept.sessions.look_at("s1")).id == "s1"
            check_conversation(session.messages)
            assert session.last_seq >= max(
                (seq for each in events_in(data) if (seq := each.seq) <= MOST_SEQ), default=0
            )
            assert (await kept.say(session)).text == "Gone on."
            check_requests(kept.model)
            went_on = list(session.messages)
        written = path.read_bytes()
        assert written.startswith(data)
        notices = [each.event.content for each in events_in(written[len(data) :]) if each.event.type == "notice"]
        is_told = any("loaded only in part" in each for each in notices)
        assert is_told <= bool(_unreadable(data, closely=True))
        if sum(isinstance(each, Opened) for each in left) < 2:  # else a daemon before this one may have told it
            assert is_told >= bool(_unreadable(data, closely=False))
        async with daemon(root, GOING_ON) as again:
            later = await again.sessions.hold("s1")
            assert later.messages == went_on
            assert (await again.say(later)).text == "Gone on."
            check_requests(again.model)


def _unreadable(data: bytes, *, closely: bool) -> list[bytes]:
    """The lines that are lost. Most events are not looked at closely when a session is loaded."""
    found: list[bytes] = []
    for line in filter(None, data.split(b"\n")):
        try:
            given = parsed(line)
            if closely or given["type"] != "event":
                record_of(given)
        except UnreadableError:
            found.append(line)
    return found
