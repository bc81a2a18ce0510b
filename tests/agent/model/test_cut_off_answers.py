"""Answers that reached the output limit: text is gone on with, a call gets more room, and nothing that is half runs."""

from __future__ import annotations

import pytest

from pygent_ls.agent.events import LlmError, Text, TextDelta, ToolCall
from pygent_ls.agent.messages import Message
from pygent_ls.agent.ports.model import ModelFacts
from pygent_ls.agent.turn.loop import GO_ON
from tests.agent.abilities import saying
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeModel, make_rig, say

HALF_A_CALL = Call(name="look", arguments='{"path": "z.txt", "content": "half')
LOOK = Call(name="look", arguments={})


@pytest.mark.parametrize("finish", ["length", "max_tokens"])
async def test_text_that_did_not_fit_is_gone_on_with_once(finish: str) -> None:
    history = list[Message]()
    model = FakeModel([say("One, two, ", finish=finish), say("three.")])
    result = await run_turn(make_rig(), model, history)
    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "One, two, three.", 2)
    assert [each.text for each in history] == ["do it", "One, two, ", GO_ON, "three."]


async def test_text_that_did_not_fit_twice_ends_the_turn() -> None:
    history = list[Message]()
    model = FakeModel([say("One, ", finish="length"), say("two, ", finish="length"), say("never")])
    result = await run_turn(make_rig(), model, history)
    assert (result.stop_reason, result.text) == ("max_output_tokens", "One, two, ")
    assert [each.role for each in history] == ["user", "assistant", "user", "assistant"]
    assert (await run_turn(make_rig(), FakeModel([say("x")]), history, turn_id="turn-2")).text == "x"


async def test_only_the_answer_that_did_not_fit_is_joined() -> None:
    rig = make_rig(saying("look", "seen"))
    model = FakeModel([say("Let me ", finish="length"), say("look.", LOOK), say("Done.")])
    assert (await run_turn(rig, model)).text == "Done."


async def test_each_answer_of_a_turn_may_be_gone_on_with() -> None:
    rig = make_rig(saying("look", "seen"))
    model = FakeModel(
        [say("Let me ", finish="length"), say("look.", LOOK), say("It is ", finish="length"), say("done.")]
    )
    assert (await run_turn(rig, model)).text == "It is done."


@pytest.mark.parametrize(("most", "room"), [(None, 2_000), (5_000, 5_000)])
async def test_a_call_that_did_not_fit_gets_more_room_and_is_asked_for_again(most: int | None, room: int) -> None:
    rig, history = make_rig(saying("look", "seen")), list[Message]()
    model = FakeModel([say("I look.", HALF_A_CALL, finish="length"), say("I look.", LOOK), say("Done.")])
    model.facts = ModelFacts(max_output_tokens=most)

    result = await run_turn(rig, model, history)

    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "Done.", 2)
    assert [each.max_output_tokens for each in model.requests] == [1_000, room, room]
    assert model.requests[0].messages == model.requests[1].messages
    assert [each.tool_name for each in rig.events.of(ToolCall)] == ["look"]
    (cut,) = rig.events.of(LlmError)
    assert cut.will_retry
    assert cut.error_message == (
        f"The answer was cut off in a tool call at 1000 tokens. Retrying with room for {room}."
    )
    kept = [each.item_id for each in rig.events.of(Text)]
    assert {each.item_id for each in rig.events.of(TextDelta)} == {*kept, *cut.withdrawn}
    assert not set(kept) & set(cut.withdrawn)


async def test_a_call_that_does_not_fit_into_more_room_never_runs() -> None:
    rig, history = make_rig(saying("look", "seen")), list[Message]()
    model = FakeModel([say("I look.", HALF_A_CALL, finish="length")] * 9)
    result = await run_turn(rig, model, history)
    assert (result.stop_reason, len(model.requests)) == ("max_output_tokens", 2)
    assert rig.events.of(ToolCall) == []
    assert [each.text for each in history] == ["do it", "I look."]


async def test_where_there_is_no_more_room_it_is_not_asked_again() -> None:
    model = FakeModel([say("I look.", HALF_A_CALL, finish="length")] * 9)
    model.facts = ModelFacts(max_output_tokens=1_000)
    result = await run_turn(make_rig(saying("look", "seen")), model)
    assert (result.stop_reason, len(model.requests)) == ("max_output_tokens", 1)


async def test_a_model_that_only_thought_gets_more_room_too() -> None:
    history = list[Message]()
    model = FakeModel([say("", thinking="hm, hm", finish="length"), say("Done.", thinking="hm")])
    assert (await run_turn(make_rig(), model, history)).text == "Done."
    assert [each.max_output_tokens for each in model.requests] == [1_000, 2_000]


async def test_what_was_cut_off_cost_what_it_cost() -> None:
    model = FakeModel([say("I look.", HALF_A_CALL, finish="length"), say("Done.")])
    assert (await run_turn(make_rig(saying("look", "seen")), model)).usage.total_tokens == 240
