"""A call is shown while it arrives if it is long and comes in pieces."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.model import ToolCallChunk
from pygent_ls.agent.turn.call_drafts import MIN_CHARS, CallDrafts

LONG = json.dumps({"path": "a.py", "content": "x = 1\n" * 100})


def chunks(arguments: str, size: int, index: int = 0) -> list[ToolCallChunk]:
    first = ToolCallChunk(index=index, id="call_1", name="create_file", arguments="")
    cut = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    return [first, *(ToolCallChunk(index=index, arguments=each) for each in cut)]


@given(size=st.integers(1, 500))
def test_all_texts_of_a_long_call_are_shown_under_one_item(size: int) -> None:
    drafts = CallDrafts("t1-1")

    deltas = [delta for chunk in chunks(LONG, size) for delta in drafts.add(chunk)]

    assert {(each.item_id, each.tool_name) for each in deltas} == {("t1-1-call-0", "create_file")}
    for name, value in json.loads(LONG).items():
        assert "".join(each.content for each in deltas if each.argument == name) == value
    assert (drafts.shown, drafts.item_of(0)) == (["t1-1-call-0"], "t1-1-call-0")


def test_a_call_in_one_piece_and_a_short_one_have_no_deltas() -> None:
    drafts = CallDrafts("t1-1")
    short = json.dumps({"path": "a" * (MIN_CHARS - 2)})

    deltas = [delta for chunk in [*chunks(LONG, 10_000), *chunks(short, 3, 1)] for delta in drafts.add(chunk)]

    assert deltas == []
    assert (drafts.shown, drafts.item_of(0), drafts.item_of(1), drafts.item_of(7)) == ([], "", "", "")


def test_calls_that_arrive_in_turn_stay_apart() -> None:
    drafts = CallDrafts("t1-1")
    both = zip(chunks(LONG, 50), chunks(LONG, 50, 1), strict=True)

    deltas = [delta for pair in both for chunk in pair for delta in drafts.add(chunk)]

    for index in (0, 1):
        own = [each for each in deltas if each.item_id == f"t1-1-call-{index}"]
        assert "".join(each.content for each in own if each.argument == "content") == "x = 1\n" * 100
