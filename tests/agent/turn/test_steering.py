"""What the user says while a turn runs joins the conversation before the next model call, and is never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pygent_ls.agent.events import Finished, Steered, Text, ToolResult
from pygent_ls.agent.messages import Message
from pygent_ls.agent.ports.model import TextChunk
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import Steering, TurnResult
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError
from tests.agent.abilities import saying, waiting
from tests.agent.turns import cancel_turn, check_turn, new_turn
from tests.fakes import Call, FakeModel, Gate, Rig, bounded, make_rig, say

LOOK = Call(name="look", arguments={})


def word(text: str) -> Steering:
    return Steering(shown=text, content=text)


async def run_and_say(rig: Rig, turn: Turn, gate: Gate, *words: str) -> TurnResult:
    """Run the turn, and say this when it stands at the gate."""
    n_before = len(rig.events.stamped)
    async with asyncio.TaskGroup() as group:
        work = group.create_task(turn.run())
        await gate.reached()
        assert [turn.steer(word(each)) for each in words] == [True] * len(words)
        gate.open()
        result = await bounded(work)
    check_turn(turn, result, rig.events.stamped[n_before:])
    return result


async def test_it_comes_after_the_results_of_the_tools_that_run() -> None:
    gate, history = Gate(), list[Message]()
    rig, model = make_rig(waiting("look", gate)), FakeModel([say("", LOOK), say("Done.")])
    result = await run_and_say(rig, new_turn(rig, model, history), gate, "also look at b", "and at c")
    assert result.text == "Done."
    assert [each.text for each in history] == ["do it", "", "", "also look at b", "and at c", "Done."]
    assert [each.text for each in model.requests[1].messages][3:] == ["also look at b", "and at c"]
    types = rig.events.types
    assert types.index("tool_result") < types.index("steered") < types.index("text")
    assert rig.events.of(Steered) == [Steered(content="also look at b"), Steered(content="and at c")]


@pytest.mark.parametrize("moment", [0, 1])
async def test_while_the_last_answer_streams_it_makes_one_more_call(moment: int) -> None:
    gate, history = Gate(), list[Message]()
    answer = say("All done.")
    answer.insert(moment, gate)
    rig, model = make_rig(), FakeModel([answer, say("That, too.")])
    result = await run_and_say(rig, new_turn(rig, model, history), gate, "one more thing")
    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "That, too.", 2)
    assert [each.text for each in history] == ["do it", "All done.", "one more thing", "That, too."]


async def test_when_the_last_answer_is_told_it_is_not_too_late() -> None:
    rig, model, history = make_rig(), FakeModel([say("All done."), say("That, too.")]), list[Message]()
    gate = rig.events.gates[Text] = Gate()
    assert (await run_and_say(rig, new_turn(rig, model, history), gate, "more")).text == "That, too."


async def test_once_the_outcome_is_settled_it_is_refused() -> None:
    rig, history = make_rig(), list[Message]()
    gate = rig.events.gates[Finished] = Gate()
    turn = new_turn(rig, FakeModel([say("All done.")]), history)
    async with asyncio.TaskGroup() as group:
        work = group.create_task(turn.run())
        await gate.reached()
        assert not turn.steer(word("too late"))
        gate.open()
        await bounded(work)
    assert not turn.steer(word("far too late"))
    assert [each.text for each in history] == ["do it", "All done."]


async def test_what_could_not_be_answered_any_more_is_there_for_the_next_turn() -> None:
    gate, history = Gate(), list[Message]()
    rig, model = make_rig(waiting("look", gate)), FakeModel([say("", LOOK)] * 9)
    turn = new_turn(rig, model, history, limits=TurnLimits(max_iterations=1))
    assert (await run_and_say(rig, turn, gate, "look elsewhere")).stop_reason == "max_iterations"
    assert history[-1].text == "look elsewhere"
    assert rig.events.types[-2:] == ["steered", "finished"]


async def test_a_failure_does_not_lose_it() -> None:
    gate, history = Gate(), list[Message]()
    rig, model = make_rig(), FakeModel([[TextChunk(text="half"), gate, ModelError("no key", type="auth")]])
    assert (await run_and_say(rig, new_turn(rig, model, history), gate, "hello?")).stop_reason == "error"
    assert [each.text for each in history] == ["do it", "hello?"]


async def test_a_cancel_does_not_lose_it() -> None:
    gate, history = Gate(), list[Message]()
    rig = make_rig(saying("look", "seen"))
    turn = new_turn(rig, FakeModel([[TextChunk(text="half"), gate]]), history)
    await cancel_turn(rig, turn, _saying(turn, gate, "wait"))
    assert [each.text for each in history][2:] == ["wait"]
    assert rig.events.types[-3:] == ["steered", "cancelled", "finished"]
    assert rig.events.of(ToolResult) == []


def _saying(turn: Turn, gate: Gate, text: str) -> Callable[[], Awaitable[None]]:
    async def when() -> None:
        await gate.reached()
        assert turn.steer(word(text))

    return when
