"""What bounds a turn, and when each bound is looked at."""

from __future__ import annotations

import pytest

from pygent_ls.agent.events import BudgetLimitReached, IterationLimitReached, Notice, TokenLimitReached
from pygent_ls.agent.limits import TurnLimits, after_answer, before_call
from pygent_ls.agent.messages import Usage

USED = Usage(input_tokens=90, output_tokens=10, cost_usd=0.5)


def test_without_limits_nothing_stops_a_turn() -> None:
    assert before_call(TurnLimits(), 10_000) is None
    assert after_answer(TurnLimits(), Usage(input_tokens=10**9, cost_usd=10.0**9)) is None


@pytest.mark.parametrize(("iterations", "stops"), [(0, False), (2, False), (3, True), (4, True)])
def test_before_a_call_the_iterations_are_looked_at(*, iterations: int, stops: bool) -> None:
    stop = before_call(TurnLimits(max_iterations=3), iterations)
    assert (stop is not None) is stops
    if stop:
        assert stop.reason == "max_iterations"
        assert stop.events == (IterationLimitReached(limit=3, value=iterations),)


@pytest.mark.parametrize(("max_tokens", "stops"), [(99, True), (100, True), (101, False)])
def test_after_an_answer_the_tokens_are_looked_at(*, max_tokens: int, stops: bool) -> None:
    stop = after_answer(TurnLimits(max_tokens=max_tokens), USED)
    assert (stop is not None) is stops
    if stop:
        assert (stop.reason, stop.events) == ("token_limit", (TokenLimitReached(limit=max_tokens, value=100),))


@pytest.mark.parametrize(("max_budget_usd", "stops"), [(0.49, True), (0.5, True), (0.51, False)])
def test_after_an_answer_the_dollars_are_looked_at(*, max_budget_usd: float, stops: bool) -> None:
    stop = after_answer(TurnLimits(max_budget_usd=max_budget_usd), USED)
    assert (stop is not None) is stops
    if stop:
        assert stop.reason == "budget_limit"
        assert stop.events == (BudgetLimitReached(limit=max_budget_usd, value=0.5),)


def test_a_budget_that_cannot_be_kept_stops_the_turn_and_says_why() -> None:
    stop = after_answer(TurnLimits(max_budget_usd=1), Usage(input_tokens=1))
    assert stop is not None
    assert stop.reason == "budget_limit"
    (notice,) = stop.events
    assert isinstance(notice, Notice)
    assert "price" in notice.content
