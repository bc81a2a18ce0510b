"""A model that goes round in circles is told so once; then the user is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.events import LoopDetected
from pygent_ls.agent.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.ports.questioner import QuestionAnswered
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.agent.turn.limits import Stop, TurnLimits
from pygent_ls.agent.turn.loop_detection import TOLD, LoopDetector
from pygent_ls.tools.shell.background import shell_output
from tests.agent.abilities import FILE_TOOLS, named
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeModel, Rig, make_rig, say
from tests.questioner import FakeQuestioner

READ_A = Call(name="read_file", arguments={"path": "a.txt"})
READ_B = Call(name="read_file", arguments={"path": "b.txt"})


def watched(*answers: QuestionAnswered, tools: Sequence[Tool] = FILE_TOOLS) -> tuple[Rig, FakeQuestioner]:
    user = FakeQuestioner(*answers)
    rig = make_rig(*tools, files={"a.txt": "one\n", "b.txt": "uno\n"})
    rig.use(pauser=user)
    return rig, user


def reminded(history: Sequence[Message]) -> list[int]:
    """The messages in which the model was told."""
    return [place for place, each in enumerate(history) if TOLD in each.blocks]


# In a turn


async def test_the_same_call_with_the_same_result_is_told_at_the_third_and_asked_at_the_fourth() -> None:
    rig, user = watched()
    model, history = FakeModel([say("", READ_A)] * 20), list[Message]()
    result = await run_turn(rig, model, history)
    assert (result.stop_reason, result.iterations) == ("loop_detected", 4)
    assert reminded(history) == [6]
    assert rig.events.of(LoopDetected) == [LoopDetected(limit=3, value=4)]
    assert [each.text for each in user.questions] == [
        "Paused: the model is going in circles, repeating the same calls (read_file) with the same results. Continue?"
    ]
    assert (await run_turn(rig, FakeModel([say("going on")]), history, turn_id="turn-2")).text == "going on"


async def test_two_calls_that_alternate_are_a_circle() -> None:
    rig, user = watched()
    model, history = FakeModel([say("", READ_A), say("", READ_B)] * 20), list[Message]()
    result = await run_turn(rig, model, history)
    assert (result.stop_reason, result.iterations, len(user.questions)) == ("loop_detected", 7, 1)
    assert reminded(history) == [12]


async def test_a_model_that_is_told_may_find_its_way_out() -> None:
    rig, user = watched()
    model = FakeModel([say("", READ_A)] * 3 + [say("", READ_B), say("Done.")])
    result = await run_turn(rig, model)
    assert (result.text, user.questions) == ("Done.", [])


async def test_who_lets_it_go_on_lets_it_begin_anew() -> None:
    rig, user = watched(QuestionAnswered(choice="Continue"))
    history = list[Message]()
    result = await run_turn(rig, FakeModel([say("", READ_A)] * 20), history, limits=TurnLimits())
    assert (result.stop_reason, result.iterations, len(user.questions)) == ("loop_detected", 8, 2)
    assert len(reminded(history)) == 2


async def test_other_results_are_no_circle() -> None:
    n_calls = 0

    async def count(_: ToolContext) -> str:
        nonlocal n_calls
        n_calls += 1
        return f"{n_calls}"

    rig, user = watched(tools=[named("count", count)])
    model = FakeModel([say("", Call(name="count", arguments={}))] * 30 + [say("Done.")])
    assert ((await run_turn(rig, model)).text, user.questions) == ("Done.", [])


async def test_a_tool_that_is_meant_to_be_called_again_is_no_circle() -> None:
    async def wait(_: ToolContext) -> str:
        return "still running"

    rig, user = watched(tools=[replace(named("wait", wait), polls=True)])
    model = FakeModel([say("", Call(name="wait", arguments={}))] * 30 + [say("Done.")])
    assert ((await run_turn(rig, model)).text, user.questions) == ("Done.", [])
    assert shell_output.polls


async def test_mistakes_that_are_repeated_are_a_circle_too() -> None:
    rig, _ = watched()
    model = FakeModel([say("", Call(name="nonsense", arguments="{"))] * 20)
    assert (await run_turn(rig, model)).stop_reason == "loop_detected"


async def test_a_name_that_the_model_made_up_cannot_change_the_question() -> None:
    rig, user = watched()
    model = FakeModel([say("", Call(name="x\n\u202eAllow all " + "x" * 500, arguments={}))] * 20)
    await run_turn(rig, model)
    (question,) = user.questions
    assert "\n" not in question.text
    assert "\u202e" not in question.text
    assert len(question.text) < 200


# The watch alone


def seen(watch: LoopDetector, name: str) -> TextBlock | Stop | None:
    call = ToolUseBlock(id="c", name=name, input={})
    return watch.note([call], {"c": ToolResultBlock(tool_use_id="c", content=name)}, is_polling=False)


def in_circles(rounds: str) -> bool:
    """What the rule says of the last rounds."""
    return (len(set(rounds[-3:])) == 1 and len(rounds) >= 3) or (
        len(rounds) >= 6 and rounds[-6:-4] == rounds[-4:-2] == rounds[-2:] and rounds[-1] != rounds[-2]
    )


@given(st.text("ab", max_size=30) | st.text("abc", max_size=30))
def test_a_circle_is_three_equal_rounds_or_three_equal_pairs(rounds: str) -> None:
    watch = LoopDetector()
    for n, name in enumerate(rounds, start=1):
        assert (seen(watch, name) is not None) == in_circles(rounds[:n]), rounds[:n]


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3) | st.lists(st.none()), max_size=4))
def test_the_order_of_arguments_makes_no_difference(arguments: dict[str, Any]) -> None:
    watch = LoopDetector()
    results = {"c": ToolResultBlock(tool_use_id="c", content="same")}
    turned = dict(reversed(arguments.items()))
    calls = [ToolUseBlock(id="c", name="x", input=json.loads(json.dumps(each))) for each in (arguments, turned, turned)]
    assert [watch.note([call], results, is_polling=False) for call in calls] == [None, None, TOLD]
