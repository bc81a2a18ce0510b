"""The loop of one turn: what it asks, what it runs, what it keeps, and how it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pygent_ls.agent.events import (
    Cancelled,
    Finished,
    IterationLimitReached,
    LlmError,
    Notice,
    PermissionRequested,
    PermissionResolved,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLimitReached,
    ToolCall,
    ToolResult,
    TurnStarted,
    UsageReported,
)
from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolResultBlock, Usage, user_message
from pygent_ls.agent.model.answer import CUT_OFF
from pygent_ls.agent.model.retry import RetryPolicy
from pygent_ls.agent.ports.model import FinishChunk, TextChunk, ThinkingChunk, ToolCallChunk, UsageChunk
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.agent.turn.tool_calls import CANCELLED_RESULT, LIMIT_RESULT, NOT_BEGUN_RESULT
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError
from tests.agent.abilities import FILE_TOOLS, place, raising, saying, waiting
from tests.agent.turns import cancel_turn, check_history, new_turn, run_turn
from tests.fakes import Call, FakeApprover, FakeModel, Gate, Rig, Step, bounded, make_rig, say


def rig_with_files(**changes: Any) -> Rig:
    return make_rig(*FILE_TOOLS, files={"a.txt": "one\n", "b.txt": "uno\n"}, **changes)


def results_of(message: Message) -> list[str]:
    return [block.content for block in message.blocks if isinstance(block, ToolResultBlock)]


def shape(history: list[Message]) -> list[str]:
    """Role and kinds of blocks of each message."""
    return [f"{each.role}: {' '.join(block.type for block in each.blocks)}" for each in history]


READ_A = Call(name="read_file", arguments={"path": "a.txt"})
READ_B = Call(name="read_file", arguments={"path": "b.txt"})
EDIT_A = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})


# The straight line


async def test_a_turn_streams_text_and_ends() -> None:
    rig, model, history = make_rig(), FakeModel([say("Hello there", thinking="hm")]), list[Message]()

    result = await run_turn(rig, model, history)

    assert result == TurnResult(
        stop_reason="end_turn",
        text="Hello there",
        usage=Usage(input_tokens=100, output_tokens=20, context_tokens=120, context_limit=100_000),
        iterations=1,
        files_changed=(),
    )
    assert [each.content for each in history] == [
        "do it",
        (ThinkingBlock(thinking="hm", signature="sealed", model="fake/model"), TextBlock(text="Hello there")),
    ]
    assert [each.turn_id for each in history] == ["turn-1", "turn-1"]
    assert rig.events.types == [
        *("turn_started", "thinking_delta", "text_delta", "text_delta"),
        *("thinking", "text", "usage", "finished"),
    ]


async def test_the_deltas_of_an_item_join_to_its_text() -> None:
    rig = make_rig()
    await run_turn(rig, FakeModel([say("Hello there", thinking="hm, well")]))
    (text,), (thinking,) = rig.events.of(Text), rig.events.of(Thinking)
    assert "".join(each.content for each in rig.events.of(TextDelta)) == text.content == "Hello there"
    assert "".join(each.content for each in rig.events.of(ThinkingDelta)) == thinking.content == "hm, well"
    assert {each.item_id for each in rig.events.of(TextDelta)} == {text.item_id}
    assert text.item_id != thinking.item_id


async def test_tools_run_and_their_results_go_back_until_there_are_no_more_calls() -> None:
    rig, history = rig_with_files(), list[Message]()
    model = FakeModel([say("Let me look.", READ_A, READ_B), say("", READ_A), say("Done.")])

    result = await run_turn(rig, model, history)

    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "Done.", 3)
    assert shape(history) == [
        "user: text",
        "assistant: text tool_use tool_use",
        "user: tool_result tool_result",
        "assistant: tool_use",
        "user: tool_result",
        "assistant: text",
    ]
    assert results_of(history[2]) == ["one\n", "uno\n"]
    assert [len(request.messages) for request in model.requests] == [1, 3, 5]
    assert result.usage.total_tokens == 360
    assert [each.usage.total_tokens for each in rig.events.of(UsageReported)] == [120, 240, 360]
    assert len({each.item_id for each in rig.events.of(Text)}) == 2


async def test_the_model_is_told_the_system_prompt_the_tools_and_the_settings() -> None:
    rig, model = rig_with_files(), FakeModel([say("x")])
    await run_turn(rig, model)
    (request,) = model.requests
    assert request.system == rig.services.memory.marks.explained("You are a test.")
    assert [each.name for each in request.tools] == [each.name for each in FILE_TOOLS]
    assert (request.max_output_tokens, request.temperature) == (1_000, 0.5)


async def test_a_request_keeps_what_it_was_made_of_while_the_history_grows() -> None:
    model = FakeModel([say("", READ_A), say("x")])
    await run_turn(rig_with_files(), model)
    assert len(model.requests[0].messages) == 1


async def test_a_call_is_told_before_it_runs_with_what_it_is_about() -> None:
    rig = rig_with_files(approver=FakeApprover("allow_once"))
    await run_turn(rig, FakeModel([say("", EDIT_A, Call(name="nonsense", arguments={"path": "../x"})), say("x")]))
    edit, unknown = rig.events.of(ToolCall)
    assert (edit.title, edit.kind, edit.risk, edit.read_only) == ("Edit a.txt", "edit", "medium", False)
    assert edit.input == {"path": "a.txt", "old": "one", "new": "two"}
    assert [each.path for each in edit.locations] == [place("a.txt")]
    assert (unknown.title, unknown.kind, unknown.locations) == ("nonsense", "other", ())
    types = rig.events.types
    assert types.index("tool_call") < types.index("permission_requested") < types.index("tool_result")


async def test_events_carry_the_iteration_and_the_tokens_so_far() -> None:
    rig = rig_with_files()
    await run_turn(rig, FakeModel([say("", READ_A), say("x")]))
    told = [(each.event.type, each.iteration, each.total_tokens) for each in rig.events.stamped]
    assert told == [
        ("turn_started", 0, 0),
        ("usage", 1, 120),
        ("tool_call", 1, 120),
        ("tool_result", 1, 120),
        ("text_delta", 2, 120),
        ("text", 2, 240),
        ("usage", 2, 240),
        ("finished", 2, 240),
    ]


async def test_results_keep_the_order_of_the_calls_though_they_end_in_another() -> None:
    gates = {name: Gate() for name in ("first", "second", "third")}
    rig, history = make_rig(*(waiting(name, gate, name.upper()) for name, gate in gates.items())), list[Message]()
    model = FakeModel([say("", *(Call(name=name, arguments={}) for name in gates)), say("x")])
    async with asyncio.TaskGroup() as group:
        work = group.create_task(run_turn(rig, model, history))
        for name, n_told in (("third", 0), ("first", 1), ("second", 3)):
            await gates[name].reached()
            gates[name].open()
            await rig.events.until(ToolResult, n_told)
        await bounded(work)
    assert results_of(history[2]) == ["FIRST", "SECOND", "THIRD"]
    assert [each.content for each in rig.events.of(ToolResult)] == ["FIRST", "SECOND", "THIRD"]


async def test_what_changed_is_in_the_result() -> None:
    rig = rig_with_files(approver=FakeApprover("allow_once"))
    result = await run_turn(rig, FakeModel([say("", EDIT_A), say("x")]))
    assert [(each.path, each.kind, each.added, each.removed) for each in result.files_changed] == [
        (place("a.txt"), "edit", 1, 1)
    ]


async def test_a_session_goes_on_over_several_turns() -> None:
    rig, history = rig_with_files(), list[Message]()
    model = FakeModel([say("", READ_A), say("first"), say("", READ_A), say("second")])
    await run_turn(rig, model, history, turn_id="turn-1")
    await run_turn(rig, model, history, turn_id="turn-2")
    assert [each.turn_id for each in history] == ["turn-1"] * 4 + ["turn-2"] * 4
    check_history(history)
    assert [each.cached for each in rig.events.of(ToolResult)] == [False, True]


async def test_a_model_that_loads_says_so_first() -> None:
    rig = make_rig()
    await run_turn(rig, FakeModel([say("x")], ready=False))
    assert rig.events.types[:2] == ["turn_started", "notice"]
    assert "fake/model" in rig.events.of(Notice)[0].content


# What models get wrong


async def test_bad_calls_are_errors_to_the_model_and_never_the_end_of_the_turn() -> None:
    rig, history = (
        make_rig(*FILE_TOOLS, raising("broken", ValueError("bug")), files={"a.txt": "one\n"}),
        list[Message](),
    )
    calls = [
        Call(name="read_fil", arguments={"path": "a.txt"}),
        Call(name="read_file", arguments='{"path": '),
        Call(name="read_file", arguments='["a.txt"]'),
        Call(name="read_file", arguments={"pth": "a.txt"}),
        Call(name="read_file", arguments={"path": "../x"}),
        Call(name="read_file", arguments={"path": "gone.txt"}),
        Call(name="broken", arguments={}),
        Call(name="", arguments=""),
        READ_A,
    ]
    result = await run_turn(rig, FakeModel([say("", *calls), say("I see.")]), history)
    assert (result.stop_reason, result.text) == ("end_turn", "I see.")
    contents = results_of(history[2])
    assert [each.is_error for each in rig.events.of(ToolResult)].count(True) == 8
    assert "read_fil" in contents[0]
    assert '{"path": ' in contents[1]
    assert "object" in contents[2]
    assert "`path` is missing" in contents[3]
    assert "outside" in contents[4]
    assert "gone.txt" in contents[5]
    assert "ValueError: bug" in contents[6]
    assert contents[8] == "one\n"


async def test_arguments_that_were_not_json_go_back_as_an_empty_object() -> None:
    history = list[Message]()
    await run_turn(rig_with_files(), FakeModel([say("", Call(name="read_file", arguments="{oops")), say("x")]), history)
    assert history[1].tool_calls[0].input == {}


async def test_ids_that_are_empty_or_repeated_are_made_unique_over_the_whole_history() -> None:
    rig, history = rig_with_files(), list[Message]()
    same = Call(name="read_file", arguments={"path": "a.txt"}, id="same")
    model = FakeModel([say("", same, same, READ_B, READ_B), say("", same), say("x")])
    await run_turn(rig, model, history)
    assert history[1].tool_calls[0].id == "same"
    assert results_of(history[2]) == ["one\n", "one\n", "uno\n", "uno\n"]


async def test_an_empty_answer_is_asked_once_more() -> None:
    rig, history = make_rig(), list[Message]()
    result = await run_turn(rig, FakeModel([say(""), say("Here I am.")]), history)
    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "Here I am.", 2)
    assert shape(history) == ["user: text", "assistant: text"]


@pytest.mark.parametrize("nothing", [say(""), say(" \n"), say("", thinking="hm"), say("", finish="eos")])
async def test_two_empty_answers_in_a_row_are_an_error_to_act_on(nothing: list[Any]) -> None:
    rig, history = make_rig(), list[Message]()
    result = await run_turn(rig, FakeModel([nothing, nothing, say("too late")]), history)
    assert (result.stop_reason, result.iterations) == ("error", 2)
    assert result.error is not None
    assert "fake/model" in result.error.message
    assert [each.error_message for each in rig.events.of(LlmError)] == [result.error.message]
    assert shape(history) == ["user: text"]


async def test_empty_answers_that_are_far_apart_are_each_asked_once_more() -> None:
    model = FakeModel([say(""), say("", READ_A), say(""), say("Done.")])
    assert (await run_turn(rig_with_files(), model)).text == "Done."


async def test_no_calls_with_the_finish_of_calls_is_the_end() -> None:
    for answer in (
        say("Done.", finish="tool_calls"),
        say("", finish="tool_calls"),
        say("", thinking="hm", finish="tool_use"),
    ):
        history = list[Message]()
        assert (await run_turn(make_rig(), FakeModel([answer]), history)).stop_reason == "end_turn"
        assert shape(history) in (["user: text", "assistant: text"], ["user: text"])


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "eos"])
async def test_calls_run_whatever_the_finish_is_called(finish: str) -> None:
    rig = rig_with_files()
    result = await run_turn(rig, FakeModel([say("", READ_A, finish=finish), say("x")]))
    assert result.text == "x"
    assert [each.content for each in rig.events.of(ToolResult)] == ["one\n"]


@pytest.mark.parametrize("finish", ["eos", ""])
async def test_text_with_an_unknown_finish_is_an_answer(finish: str) -> None:
    answer: list[Step] = [TextChunk(text="Hello"), FinishChunk(reason=finish)]
    result = await run_turn(make_rig(), FakeModel([answer]))
    assert (result.stop_reason, result.text) == ("end_turn", "Hello")


async def test_a_stream_that_breaks_off_in_a_call_runs_nothing() -> None:
    rig, history = rig_with_files(mode="trust"), list[Message]()
    broken = [TextChunk(text="I will"), ToolCallChunk(index=0, id="a", name="list_files", arguments="")]
    result = await run_turn(rig, FakeModel([broken]), history, retry=RetryPolicy(max_attempts=1))
    assert result.stop_reason == "error"
    assert result.error is not None
    assert (result.error.type, result.error.retryable) == ("network", True)
    assert "broke off" in result.error.message
    assert rig.events.of(ToolCall) == []
    assert shape(history) == ["user: text"]
    assert rig.events.of(LlmError)[0].withdrawn == (rig.events.of(TextDelta)[0].item_id,)


@pytest.mark.parametrize(
    ("finish", "stop_reason"),
    [
        ("content_filter", "refusal"),
        ("refusal", "refusal"),
        ("safety", "refusal"),
    ],
)
async def test_an_answer_that_was_refused_runs_no_tools_and_keeps_its_text(finish: str, stop_reason: str) -> None:
    rig, history = rig_with_files(), list[Message]()
    half = Call(name="create_file", arguments='{"path": "z.txt", "content": "half')
    result = await run_turn(rig, FakeModel([say("I'll write", half, finish=finish), say("never")]), history)
    assert (result.stop_reason, result.text, result.iterations) == (stop_reason, "I'll write", 1)
    assert rig.events.of(ToolCall) == []
    assert shape(history) == ["user: text", "assistant: text"]


async def test_a_refusal_without_a_word_leaves_a_history_that_can_go_on() -> None:
    history = list[Message]()
    assert (await run_turn(make_rig(), FakeModel([say("", finish="refusal")]), history)).stop_reason == "refusal"
    assert (await run_turn(make_rig(), FakeModel([say("Yes?")]), history, turn_id="turn-2")).text == "Yes?"


async def test_white_space_around_a_call_is_kept_out_of_the_history() -> None:
    history = list[Message]()
    await run_turn(rig_with_files(), FakeModel([say("\n", READ_A), say("x")]), history)
    assert shape(history)[1] == "assistant: tool_use"


# Limits


async def test_exactly_as_many_calls_are_made_as_the_limit_says() -> None:
    rig, history = rig_with_files(), list[Message]()
    model = FakeModel([say(f"{n}", Call(name="read_file", arguments={"path": f"{n}"})) for n in range(9)])
    result = await run_turn(rig, model, history, limits=TurnLimits(max_iterations=3))
    assert (result.stop_reason, result.iterations, result.text) == ("max_iterations", 3, "2")
    assert len(model.requests) == 3
    assert rig.events.of(IterationLimitReached) == [IterationLimitReached(limit=3, value=3)]
    assert shape(history)[-1] == "user: tool_result"


async def test_a_turn_that_ends_with_its_last_call_has_not_reached_the_limit() -> None:
    rig = rig_with_files()
    limits = TurnLimits(max_iterations=2)
    assert (await run_turn(rig, FakeModel([say("", READ_A), say("x")]), limits=limits)).stop_reason == "end_turn"
    assert rig.events.of(IterationLimitReached) == []


async def test_no_limit_is_no_limit() -> None:
    reads = [Call(name="read_file", arguments={"path": f"{n}"}) for n in range(120)]
    model = FakeModel([*(say("", each) for each in reads), say("x")])
    assert (await run_turn(rig_with_files(), model, limits=TurnLimits())).iterations == 121


async def test_after_a_limit_the_session_can_go_on() -> None:
    rig, history = rig_with_files(), list[Message]()
    model = FakeModel([say("", READ_A), say("going on")])
    await run_turn(rig, model, history, limits=TurnLimits(max_iterations=1))
    assert (await run_turn(rig, model, history, turn_id="turn-2")).text == "going on"


async def test_a_limit_in_tokens_is_looked_at_after_the_answer_and_before_its_tools() -> None:
    rig, history = rig_with_files(mode="trust"), list[Message]()
    model = FakeModel([say("", READ_A), say("", EDIT_A), say("never")])
    result = await run_turn(rig, model, history, limits=TurnLimits(max_tokens=240))
    assert (result.stop_reason, result.iterations) == ("token_limit", 2)
    assert rig.workspace.text("a.txt") == "one\n"
    assert results_of(history[-1]) == [LIMIT_RESULT]
    assert rig.events.of(TokenLimitReached) == [TokenLimitReached(limit=240, value=240)]


async def test_an_answer_that_needs_no_tools_is_the_end_also_beyond_the_limit() -> None:
    result = await run_turn(make_rig(), FakeModel([say("x")]), limits=TurnLimits(max_tokens=1))
    assert result.stop_reason == "end_turn"


# Failed calls


async def test_a_model_error_ends_the_turn_with_a_result_and_a_history_that_can_go_on() -> None:
    rig, history = rig_with_files(), list[Message]()
    error = ModelError("The key was refused. Check OPENAI_API_KEY.", type="auth", provider="fake", status=401)
    model = FakeModel([say("", READ_A), [error], say("better")])

    result = await run_turn(rig, model, history)

    assert result.stop_reason == "error"
    assert result.error is error
    (told,) = rig.events.of(LlmError)
    assert (told.error_type, told.error_message, told.retryable) == ("auth", error.message, False)
    assert (told.attempt, told.will_retry, told.withdrawn) == (1, False, ())
    assert shape(history)[-1] == "user: tool_result"
    assert (await run_turn(rig, model, history, turn_id="turn-2")).text == "better"


async def test_an_error_in_mid_stream_withdraws_the_text() -> None:
    rig, history = make_rig(), list[Message]()
    broken = [ThinkingChunk(thinking="hm"), TextChunk(text="half an"), ModelError("gone", type="network")]
    result = await run_turn(rig, FakeModel([broken]), history)
    assert (result.stop_reason, result.text) == ("error", "")
    items = (rig.events.of(TextDelta)[0].item_id, rig.events.of(ThinkingDelta)[0].item_id)
    assert rig.events.of(LlmError)[0].withdrawn == items
    assert rig.events.of(Text) == []
    assert shape(history) == ["user: text"]


async def test_what_a_failed_call_used_is_counted() -> None:
    broken = [TextChunk(text="half"), UsageChunk(usage=Usage(input_tokens=7)), ModelError("gone", type="network")]
    assert (await run_turn(make_rig(), FakeModel([broken]))).usage.input_tokens == 7


async def test_a_model_that_cannot_be_loaded_is_an_error() -> None:
    rig, model = make_rig(), FakeModel([say("x")], ready=False)
    model.prepare_error = ModelError("litellm could not be loaded.", type="unknown")
    result = await run_turn(rig, model)
    assert (result.stop_reason, result.error, model.requests) == ("error", model.prepare_error, [])


async def test_a_bug_in_a_model_still_ends_the_turn_with_finished() -> None:
    rig, history = rig_with_files(), list[Message]()
    turn = new_turn(rig, FakeModel([say("", READ_A), [TextChunk(text="x"), KeyError("bug")]]), history)
    with pytest.raises(KeyError):
        await bounded(turn.run())
    assert rig.events.types[0] == "turn_started"
    assert rig.events.of(Finished) == [
        Finished(stop_reason="error", usage=turn.usage, files_changed=(), duration_s=0.0)
    ]
    assert rig.events.types[-1] == "finished"
    assert turn.closing
    check_history(history)


# Cancel


async def test_a_cancel_before_the_first_call_keeps_the_prompt() -> None:
    rig, history, model = make_rig(), list[Message](), FakeModel([say("never")])
    gate = rig.events.gates[TurnStarted] = Gate()
    result = await cancel_turn(rig, new_turn(rig, model, history), gate.reached)
    assert (result.stop_reason, result.iterations, model.requests) == ("cancelled", 0, [])
    assert shape(history) == ["user: text"]


async def test_a_cancel_in_mid_stream_closes_it_and_keeps_the_text_marked() -> None:
    rig, history, gate = make_rig(), list[Message](), Gate()
    model = FakeModel([[TextChunk(text="half an"), gate, TextChunk(text=" answer"), FinishChunk(reason="stop")]])
    turn = new_turn(rig, model, history)

    result = await cancel_turn(rig, turn, gate.reached)

    assert (result.stop_reason, result.text) == ("cancelled", "half an")
    assert model.open_streams == 0
    assert turn.closing
    assert [each.text for each in history] == ["do it", "half an" + CUT_OFF]
    assert rig.events.types[-2:] == ["cancelled", "finished"]


async def test_a_cancel_in_the_arguments_of_a_call_runs_nothing() -> None:
    rig, history, gate = rig_with_files(mode="trust"), list[Message](), Gate()
    half = ToolCallChunk(index=0, id="a", name="create_file", arguments='{"path": "z.txt"')
    model = FakeModel([[TextChunk(text="I'll write"), half, gate]])
    await cancel_turn(rig, new_turn(rig, model, history), gate.reached)
    assert rig.events.of(ToolCall) == []
    assert shape(history) == ["user: text", "assistant: text"]


async def test_a_cancel_before_any_text_leaves_the_prompt_alone() -> None:
    rig, history, gate = make_rig(), list[Message](), Gate()
    model = FakeModel([[ThinkingChunk(thinking="hm"), gate]])
    await cancel_turn(rig, new_turn(rig, model, history), gate.reached)
    assert shape(history) == ["user: text"]


async def test_what_a_cancelled_call_used_is_counted() -> None:
    rig, gate = make_rig(), Gate()
    model = FakeModel([[UsageChunk(usage=Usage(input_tokens=7)), TextChunk(text="x"), gate]])
    assert (await cancel_turn(rig, new_turn(rig, model), gate.reached)).usage.input_tokens == 7


@pytest.mark.parametrize("event", [Text, UsageReported])
async def test_a_cancel_when_the_whole_answer_is_there_keeps_it_unmarked(event: Any) -> None:
    rig, history = make_rig(), list[Message]()
    gate = rig.events.gates[event] = Gate()
    result = await cancel_turn(rig, new_turn(rig, FakeModel([say("All of it.")]), history), gate.reached)
    assert (result.stop_reason, result.text) == ("cancelled", "All of it.")
    assert [each.text for each in history] == ["do it", "All of it."]


async def test_a_cancel_before_the_calls_of_a_whole_answer_are_told_drops_them() -> None:
    rig, history = rig_with_files(), list[Message]()
    gate = rig.events.gates[UsageReported] = Gate()
    await cancel_turn(rig, new_turn(rig, FakeModel([say("Let me look.", READ_A)]), history), gate.reached)
    assert [each.text for each in history] == ["do it", "Let me look." + CUT_OFF]
    assert rig.events.of(ToolCall) == []


async def test_a_cancel_while_the_calls_are_told_answers_them_all() -> None:
    rig, history = rig_with_files(), list[Message]()
    gate = rig.events.gates[ToolCall] = Gate()
    await cancel_turn(rig, new_turn(rig, FakeModel([say("", READ_A, READ_B)]), history), gate.reached)
    assert results_of(history[2]) == [NOT_BEGUN_RESULT, NOT_BEGUN_RESULT]
    assert len(rig.events.of(ToolCall)) == 1


async def test_a_cancel_in_a_tool_keeps_what_is_done_and_answers_the_rest() -> None:
    gate = Gate()
    rig = make_rig(saying("quick", "done"), waiting("slow", gate), saying("write", "w", read_only=False))
    calls = [Call(name=name, arguments={}) for name in ("quick", "write", "quick", "slow", "quick", "write")]
    history = list[Message]()

    result = await cancel_turn(rig, new_turn(rig, FakeModel([say("", *calls)]), history), gate.reached)

    assert result.stop_reason == "cancelled"
    got = results_of(history[2])
    assert got[:3] == ["done", "w", "done"]
    assert got[3] == CANCELLED_RESULT
    assert got[5] == NOT_BEGUN_RESULT
    assert [each.is_error for each in rig.events.of(ToolResult)].count(False) == got.count("done") + 1


async def test_a_result_that_waits_for_an_earlier_one_is_told_at_a_cancel() -> None:
    gates = {name: Gate() for name in ("first", "second")}
    rig, history = make_rig(*(waiting(name, gate, name.upper()) for name, gate in gates.items())), list[Message]()

    async def second_is_over() -> None:
        await gates["first"].reached()
        await gates["second"].reached()
        gates["second"].open()
        for _ in range(20):  # until it waits
            await asyncio.sleep(0)
        assert rig.events.of(ToolResult) == []

    calls = [Call(name=name, arguments={}) for name in gates]
    await cancel_turn(rig, new_turn(rig, FakeModel([say("", *calls)]), history), second_is_over)

    assert results_of(history[2]) == [CANCELLED_RESULT, "SECOND"]
    assert sorted(each.content for each in rig.events.of(ToolResult)) == sorted([CANCELLED_RESULT, "SECOND"])


async def test_no_further_tool_starts_after_a_cancel() -> None:
    gate = Gate()
    rig = make_rig(*FILE_TOOLS, waiting("slow", gate, read_only=False), files={"a.txt": "one\n"}, mode="trust")
    model = FakeModel([say("", Call(name="slow", arguments={}), EDIT_A)])
    await cancel_turn(rig, new_turn(rig, model), gate.reached)
    assert rig.workspace.text("a.txt") == "one\n"
    assert len(model.requests) == 1


async def test_a_cancel_while_the_user_is_asked_withdraws_the_question_and_changes_nothing() -> None:
    rig, history = rig_with_files(), list[Message]()
    gate = rig.approver.gate = Gate()
    await cancel_turn(rig, new_turn(rig, FakeModel([say("", EDIT_A)]), history), gate.reached)
    assert rig.approver.open_questions == 0
    assert len(rig.events.of(PermissionRequested)) == 1
    assert [each.outcome for each in rig.events.of(PermissionResolved)] == ["cancelled"]
    assert rig.workspace.text("a.txt") == "one\n"
    assert results_of(history[2]) == [NOT_BEGUN_RESULT]


async def test_a_cancel_while_an_edit_is_under_way_tells_of_the_edit_that_stands() -> None:
    rig, history = rig_with_files(mode="trust"), list[Message]()
    gate = rig.workspace.gate_after_apply = Gate()
    result = await cancel_turn(rig, new_turn(rig, FakeModel([say("", READ_A, EDIT_A)]), history), gate.reached)
    assert rig.workspace.text("a.txt") == "two\n"
    assert results_of(history[2])[1] == "Edited a.txt."
    assert [each.path for each in result.files_changed] == [place("a.txt")]
    rig.workspace.gate_after_apply = None
    await run_turn(rig, FakeModel([say("", READ_A), say("x")]), history, turn_id="turn-2")
    assert results_of(history[-2]) == ["two\n"]


async def test_a_second_cancel_while_the_first_is_answered_changes_nothing() -> None:
    rig, gate = make_rig(), Gate()
    rig.events.gates[Cancelled] = Gate()
    model = FakeModel([[TextChunk(text="half"), gate]])
    result = await cancel_turn(rig, new_turn(rig, model), gate.reached, twice=True)
    assert (result.stop_reason, result.text) == ("cancelled", "half")


async def test_after_a_cancelled_turn_its_task_is_not_cancelled_any_more() -> None:
    rig, gate, history = make_rig(raising("broken", asyncio.CancelledError())), Gate(), list[Message]()
    first = new_turn(rig, FakeModel([[gate]]), history)

    async def both() -> tuple[TurnResult, TurnResult]:
        one = await first.run()
        return one, await new_turn(
            rig, FakeModel([say("", Call(name="broken", arguments={})), say("x")]), history, turn_id="turn-2"
        ).run()

    work = asyncio.ensure_future(both())
    await gate.reached()
    work.cancel()
    one, two = await bounded(work)
    assert (one.stop_reason, two.stop_reason, two.text) == ("cancelled", "end_turn", "x")
    assert "cancelled" in results_of(history[-2])[0]


async def test_after_a_cancel_the_session_goes_on() -> None:
    rig, history, gate = rig_with_files(), list[Message](), Gate()
    await cancel_turn(rig, new_turn(rig, FakeModel([[TextChunk(text="half"), gate]]), history), gate.reached)
    model = FakeModel([say("after")])
    assert (await run_turn(rig, model, history, turn_id="turn-2")).text == "after"
    assert [each.text for each in model.requests[0].messages] == ["do it", "half" + CUT_OFF, "do it"]


async def test_the_history_before_the_turn_goes_first() -> None:
    rig, history, model = make_rig(), [user_message("earlier")], FakeModel([say("x")])
    await run_turn(rig, model, history)
    assert [each.text for each in model.requests[0].messages] == ["earlier", "do it"]
