"""A turn that reaches a limit: the user is told, then asked, and only `Continue` goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from pygent_ls.agent.events import (
    BudgetLimitReached,
    IterationLimitReached,
    Notice,
    TimeLimitReached,
    TokenLimitReached,
    ToolCall,
    ToolResult,
)
from pygent_ls.agent.messages import Message, ToolResultBlock, Usage
from pygent_ls.agent.ports.model import ModelFacts
from pygent_ls.agent.ports.questioner import (
    AnswerChoice,
    CannotAsk,
    Question,
    QuestionAnswer,
    QuestionAnswered,
    QuestionNotAnswered,
)
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.agent.turn.state import Steering, TurnSpec
from pygent_ls.agent.turn.tool_calls import LIMIT_RESULT, NOT_BEGUN_RESULT
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError
from tests.agent.abilities import named, saying
from tests.agent.turns import cancel_turn, check_history, new_turn, run_turn
from tests.fakes import Call, FakeModel, Gate, Rig, Step, bounded, make_rig, say
from tests.questioner import FakeQuestioner

CONTINUE, STOP = QuestionAnswered(choice="Continue"), QuestionAnswered(choice="Stop")


def asking_rig(*answers: QuestionAnswer) -> tuple[Rig, FakeQuestioner]:
    """A session whose user answers so; its tool `work` takes 10 s, and its results are never the same."""
    user = FakeQuestioner(*answers)
    n_calls = 0

    async def work(_: ToolContext) -> str:
        nonlocal n_calls
        n_calls += 1
        rig.clock.advance(10)
        return f"result {n_calls}"

    rig = make_rig(named("work", work))
    rig.use(pauser=user)
    return rig, user


def working(usage: Usage | None = None) -> list[Step]:
    return say("", Call(name="work", arguments={}), usage=usage)


def results_of(message: Message) -> list[str]:
    return [block.content for block in message.blocks if isinstance(block, ToolResultBlock)]


# What is asked


async def test_the_user_is_told_of_the_limit_and_then_asked_with_two_answers() -> None:
    rig, user = asking_rig(STOP)
    result = await run_turn(rig, FakeModel([working()] * 9), limits=TurnLimits(max_iterations=3))
    assert (result.stop_reason, result.iterations) == ("max_iterations", 3)
    assert rig.events.of(IterationLimitReached) == [IterationLimitReached(limit=3, value=3)]
    assert user.questions == [
        Question(
            question_id="turn-1-pause1",
            session_id="session-1",
            tool_id="",
            text="Paused after 3 iterations (360 tokens, cost unknown). Continue?",
            choices=(AnswerChoice(title="Stop"), AnswerChoice(title="Continue")),
            from_model=False,
        )
    ]


@pytest.mark.parametrize(
    "answer",
    [
        STOP,
        QuestionNotAnswered(),
        CannotAsk("nobody"),
        QuestionAnswered(text="Continue"),
        QuestionAnswered(choice="continue"),
    ],
)
async def test_every_answer_but_continue_stops(answer: QuestionAnswer) -> None:
    rig, _ = asking_rig(answer)
    result = await run_turn(rig, FakeModel([working()] * 9), limits=TurnLimits(max_iterations=2))
    assert (result.stop_reason, result.iterations) == ("max_iterations", 2)


async def test_where_nobody_can_be_asked_the_turn_stops() -> None:
    result = await run_turn(make_rig(), FakeModel([say("", Call(name="x", arguments={}))] * 9))
    assert result.stop_reason == "loop_detected"


async def test_continue_grants_the_same_again() -> None:
    rig, user = asking_rig(CONTINUE, CONTINUE, STOP)
    result = await run_turn(rig, FakeModel([working()] * 20), limits=TurnLimits(max_iterations=3))
    assert (result.stop_reason, result.iterations) == ("max_iterations", 9)
    assert [(each.limit, each.value) for each in rig.events.of(IterationLimitReached)] == [(3, 3), (6, 6), (9, 9)]
    assert len({each.question_id for each in user.questions}) == 3


# Each limit in its place


async def test_time_is_looked_at_before_a_call_and_a_pause_takes_none_of_it() -> None:
    rig, user = asking_rig(CONTINUE, STOP)
    long_thought = user.ask

    async def slow(question: Question) -> QuestionAnswer:
        rig.clock.advance(3_600)
        return await long_thought(question)

    user.ask = slow
    result = await run_turn(rig, FakeModel([working()] * 20), limits=TurnLimits(max_seconds=25))
    assert (result.stop_reason, result.iterations) == ("time_limit", 6)
    assert rig.events.of(TimeLimitReached) == [
        TimeLimitReached(limit=25, value=30),
        TimeLimitReached(limit=55, value=60),
    ]


async def test_tokens_are_looked_at_after_an_answer_before_its_tools_run() -> None:
    rig, _ = asking_rig(CONTINUE, STOP)
    history = list[Message]()
    result = await run_turn(rig, FakeModel([working()] * 20), history, limits=TurnLimits(max_tokens=200))
    assert (result.stop_reason, result.iterations) == ("token_limit", 4)
    assert [(each.limit, each.value) for each in rig.events.of(TokenLimitReached)] == [(200, 240), (440, 480)]
    assert [each.content for each in rig.events.of(ToolResult)] == ["result 1", "result 2", "result 3", LIMIT_RESULT]
    assert results_of(history[-1]) == [LIMIT_RESULT]
    assert (await run_turn(rig, FakeModel([say("going on")]), history, turn_id="turn-2")).text == "going on"


async def test_dollars_are_looked_at_after_an_answer_before_its_tools_run() -> None:
    rig, user = asking_rig(CONTINUE, STOP)
    model = FakeModel([working(Usage(input_tokens=10, cost_usd=0.4))] * 20)
    model.facts = ModelFacts(has_price=True)
    result = await run_turn(rig, model, limits=TurnLimits(max_budget_usd=0.5))
    assert (result.stop_reason, result.iterations) == ("budget_limit", 4)
    assert [each.limit for each in rig.events.of(BudgetLimitReached)] == [0.5, 1.3]
    assert user.questions[0].text == "Paused after $0.80 (2 iterations, 20 tokens). Continue?"


@pytest.mark.parametrize(
    "answer",
    [
        say("half an ans", finish="length", usage=Usage(input_tokens=200, cost_usd=2.0)),
        say("", usage=Usage(input_tokens=200, cost_usd=2.0)),
    ],
    ids=["that was cut off", "of nothing"],
)
@pytest.mark.parametrize(
    ("limits", "reason"),
    [(TurnLimits(max_tokens=200), "token_limit"), (TurnLimits(max_budget_usd=2.0), "budget_limit")],
)
async def test_after_an_answer_without_tools_that_is_not_the_last_one_they_are_looked_at_too(
    answer: list[Step], limits: TurnLimits, reason: str
) -> None:
    rig, user = asking_rig(STOP)
    model = FakeModel([answer, say("never")])
    model.facts = ModelFacts(has_price=True)
    result = await run_turn(rig, model, limits=limits)
    assert (result.stop_reason, result.iterations, len(user.questions)) == (reason, 1, 1)


async def test_before_what_the_user_says_meanwhile_is_answered_they_are_looked_at_too() -> None:
    rig, user = asking_rig(STOP)
    history, gate = list[Message](), Gate()
    turn = new_turn(rig, FakeModel([[gate, *say("Done.")], say("never")]), history, limits=TurnLimits(max_tokens=100))
    task = asyncio.ensure_future(turn.run())
    await gate.reached()
    turn.steer(Steering(shown="and b", content="and b"))
    gate.open()
    assert ((await bounded(task)).stop_reason, len(user.questions)) == ("token_limit", 1)
    assert [each.text for each in history] == ["do it", "Done.", "and b"]


async def test_two_limits_at_once_are_asked_about_one_by_one() -> None:
    rig, user = asking_rig(CONTINUE, CONTINUE)
    model = FakeModel([working(Usage(input_tokens=10, cost_usd=1.0)), say("Done.", usage=Usage(cost_usd=0.0))])
    model.facts = ModelFacts(has_price=True)
    result = await run_turn(rig, model, limits=TurnLimits(max_budget_usd=0.5, max_tokens=5))
    assert (result.stop_reason, len(user.questions)) == ("end_turn", 2)


# Unknown prices


async def test_a_model_without_a_price_asks_before_its_first_call_under_a_limit_in_dollars() -> None:
    rig, user = asking_rig(STOP)
    model = FakeModel([say("never")])
    result = await run_turn(rig, model, limits=TurnLimits(max_budget_usd=2))
    assert (result.stop_reason, model.requests) == ("budget_limit", [])
    (notice,) = rig.events.of(Notice)
    assert notice.content == (
        "The price of fake/model is unknown, so the limit of $2 a turn cannot be enforced. Limit tokens instead "
        "(max_tokens)."
    )
    assert user.questions[0].text.endswith("cannot be enforced. Continue without it?")


async def test_who_goes_on_without_a_price_is_asked_once() -> None:
    rig, user = asking_rig(CONTINUE)
    result = await run_turn(rig, FakeModel([working(), working(), say("Done.")]), limits=TurnLimits(max_budget_usd=2))
    assert (result.text, len(user.questions)) == ("Done.", 1)


async def test_the_model_of_an_agent_that_is_chosen_meanwhile_is_asked_about_before_it_is_called() -> None:
    rig, user = asking_rig(STOP)
    gate, unpriced = Gate(), FakeModel([say("never")], name="some/model")
    model = FakeModel([[gate, *working(Usage(input_tokens=10, cost_usd=0.1))]])
    model.facts = ModelFacts(has_price=True)
    turn = new_turn(rig, model, limits=TurnLimits(max_budget_usd=1))

    async def other_agent() -> tuple[TurnSpec, SessionServices]:
        return replace(turn.spec, model=unpriced, agent="other"), turn.services

    task = asyncio.ensure_future(turn.run())
    await gate.reached()
    turn.switch_agent(other_agent)
    gate.open()
    assert ((await bounded(task)).stop_reason, unpriced.requests) == ("budget_limit", [])
    assert ["some/model" in each.text for each in user.questions] == [True]


async def test_a_model_that_cannot_be_had_is_no_question_of_its_price() -> None:
    rig, user = asking_rig()
    model = FakeModel([])
    model.prepare_error = ModelError("no key", type="auth")
    result = await run_turn(rig, model, limits=TurnLimits(max_budget_usd=2))
    assert (result.error, user.questions) == (model.prepare_error, [])


# Cancelled meanwhile


@pytest.mark.parametrize(
    ("limits", "n_results"), [({"max_iterations": 1}, 1), ({"max_tokens": 1}, 1), ({"max_seconds": 5}, 1)]
)
async def test_a_cancel_while_the_user_is_asked_withdraws_the_question(limits: dict[str, Any], n_results: int) -> None:
    rig, user = asking_rig()
    gate = user.gate = Gate()
    history = list[Message]()
    turn = new_turn(rig, FakeModel([working()] * 9), history, limits=TurnLimits(**limits))
    result = await cancel_turn(rig, turn, gate.reached)
    assert (result.stop_reason, user.n_open) == ("cancelled", 0)
    assert len(rig.events.of(ToolCall)) == len(results_of(history[-1])) == n_results


async def test_a_cancel_before_the_tools_of_an_answer_answers_them_all() -> None:
    rig, user = asking_rig()
    gate = user.gate = Gate()
    history = list[Message]()
    turn = new_turn(rig, FakeModel([working()]), history, limits=TurnLimits(max_tokens=1))
    await cancel_turn(rig, turn, gate.reached)
    assert results_of(history[-1]) == [NOT_BEGUN_RESULT]


async def test_a_bug_while_the_user_is_asked_leaves_a_history_that_can_go_on() -> None:
    class BrokenQuestioner:
        async def ask(self, question: Question) -> QuestionAnswer:
            raise ZeroDivisionError(question.text)

    rig, history = make_rig(saying("work", "never")), list[Message]()
    rig.use(pauser=BrokenQuestioner())
    turn = new_turn(rig, FakeModel([working()]), history, limits=TurnLimits(max_tokens=1))
    with pytest.raises(ZeroDivisionError):
        await bounded(turn.run())
    check_history(history)
    assert rig.events.types[-2:] == ["tool_result", "finished"]


async def test_a_subagent_asks_nobody() -> None:
    rig, user = asking_rig(CONTINUE)
    turn = new_turn(rig, FakeModel([working()] * 9), limits=TurnLimits(max_iterations=2), parent_tool_id="call_1")
    result = await asyncio.wait_for(turn.run(), 30)
    assert (result.stop_reason, user.questions) == ("max_iterations", [])
    assert not {"turn_started", "finished"} & set(rig.events.types)
