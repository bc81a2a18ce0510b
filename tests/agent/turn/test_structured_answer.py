"""A turn whose answer must be valid against a schema comes to such an answer, or says that it did not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from pygent_ls.agent.context.window import CompactionRules, ContextRules
from pygent_ls.agent.events import Compacted, LlmError, PermissionRequested, ToolCall, ToolResult
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Message, ToolResultBlock, Usage
from pygent_ls.agent.model.retry import RetryPolicy
from pygent_ls.agent.ports.hooks import HookOutcome
from pygent_ls.agent.tools.structured_output import Structured
from pygent_ls.agent.turn.loop import GO_ON, Turn
from pygent_ls.agent.turn.structured_answer import HOW_TO_ANSWER, MAX_REFUSED, TAKEN, TOO_EARLY
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.tools.tasks import task
from tests.agent.abilities import FILE_TOOLS, raising, read_file, saying, waiting
from tests.agent.compaction.test_compactor import worked
from tests.agent.turn.test_steering import run_and_say
from tests.agent.turn.test_subagents import ask, delegating
from tests.agent.turns import cancel_turn, check_history, check_turn, new_turn, run_turn
from tests.fakes import Call, FakeModel, Gate, Rig, bounded, make_rig, say
from tests.hooks import FakeHooks, deny

PERSON: Mapping[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "path": {"type": "string"}},
    "required": ["name"],
}
NUMBERS: Mapping[str, Any] = {"type": "array", "items": {"type": "integer"}}

ADA = {"name": "Ada"}


def give(arguments: Mapping[str, Any] | str, call_id: str | None = None) -> Call:
    return Call(name="structured_output", arguments=arguments, id=call_id)


def results_in(history: list[Message]) -> list[tuple[str, bool]]:
    """What the model reads of its calls, and whether that is an error."""
    blocks = (block for message in history for block in message.blocks if isinstance(block, ToolResultBlock))
    return [(block.content, block.is_error) for block in blocks]


async def test_a_valid_call_ends_the_turn_with_its_value() -> None:
    rig, history = make_rig(saying("look", "seen")), list[Message]()
    model = FakeModel([say("I look.", Call(name="look", arguments={})), say("It is Ada.", give(ADA))])

    result = await run_turn(rig, model, history, output_schema=PERSON)

    assert (result.stop_reason, result.structured, result.text) == ("end_turn", Structured(value=ADA), "It is Ada.")
    assert result.iterations == 2
    assert results_in(history) == [("seen", False), (TAKEN, False)]
    assert [(each.tool_name, each.read_only, each.risk) for each in rig.events.of(ToolCall)] == [
        ("look", True, "low"),
        ("structured_output", True, "low"),
    ]
    for request in model.requests:
        assert [tool.name for tool in request.tools] == ["look", "structured_output"]
        assert request.tools[1].schema == PERSON
        assert request.system.startswith(f"You are a test.\n\n{HOW_TO_ANSWER}")


async def test_without_a_schema_nothing_of_it_is_there() -> None:
    rig, model = make_rig(), FakeModel([say("", give(ADA)), say("Done.")])

    result = await run_turn(rig, model)

    assert (result.stop_reason, result.structured) == ("end_turn", None)
    assert (model.requests[0].tools, HOW_TO_ANSWER in model.requests[0].system) == ([], False)
    assert "There is no tool named 'structured_output'" in rig.events.of(ToolResult)[0].content


@pytest.mark.parametrize("value", [[], [1, 2]])
async def test_a_value_that_is_no_object_comes_out_as_it_is(value: list[int]) -> None:
    result = await run_turn(make_rig(), FakeModel([say("", give({"value": value}))]), output_schema=NUMBERS)
    assert result.structured == Structured(value=value)


async def test_null_is_a_result_like_any_other() -> None:
    result = await run_turn(make_rig(), FakeModel([say("", give({"value": None}))]), output_schema={"type": "null"})
    assert result.structured == Structured(value=None)


async def test_the_model_is_told_what_is_wrong_and_may_try_again() -> None:
    history = list[Message]()
    model = FakeModel([say("", give({"nom": "Ada"})), say("", give('{"name": "Ad')), say("", give(ADA))])

    result = await run_turn(make_rig(), model, history, output_schema=PERSON)

    assert (result.structured, result.iterations) == (Structured(value=ADA), 3)
    (first, second, last) = results_in(history)
    assert first == (
        "Error: The answer does not match the schema:\n- $: 'name' is a required property\nCall "
        "structured_output again with the complete answer.",
        True,
    )
    assert "The arguments are not valid JSON" in second[0]
    assert last == (TAKEN, False)


async def test_half_of_an_answer_is_not_closed_as_the_arguments_of_reading_tools_are() -> None:
    model = FakeModel([say("", give('{"value": [1, 2')), say("", give({"value": [1, 2, 3]}))])
    result = await run_turn(make_rig(), model, output_schema=NUMBERS)
    assert result.structured == Structured(value=[1, 2, 3])


async def test_who_never_gets_it_right_is_stopped() -> None:
    rig, history = make_rig(), list[Message]()
    model = FakeModel([say(f"Try {n}.", give({"name": n})) for n in range(20)])

    result = await run_turn(rig, model, history, output_schema=PERSON)

    assert (result.stop_reason, result.structured, result.text) == ("error", None, "Try 4.")
    assert len(model.requests) == MAX_REFUSED
    assert result.error is not None
    assert result.error.message.startswith(
        "fake/model gave no structured result: the answer was refused 5 times, the last time with: "
        "Error: The answer does not match the schema:\n- $.name: 4 is not of type 'string'\n"
    )
    assert [each.error_message for each in rig.events.of(LlmError)] == [result.error.message]


# Words in place of a call


async def test_an_answer_in_words_is_asked_for_the_call() -> None:
    history = list[Message]()
    model = FakeModel([say("It is Ada."), say("I said so."), say("", give(ADA))])

    result = await run_turn(make_rig(), model, history, output_schema=PERSON)

    assert (result.stop_reason, result.structured, result.iterations) == ("end_turn", Structured(value=ADA), 3)
    asked = [message.text for message in history[1:] if message.role == "user" and message.text]
    assert len(asked) == 2
    for text in asked:
        assert text.startswith("No answer was received: structured_output was not called.")
        assert text.endswith(json.dumps(PERSON)), "for a model that is offered no tools"


async def test_words_for_the_third_time_are_an_error_that_says_so_and_stay() -> None:
    rig, history = make_rig(), list[Message]()
    model = FakeModel([say("It is Ada."), say("I said so."), say("Ada!"), say("", give(ADA))])

    result = await run_turn(rig, model, history, output_schema=PERSON)

    assert (result.stop_reason, result.structured, result.text) == ("error", None, "Ada!")
    assert result.error is not None
    assert result.error.message == (
        "fake/model gave no structured result: it ended without a result although it was asked for one 2 times. "
        "Try again, or choose another model."
    )
    assert [each.error_message for each in rig.events.of(LlmError)] == [result.error.message]
    assert history[-1].text == "Ada!"
    assert (await run_turn(rig, FakeModel([say("Hello.")]), history, turn_id="turn-2")).text == "Hello."


async def test_an_answer_of_nothing_is_asked_for_the_call_too() -> None:
    look = Call(name="look", arguments={})
    history = list[Message]()
    model = FakeModel([say("", look), say(""), say("", finish="tool_calls"), say("", give(ADA))])
    result = await run_turn(make_rig(saying("look", "seen")), model, history, output_schema=PERSON)
    assert (result.structured, result.iterations) == (Structured(value=ADA), 4)
    assert [each.text.partition(":")[0] for each in history if each.text] == ["do it"] + ["No answer was received"] * 2


async def test_words_that_are_the_value_and_nothing_else_count() -> None:
    model = FakeModel([say('```json\n{"name": "Ada"}\n```')])
    result = await run_turn(make_rig(), model, output_schema=PERSON)
    assert (result.stop_reason, result.structured, result.iterations) == ("end_turn", Structured(value=ADA), 1)


async def test_a_value_in_words_that_did_not_fit_is_put_together() -> None:
    history = list[Message]()
    model = FakeModel([say('{"name": ', finish="length"), say('"Ada"}')])
    result = await run_turn(make_rig(), model, history, output_schema=PERSON)
    assert (result.structured, history[2].text) == (Structured(value=ADA), GO_ON)


# Other calls beside it


async def test_calls_beside_it_run_first_and_each_has_its_result_in_its_place() -> None:
    gate, history = Gate(), list[Message]()
    rig = make_rig(waiting("look", gate, "seen"), saying("note", "noted", read_only=False))
    calls = (give(ADA, "c1"), Call(name="look", arguments={}, id="c2"), Call(name="note", arguments={}, id="c3"))
    turn = new_turn(rig, FakeModel([say("", *calls)]), history, output_schema=PERSON)

    result = await run_and_say(rig, turn, gate)

    assert (result.stop_reason, result.structured) == ("end_turn", Structured(value=ADA))
    assert results_in(history) == [(TAKEN, False), ("seen", False), ("noted", False)]
    assert [each.tool_id for each in rig.events.of(ToolResult)] == ["c2", "c3", "c1"]


async def test_an_answer_beside_a_call_that_failed_was_given_too_early() -> None:
    history = list[Message]()
    rig = make_rig(raising("look", ValueError("no light")))
    model = FakeModel([say("", give(ADA), Call(name="look", arguments={})), say("", give({"name": "nobody"}))])

    result = await run_turn(rig, model, history, output_schema=PERSON)

    assert result.structured == Structured(value={"name": "nobody"})
    assert results_in(history) == [
        (f"Error: {TOO_EARLY}", True),
        ("Error: look failed: ValueError: no light", True),
        (TAKEN, False),
    ]


async def test_of_two_answers_side_by_side_the_later_one_counts() -> None:
    model = FakeModel([say("", give(ADA), give({"name": "Eve"}))])
    result = await run_turn(make_rig(), model, output_schema=PERSON)
    assert result.structured == Structured(value={"name": "Eve"})


# What it is not kept from, and what it does not open


@pytest.mark.parametrize("mode", ["default", "plan", "accept_edits", "trust"])
async def test_it_needs_no_permission_in_any_mode(mode: Mode) -> None:
    rig = make_rig(mode=mode)
    result = await run_turn(rig, FakeModel([say("", give(ADA))]), output_schema=PERSON)
    assert (result.structured, rig.events.of(PermissionRequested)) == (Structured(value=ADA), [])


async def test_no_path_is_meant_by_what_it_holds() -> None:
    outside = {"name": "x", "path": "../../etc/passwd"}
    rig = make_rig(*FILE_TOOLS)
    result = await run_turn(rig, FakeModel([say("", give(outside))]), output_schema=PERSON)
    assert result.structured == Structured(value=outside)
    assert rig.events.of(ToolCall)[0].locations == ()


async def test_it_leaves_what_was_cached_alone() -> None:
    rig = make_rig(read_file, files={"a.txt": "one"})
    read = Call(name="read_file", arguments={"path": "a.txt"})
    await run_turn(rig, FakeModel([say("", read), say("", give(ADA))]), output_schema=PERSON)
    await run_turn(rig, FakeModel([say("", read), say("Done.")]), turn_id="turn-2")
    assert [each.cached for each in rig.events.of(ToolResult) if each.tool_name == "read_file"] == [False, True]


async def test_subagents_answer_with_words() -> None:
    rig = make_rig(task)
    child = FakeModel([say("", give(ADA)), say("I found Ada.")])
    model = FakeModel([say("", ask("other")), say("", give({"name": "Eve"}))])
    turn = new_turn(rig, model, output_schema=PERSON, delegate=delegating({"other": child}))

    result = await bounded(turn.run())

    check_turn(turn, result, rig.events.stamped)
    assert result.structured == Structured(value={"name": "Eve"})
    assert [tool.name for tool in child.requests[0].tools] == ["task"]
    refused = rig.events.of(ToolResult)[0].content
    assert "structured_output is only for the main turn, not for its subagents: answer in text" in refused


async def test_a_schema_that_cannot_be_used_is_refused_before_anything_happens() -> None:
    with pytest.raises(SessionError, match="cannot be used"):
        new_turn(make_rig(), FakeModel([]), output_schema={"$ref": "https://example.com/schema"})


# When something comes between


async def test_what_the_user_says_meanwhile_is_heard_before_the_answer_counts() -> None:
    gate, history = Gate(), list[Message]()
    answer = say("", give(ADA))
    answer.insert(0, gate)
    model = FakeModel([answer, say("You mean Eve."), say("", give({"name": "Eve"}))])
    rig = make_rig()

    result = await run_and_say(rig, new_turn(rig, model, history, output_schema=PERSON), gate, "no, the other one")

    assert (result.structured, result.iterations) == (Structured(value={"name": "Eve"}), 3)


async def test_a_stop_hook_that_wants_more_wants_another_answer_too() -> None:
    said = [deny("2 tests fail"), HookOutcome()]
    rig = make_rig()
    rig.use(hooks=FakeHooks({"stop": lambda _: said.pop(0)}))
    model = FakeModel([say("", give(ADA)), say("", give({"name": "Eve"}))])
    result = await run_turn(rig, model, output_schema=PERSON)
    assert result.structured == Structured(value={"name": "Eve"})


async def test_a_hook_may_change_or_refuse_an_answer() -> None:
    said = [deny("too short"), HookOutcome(tool_input={"name": 7}), HookOutcome(tool_input={"name": "Grace"})]
    rig, history = make_rig(), list[Message]()
    rig.use(hooks=FakeHooks({"pre_tool_use": lambda _: said.pop(0)}))
    turn = new_turn(rig, FakeModel([say("", give(ADA))] * 3), history, output_schema=PERSON)

    result = await bounded(turn.run())

    check_history(history)
    assert result.structured == Structured(value={"name": "Grace"})
    assert [is_error for _, is_error in results_in(history)] == [True, True, False]


async def test_a_limit_that_comes_first_ends_the_turn_without_a_value() -> None:
    rig, history = make_rig(), list[Message]()
    model = FakeModel([say("It is Ada."), say("", give(ADA))])
    result = await run_turn(rig, model, history, output_schema=PERSON, limits=TurnLimits(max_iterations=1))
    assert (result.stop_reason, result.structured) == ("max_iterations", None)

    spent = Usage(input_tokens=500)
    for answer in (
        say("It is Ada.", usage=spent),
        say("", give({"nom": "Ada"}), usage=spent),
        say("", give(ADA), Call(name="look", arguments={}), usage=spent),
    ):
        model = FakeModel([answer, say("", give(ADA))])
        result = await run_turn(make_rig(), model, output_schema=PERSON, limits=TurnLimits(max_tokens=100))
        assert (result.stop_reason, result.structured, len(model.requests)) == ("token_limit", None, 1)


async def test_a_last_answer_is_taken_as_words_are_however_much_was_spent_on_it() -> None:
    model = FakeModel([say("", give(ADA), usage=Usage(input_tokens=500))])
    result = await run_turn(make_rig(), model, output_schema=PERSON, limits=TurnLimits(max_tokens=100))
    assert (result.stop_reason, result.structured) == ("end_turn", Structured(value=ADA))


async def test_a_refusal_stays_one() -> None:
    model = FakeModel([say("I will not.", finish="refusal")])
    result = await run_turn(make_rig(), model, output_schema=PERSON)
    assert (result.stop_reason, result.structured, result.iterations) == ("refusal", None, 1)


@pytest.mark.parametrize("moment", ["while it is asked for", "beside another call", "after it was given"])
async def test_a_cancel_leaves_a_history_that_can_go_on_and_no_value(moment: str) -> None:
    gate, history = Gate(), list[Message]()
    rig = make_rig(waiting("look", gate))
    script = [say("It is Ada."), [gate]]
    if moment == "beside another call":
        script = [say("", give(ADA), Call(name="look", arguments={}))]
    if moment == "after it was given":
        hooks = FakeHooks({"stop": HookOutcome()})
        hooks.gates["stop"] = gate
        rig, script = rig.use(hooks=hooks), [say("", give(ADA))]

    result = await cancel_turn(rig, new_turn(rig, FakeModel(script), history, output_schema=PERSON), gate.reached)

    assert (result.stop_reason, result.structured) == ("cancelled", None)
    gate.open()
    assert (await run_turn(rig, FakeModel([say("Hello.")]), history, turn_id="turn-2")).text == "Hello."


async def test_a_retry_and_a_fallback_are_offered_it_too() -> None:
    first = FakeModel([[ModelError("busy", type="overloaded")]] * 2)
    other = FakeModel([say("", give(ADA))], name="fake/other")

    def fallback(_name: str) -> FakeModel:
        return other

    result = await run_turn(
        make_rig(),
        first,
        output_schema=PERSON,
        retry=RetryPolicy(max_attempts=2, initial_delay_s=0.001),
        fallback_models=("fake/other",),
        make_model=fallback,
    )

    assert result.structured == Structured(value=ADA)
    assert [tool.name for model in (first, other) for request in model.requests for tool in request.tools] == [
        "structured_output"
    ] * 3


async def test_a_conversation_that_is_compacted_meanwhile_still_owes_the_answer() -> None:
    rig, history = make_rig(read_file, files={"a.txt": "x"}), worked(12)
    model = FakeModel([say("A summary."), say("It is Ada."), say("", give(ADA))])

    result = await run_turn(
        rig,
        model,
        history,
        output_schema=PERSON,
        context=ContextRules(max_tokens=4_000),
        compaction=CompactionRules(),
    )

    assert (result.stop_reason, result.structured) == ("end_turn", Structured(value=ADA))
    assert len(rig.events.of(Compacted)) == 1
    assert all(HOW_TO_ANSWER in request.system for request in model.requests[1:])


async def test_who_becomes_another_agent_still_owes_the_answer() -> None:
    gate = Gate()
    rig = make_rig(waiting("look", gate))
    model = FakeModel([say("", Call(name="look", arguments={})), say("", give(ADA))])
    turn = new_turn(rig, model, output_schema=PERSON)
    turn.switch_agent(lambda: became(turn, rig))
    gate.open()

    result = await bounded(turn.run())

    check_turn(turn, result, rig.events.stamped)
    assert result.structured == Structured(value=ADA)
    assert model.requests[0].system.startswith(f"You are another.\n\n{HOW_TO_ANSWER}")


async def became(turn: Turn, rig: Rig) -> Any:
    return replace(turn.spec, system="You are another.", agent="another"), rig.services
