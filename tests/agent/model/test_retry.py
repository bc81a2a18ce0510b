"""Retries of a failed model call, its fallbacks, and the events about them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from pygent_ls.agent.events import LlmError, Notice, Text, TextDelta
from pygent_ls.agent.messages import Message, ThinkingBlock, Usage
from pygent_ls.agent.model.retry import RetryPolicy, WaitingRetries
from pygent_ls.agent.ports.model import FinishChunk, Model, TextChunk, ThinkingChunk, ToolCallChunk, UsageChunk
from pygent_ls.errors import ModelError, ModelErrorType
from tests.agent.abilities import saying
from tests.agent.turns import cancel_turn, new_turn, run_turn
from tests.fakes import Call, FakeModel, Gate, Rig, Step, bounded, make_rig, say

SLOW_DOWN = ModelError("slow down", type="rate_limit")
NO_KEY = ModelError("no key", type="auth")


def failing(error: ModelError = SLOW_DOWN, *before: Step) -> list[Step]:
    return [*before, error]


def told(rig: Rig) -> list[tuple[Any, ...]]:
    """What each `llm_error` says of what happens next."""
    return [(each.error_type, each.attempt, each.will_retry, each.fallback_model) for each in rig.events.of(LlmError)]


def models(*made: FakeModel) -> Any:
    """Makes those; every other name has no key."""

    def make(name: str) -> Model:
        found = next((each for each in made if each.name == name), None)
        if found is None:
            raise ModelError(f"there is no key for {name}", type="auth")
        return found

    return make


# Asking again


@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "server", "network", "timeout"])
async def test_what_may_pass_is_tried_again_as_one_iteration(kind: ModelErrorType) -> None:
    rig, error = make_rig(), ModelError("not now", type=kind)
    result = await run_turn(rig, FakeModel([failing(error), failing(error), say("Here.")]))
    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "Here.", 1)
    assert told(rig) == [(kind, 1, True, None), (kind, 2, True, None)]
    assert [each.retry_in_s for each in rig.events.of(LlmError)] == rig.retries.delays


@pytest.mark.parametrize("kind", ["auth", "invalid_request", "content_filter", "unknown"])
async def test_what_will_not_pass_is_not_tried_again(kind: ModelErrorType) -> None:
    rig, model = make_rig(), FakeModel([failing(ModelError("no", type=kind)), say("never")])
    result = await run_turn(rig, model)
    assert (result.stop_reason, len(model.requests)) == ("error", 1)
    assert told(rig) == [(kind, 1, False, None)]


async def test_the_waits_double_and_vary() -> None:
    rig = make_rig()
    policy = RetryPolicy(max_attempts=6, max_seconds=1_000, initial_delay_s=2)
    await run_turn(rig, FakeModel([failing()] * 9), retry=policy)
    assert len(rig.retries.delays) == 5
    for n, delay_s in enumerate(rig.retries.delays):
        assert 2 * 2**n <= delay_s <= 2 * 2**n + 1


async def test_after_the_last_attempt_the_turn_ends_and_the_session_goes_on() -> None:
    rig, history = make_rig(), list[Message]()
    model = FakeModel([failing(), failing(), failing(), say("Here.")])
    result = await run_turn(rig, model, history, retry=RetryPolicy(max_attempts=3))
    assert (result.stop_reason, result.error) == ("error", SLOW_DOWN)
    assert told(rig) == [
        ("rate_limit", 1, True, None),
        ("rate_limit", 2, True, None),
        ("rate_limit", 3, False, None),
    ]
    assert (await run_turn(rig, model, history, turn_id="turn-2")).text == "Here."


async def test_the_provider_is_left_alone_as_long_as_it_asks() -> None:
    rig, error = make_rig(), ModelError("slow down", type="rate_limit", retry_after_s=77)
    await run_turn(rig, FakeModel([failing(error), say("Here.")]))
    assert rig.retries.delays == [77]


async def test_who_asks_for_more_time_than_there_is_is_not_asked_again() -> None:
    rig, error = make_rig(), ModelError("slow down.", type="rate_limit", retry_after_s=3_600)
    result = await run_turn(rig, FakeModel([failing(error), say("never")]), retry=RetryPolicy(max_seconds=60))
    assert rig.retries.delays == []
    assert result.error is not None
    assert result.error.message == (
        "slow down. The provider asks to wait 3600 s, but only 60 s are left of the 60 s allowed for retries "
        "(retry.max_seconds)."
    )
    assert told(rig) == [("rate_limit", 1, False, None)]


async def test_the_attempts_of_one_call_have_a_time_limit_together() -> None:
    rig, error = make_rig(), ModelError("slow down", type="rate_limit", retry_after_s=25)
    await run_turn(rig, FakeModel([failing(error)] * 9), retry=RetryPolicy(max_attempts=9, max_seconds=60))
    assert rig.retries.delays == [25, 25]
    assert [each.error_message for each in rig.events.of(LlmError)][-1].endswith(
        "only 10 s are left of the 60 s allowed for retries (retry.max_seconds)."
    )


async def test_each_call_of_a_turn_has_its_own_attempts() -> None:
    rig = make_rig(saying("look", "seen"))
    look = Call(name="look", arguments={})
    model = FakeModel([failing(), say("", look), failing(), say("Done.")])
    assert (await run_turn(rig, model, retry=RetryPolicy(max_attempts=2))).text == "Done."
    assert [each.attempt for each in rig.events.of(LlmError)] == [1, 1]


async def test_what_a_failed_attempt_said_is_withdrawn_and_never_comes_back() -> None:
    rig, history = make_rig(), list[Message]()
    half: list[Step] = [ThinkingChunk(thinking="hm"), TextChunk(text="half an ans"), ModelError("gone", type="network")]
    model = FakeModel([half, say("A whole answer.", thinking="hm")])

    result = await run_turn(rig, model, history)

    assert result.text == "A whole answer."
    (error,) = rig.events.of(LlmError)
    (text,) = rig.events.of(Text)
    assert text.content == "A whole answer."
    assert {each.item_id for each in rig.events.of(TextDelta)} - {text.item_id} <= set(error.withdrawn)
    assert len(error.withdrawn) == 2
    assert text.item_id not in error.withdrawn
    assert [each.text for each in history] == ["do it", "A whole answer."]
    assert model.requests[0].messages == model.requests[1].messages


async def test_what_a_failed_attempt_cost_counts() -> None:
    half: list[Step] = [UsageChunk(usage=Usage(input_tokens=7, output_tokens=3)), SLOW_DOWN]
    result = await run_turn(make_rig(), FakeModel([half, say("Here.")]))
    assert result.usage.total_tokens == 130


async def test_a_model_that_cannot_be_prepared_fails_like_a_call() -> None:
    rig, model = make_rig(), FakeModel([say("never")])
    model.prepare_error = NO_KEY
    assert (await run_turn(rig, model)).error is NO_KEY
    assert told(rig) == [("auth", 1, False, None)]


# Streams that end without an end


async def test_a_stream_without_a_finish_starts_over() -> None:
    rig, history = make_rig(), list[Message]()
    model = FakeModel([[TextChunk(text="half an ans")], say("A whole answer.")])
    assert (await run_turn(rig, model, history)).text == "A whole answer."
    assert told(rig) == [("network", 1, True, None)]
    assert [each.content for each in rig.events.of(Text)] == ["A whole answer."]


async def test_a_call_without_a_finish_never_runs() -> None:
    rig = make_rig(saying("look", "seen"))
    half: list[Step] = [ToolCallChunk(index=0, id="a", name="look", arguments="{}")]
    result = await run_turn(rig, FakeModel([half] * 9), retry=RetryPolicy(max_attempts=3))
    assert (result.stop_reason, result.error and result.error.type) == ("error", "network")
    assert "tool_call" not in rig.events.types


async def test_a_model_that_never_says_that_it_is_done_is_believed_the_second_time() -> None:
    rig, model = make_rig(saying("look", "seen")), FakeModel([say("All of it.", finish=None)] * 3)
    assert (await run_turn(rig, model)).text == "All of it."
    assert len(model.requests) == 2


@pytest.mark.parametrize("finish", ["eos", ""])
async def test_a_finish_that_nobody_knows_is_the_end_where_text_came(finish: str) -> None:
    answer: list[Step] = [TextChunk(text="Hello"), FinishChunk(reason=finish)]
    assert (await run_turn(make_rig(), FakeModel([answer]))).text == "Hello"


# The user decides


async def test_the_user_may_give_up() -> None:
    rig = make_rig()
    rig.retries.actions = ["now", "give_up"]
    result = await run_turn(rig, FakeModel([failing()] * 9))
    assert (result.stop_reason, len(rig.retries.delays)) == ("error", 2)
    assert told(rig)[-2:] == [("rate_limit", 2, True, None), ("rate_limit", 2, False, None)]


async def test_the_user_may_hurry_a_wait_or_end_it_only_while_there_is_one() -> None:
    retries = WaitingRetries()
    assert not retries.decide("now")
    async with asyncio.TaskGroup() as group:
        waits = group.create_task(bounded(retries.wait(3_600)))
        await asyncio.sleep(0)  # for it to begin
        assert retries.decide("give_up")
        assert await waits == "give_up"
    assert not retries.decide("now")


async def test_a_wait_that_nobody_ends_ends_by_itself() -> None:
    assert await bounded(WaitingRetries().wait(0.001)) == "now"


async def test_a_cancel_while_a_retry_waits_ends_the_turn_without_another_request() -> None:
    rig, history, model = make_rig(), list[Message](), FakeModel([failing(SLOW_DOWN, TextChunk(text="half")), say("x")])
    gate = rig.retries.gate = Gate()
    result = await cancel_turn(rig, new_turn(rig, model, history), gate.reached)
    assert (result.stop_reason, result.text, len(model.requests)) == ("cancelled", "", 1)
    assert [each.text for each in history] == ["do it"]


# Fallbacks


async def test_after_the_retries_the_fallbacks_are_asked_in_their_order() -> None:
    rig = make_rig()
    main, first = FakeModel([failing()] * 9), FakeModel([failing()] * 9, name="b")
    second = FakeModel([say("from c")], name="c")
    result = await run_turn(
        rig,
        main,
        retry=RetryPolicy(max_attempts=2),
        fallback_models=("b", "c"),
        make_model=models(first, second),
    )
    assert (result.text, result.iterations) == ("from c", 1)
    assert told(rig) == [
        ("rate_limit", 1, True, None),
        ("rate_limit", 2, False, "b"),
        ("rate_limit", 1, True, None),
        ("rate_limit", 2, False, "c"),
    ]
    assert [len(each.requests) for each in (main, first, second)] == [2, 2, 1]
    assert first.requests[0].messages == main.requests[0].messages


async def test_the_turn_stays_with_its_fallback() -> None:
    rig, look = make_rig(saying("look", "seen")), Call(name="look", arguments={})
    main, spare = FakeModel([failing(NO_KEY)]), FakeModel([say("", look), say("Done.")], name="spare")
    result = await run_turn(rig, main, fallback_models=("spare",), make_model=models(spare))
    assert (result.text, len(main.requests), len(spare.requests)) == ("Done.", 1, 2)


async def test_a_fallback_that_cannot_be_had_is_left_out_with_a_notice() -> None:
    rig, spare = make_rig(), FakeModel([say("from spare")], name="spare")
    broken = FakeModel([], name="broken")
    broken.prepare_error = ModelError("its library is missing")
    result = await run_turn(
        rig,
        FakeModel([failing(NO_KEY)]),
        fallback_models=("gone", "broken", "spare"),
        make_model=models(broken, spare),
    )
    assert result.text == "from spare"
    assert [each.content for each in rig.events.of(Notice)] == [
        "Fallback model gone was skipped: there is no key for gone",
        "Fallback model broken was skipped: its library is missing",
    ]


@pytest.mark.parametrize("kind", ["invalid_request", "content_filter"])
async def test_a_request_that_is_wrong_itself_is_not_taken_to_another_model(kind: ModelErrorType) -> None:
    spare = FakeModel([say("never")], name="spare")
    model = FakeModel([failing(ModelError("no", type=kind))])
    result = await run_turn(make_rig(), model, fallback_models=("spare",), make_model=models(spare))
    assert (result.stop_reason, len(spare.requests)) == ("error", 0)


async def test_a_model_that_is_given_up_is_followed_by_its_fallback() -> None:
    rig, spare = make_rig(), FakeModel([say("from spare")], name="spare")
    rig.retries.actions = ["give_up"]
    result = await run_turn(rig, FakeModel([failing()]), fallback_models=("spare",), make_model=models(spare))
    assert result.text == "from spare"
    assert told(rig) == [("rate_limit", 1, True, None), ("rate_limit", 1, False, "spare")]


async def test_a_model_that_the_user_chose_meanwhile_goes_before_the_fallbacks() -> None:
    rig, gate, spare = make_rig(), Gate(), FakeModel([say("never")], name="spare")
    turn = new_turn(rig, FakeModel([[gate, NO_KEY]]), fallback_models=("spare",), make_model=models(spare))
    running = asyncio.create_task(turn.run())
    await gate.reached()

    turn.use(FakeModel([say("from the chosen")], name="chosen"))
    gate.open()

    assert (await bounded(running)).text == "from the chosen"
    assert told(rig) == [("auth", 1, False, "chosen")]
    assert spare.requests == []


async def test_no_model_is_sent_the_thoughts_of_another() -> None:
    rig, history, look = make_rig(saying("look", "seen")), list[Message](), Call(name="look", arguments={})
    main = FakeModel([say("", look, thinking="mine"), failing(NO_KEY), say("again")])
    spare = FakeModel([say("", look, thinking="its own"), say("Done.")], name="spare")
    await run_turn(rig, main, history, fallback_models=("spare",), make_model=models(spare))
    await run_turn(rig, main, history, turn_id="turn-2")
    assert _thoughts(spare.requests[0].messages) == []
    assert _thoughts(spare.requests[1].messages) == ["its own"]
    assert _thoughts(main.requests[-1].messages) == ["mine"]
    assert _thoughts(history) == ["mine", "its own"]


async def test_thoughts_of_nobody_known_are_sent() -> None:
    model, history = FakeModel([say("x")]), [Message(role="user", content="q")]
    history.append(Message(role="assistant", content=(ThinkingBlock(thinking="old"), *replace(history[0]).blocks)))
    await run_turn(make_rig(), model, history)
    assert _thoughts(model.requests[0].messages) == ["old"]


def _thoughts(messages: Sequence[Message]) -> list[str]:
    return [block.thinking for each in messages for block in each.blocks if isinstance(block, ThinkingBlock)]
