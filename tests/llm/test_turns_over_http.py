"""Turns whose model is a real HTTP server on loopback that fails in every way that providers do."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from pygent_ls.agent.events import LlmError, Text, ToolCall
from pygent_ls.agent.messages import Message
from pygent_ls.agent.model.retry import RetryPolicy
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.agent.abilities import saying
from tests.agent.turns import cancel_turn, check_turn, new_turn
from tests.fakes import Rig, bounded, make_rig
from tests.llm.loopback import KEY, chunk_event
from tests.model_server import Call, ModelServer, Received, Step

OK = Step(text="a whole answer")
POLICY = RetryPolicy(max_attempts=3, initial_delay_s=0.001)
ALL_THE_TIME: Mapping[str, float] = {}


@pytest.fixture
async def resources() -> AsyncGenerator[ModelResources]:
    """Client of one test, whose connections are closed at its end."""
    own = ModelResources()
    yield own
    await own.close()


def model_at(
    server: ModelServer,
    resources: ModelResources,
    name: str = "openai/mock",
    times: Mapping[str, Any] = ALL_THE_TIME,
) -> Model:
    return make_model(name, Endpoint(api_base=server.url, api_key=KEY, **times), resources)


async def turn_over(script: Sequence[Step], resources: ModelResources) -> tuple[Rig, ModelServer, TurnResult]:
    """A whole turn with that server for its model, which can look at things."""
    rig = make_rig(saying("look", "seen"))
    async with ModelServer(script) as server:
        turn = new_turn(rig, model_at(server, resources), retry=POLICY)
        result = await bounded(turn.run())
    check_turn(turn, result, rig.events.stamped)
    return rig, server, result


HALF = chunk_event({"content": "half "})


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Step(status=429, error="slow down", headers={"retry-after": "1"}), "rate_limit"),
        (Step(status=529, error="busy"), "overloaded"),
        (Step(status=500), "server"),
        (Step(status=408), "timeout"),
        (Step(text="half an answer", drop_after=3), "network"),
        (Step(raw=("text/event-stream", HALF + "data: {broken\n\n")), "server"),
        (Step(raw=("text/event-stream", HALF)), "network"),
        (Step(raw=("text/html", "<html>gateway</html>")), "server"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_may_pass_is_asked_again_and_leaves_no_text(
    resources: ModelResources, step: Step, kind: str
) -> None:
    rig, server, result = await turn_over([step, OK], resources)
    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "a whole answer", 1)
    assert len(server.requests) == 2
    assert server.requests[0].messages == server.requests[1].messages
    (error,) = rig.events.of(LlmError)
    assert (error.error_type, error.attempt, error.will_retry) == (kind, 1, True)
    assert [each.content for each in rig.events.of(Text)] == ["a whole answer"]
    assert (step.headers.get("retry-after") == "1") == (rig.retries.delays == [1.0])


@pytest.mark.parametrize(
    ("step", "impatient"),
    [
        (Step(hang=True), {"first_byte_timeout_s": 0.1}),
        (Step(text="half an answer", stall_after=2), {"idle_timeout_s": 0.1}),
    ],
    ids=["not a word", "in the middle of its answer"],
)
async def test_who_falls_silent_is_given_up_and_may_be_asked_again(
    resources: ModelResources, step: Step, impatient: Mapping[str, float]
) -> None:
    rig = make_rig()
    async with ModelServer(lambda request, _: OK if request.body["model"] == "spare" else step) as server:
        turn = new_turn(
            rig,
            model_at(server, resources, times=impatient),
            retry=RetryPolicy(max_attempts=2, initial_delay_s=0.001),
            fallback_models=("openai/spare",),  # which has all the time that a busy machine needs
            make_model=partial(model_at, server, resources),
        )
        result = await bounded(turn.run())
    check_turn(turn, result, rig.events.stamped)
    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "a whole answer", 1)
    told = [(each.error_type, each.attempt, each.will_retry) for each in rig.events.of(LlmError)]
    assert told == [("timeout", 1, True), ("timeout", 2, False)]
    assert [each.content for each in rig.events.of(Text)] == ["a whole answer"]


async def test_an_answer_that_is_closed_without_a_reason_is_asked_for_once(resources: ModelResources) -> None:
    look = Step(calls=(Call(name="look"),), finish=None)
    rig, server, result = await turn_over([look, Step(text="all of it", finish=None)], resources)
    assert (result.stop_reason, result.text, len(server.requests)) == ("end_turn", "all of it", 2)
    assert rig.events.of(LlmError) == []


async def test_an_answer_that_is_closed_without_a_reason_or_a_word_is_none(resources: ModelResources) -> None:
    _, server, result = await turn_over([Step(finish=None)] * 2, resources)
    assert (result.stop_reason, len(server.requests)) == ("error", 2)
    assert result.error is not None
    assert result.error.type == "server"


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Step(status=401, error="no"), "auth"),
        (Step(status=403, error="no"), "auth"),
        (Step(status=400, error="no"), "invalid_request"),
        (Step(status=400, error="no", code="content_policy_violation"), "content_filter"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_cannot_succeed_is_asked_once(resources: ModelResources, step: Step, kind: str) -> None:
    _, server, result = await turn_over([step, OK], resources)
    assert (result.stop_reason, len(server.requests)) == ("error", 1)
    assert result.error is not None
    assert result.error.type == kind


async def test_a_slow_first_byte_is_waited_for(resources: ModelResources) -> None:
    rig, _, result = await turn_over([Step(text="late", delay_s=0.1)], resources)
    assert (result.text, rig.events.of(LlmError)) == ("late", [])


async def test_a_call_that_was_cut_off_is_asked_for_again_with_more_room(resources: ModelResources) -> None:
    half = Call(name="look", arguments='{"path": "z.txt", "content": "half')
    rig, server, result = await turn_over(
        [Step(calls=(half,), finish="length"), Step(calls=(Call(name="look"),)), OK], resources
    )
    assert result.text == "a whole answer"
    assert [each.tool_name for each in rig.events.of(ToolCall)] == ["look"]
    first, second, _ = [_room(each.body) for each in server.requests]
    assert second == 2 * first


def _room(body: Mapping[str, Any]) -> int:
    return body.get("max_completion_tokens") or body["max_tokens"]


async def test_a_fallback_of_the_same_provider_answers(resources: ModelResources) -> None:
    rig = make_rig()
    async with ModelServer(lambda request, _: OK if request.body["model"] == "spare" else Step(status=503)) as server:
        turn = new_turn(
            rig,
            model_at(server, resources),
            retry=RetryPolicy(max_attempts=2, initial_delay_s=0.001),
            fallback_models=("openai/spare",),
            make_model=partial(model_at, server, resources),
        )
        result = await bounded(turn.run())
        assert [each.body["model"] for each in server.requests] == ["mock", "mock", "spare"]
    assert result.text == "a whole answer"
    assert [each.fallback_model for each in rig.events.of(LlmError)] == [None, "openai/spare"]


@pytest.mark.parametrize(
    ("first", "sent"),
    [("deepseek/deepseek-v4-pro", ["tool_use"]), ("anthropic/claude-sonnet-4-5", ["thinking", "tool_use"])],
)
async def test_a_fallback_amid_tool_calls_is_sent_the_thoughts_of_its_own_family_and_else_asked_for_none(
    resources: ModelResources, first: str, sent: list[str]
) -> None:
    look = Step(thinking="I must look.", calls=(Call(name="look"),))
    spare = "anthropic/claude-opus-4-1"

    def script(request: Received, number: int) -> Step:
        if request.body["model"] in spare:
            return OK
        return look if number == 0 else Step(status=529)

    rig = make_rig(saying("look", "seen"))
    async with ModelServer(script) as server:
        turn = new_turn(
            rig,
            model_at(server, resources, first),
            retry=RetryPolicy(max_attempts=1),
            fallback_models=(spare,),
            make_model=partial(model_at, server, resources),
            max_thinking_tokens=2_000,
        )
        result = await bounded(turn.run())
    check_turn(turn, result, rig.events.stamped)
    assert result.text == "a whole answer"
    asked, went_on, last = [each.body for each in server.requests]
    assert "thinking" in asked
    assert "thinking" in went_on
    assert [part["type"] for part in last["messages"][1]["content"]] == sent
    assert ("thinking" in last) == ("thinking" in sent)


async def test_a_cancel_closes_the_connection_of_a_stream(resources: ModelResources) -> None:
    rig, history = make_rig(), list[Message]()
    async with ModelServer([Step(text="half an answer", stall_after=3)]) as server:
        turn = new_turn(rig, model_at(server, resources), history)

        async def streams() -> None:
            await server.until(lambda: bool(server.requests))

        result = await cancel_turn(rig, turn, streams)
        await server.until(lambda: server.disconnects == 1)
    assert result.stop_reason == "cancelled"


def costing(cost: float, *calls: str) -> Step:
    """An answer of OpenRouter, which tells what it cost; with calls of these tools."""
    told = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cost": cost}
    made = [{"index": n, "id": f"c{n}", "function": {"name": name, "arguments": "{}"}} for n, name in enumerate(calls)]
    delta = {"tool_calls": made} if made else {"content": "done"}
    choice = {"index": 0, "delta": delta, "finish_reason": "tool_calls" if made else "stop"}
    piece = json.dumps({"choices": [choice], "usage": told})
    return Step(raw=("text/event-stream", f"data: {piece}\n\n"))


async def test_a_dollar_budget_is_kept_by_the_costs_that_openrouter_tells(resources: ModelResources) -> None:
    rig = make_rig(saying("look", "seen"))
    async with ModelServer([costing(0.3, "look"), costing(0.3, "look"), costing(0.3)]) as server:
        model = model_at(server, resources, "openrouter/some/newest-model")
        turn = new_turn(rig, model, limits=TurnLimits(max_budget_usd=0.5))
        result = await bounded(turn.run())

    check_turn(turn, result, rig.events.stamped)
    assert (result.stop_reason, len(server.requests)) == ("budget_limit", 2)
    assert result.usage.cost_usd == pytest.approx(0.6)


MALFORMED = {"message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed"}


@pytest.mark.parametrize(
    "step",
    [
        Step(status=400, error=MALFORMED["message"], error_type=MALFORMED["type"], code=MALFORMED["code"]),
        Step(raw=("text/event-stream", HALF + f"event: error\ndata: {json.dumps({'error': MALFORMED})}\n\n")),
    ],
    ids=["at once", "in the middle of the stream"],
)
async def test_a_call_that_groq_could_not_read_is_asked_for_again(resources: ModelResources, step: Step) -> None:
    _, server, result = await turn_over([step, OK], resources)

    assert (result.stop_reason, result.text, len(server.requests)) == ("end_turn", "a whole answer", 2)


async def test_a_request_above_the_limit_of_a_minute_is_not_sent_again_as_it_is(resources: ModelResources) -> None:
    too_large = Step(status=429, error="Request too large for gpt-4o on tokens per min (TPM): Limit 9, Requested 99.")

    rig, server, result = await turn_over([too_large, too_large, OK], resources)

    assert result.stop_reason == "error"
    assert len(server.requests) == 1
    assert [each.error_type for each in rig.events.of(LlmError)] == ["context_window"]


async def test_an_answer_that_is_not_streamed_is_not_asked_for_again(resources: ModelResources) -> None:
    body = {"choices": [{"index": 0, "message": {"content": "a whole answer"}, "finish_reason": "stop"}]}

    _, server, result = await turn_over([Step(raw=("application/json", json.dumps(body)))], resources)

    assert (result.stop_reason, result.text, len(server.requests)) == ("end_turn", "a whole answer", 1)
