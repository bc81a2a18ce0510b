"""What bounds a turn, when each bound is looked at, and what the user grants."""

from __future__ import annotations

import pytest

from pygent_ls.agent.events import (
    BudgetLimitReached,
    IterationLimitReached,
    Notice,
    TimeLimitReached,
    TokenLimitReached,
)
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.turn.limits import Allowance, Stop, TurnLimits, TurnSpent

USED = Usage(input_tokens=90, output_tokens=10, cost_usd=0.5)


def spent(*, iterations: int = 2, usage: Usage = USED, seconds: float = 0.0) -> TurnSpent:
    return TurnSpent(iterations=iterations, usage=usage, seconds=seconds)


def test_without_limits_nothing_stops_a_turn() -> None:
    allowance = Allowance(TurnLimits())
    much = spent(iterations=10**4, usage=Usage(input_tokens=10**9, cost_usd=10.0**9), seconds=10.0**9)
    assert allowance.before_call(much) is None
    assert allowance.after_answer(much, "m") is None
    assert not allowance.needs_price


@pytest.mark.parametrize(("iterations", "stops"), [(0, False), (2, False), (3, True), (4, True)])
def test_before_a_call_the_iterations_are_looked_at(*, iterations: int, stops: bool) -> None:
    stop = Allowance(TurnLimits(max_iterations=3)).before_call(spent(iterations=iterations))
    assert (stop is not None) is stops
    if stop:
        assert stop.reason == "max_iterations"
        assert stop.events == (IterationLimitReached(limit=3, value=iterations),)


@pytest.mark.parametrize(("seconds", "stops"), [(9.9, False), (10.0, True), (12.0, True)])
def test_before_a_call_the_time_is_looked_at(*, seconds: float, stops: bool) -> None:
    stop = Allowance(TurnLimits(max_seconds=10)).before_call(spent(seconds=seconds))
    assert (stop is not None) is stops
    if stop:
        assert (stop.reason, stop.events) == ("time_limit", (TimeLimitReached(limit=10, value=seconds),))


@pytest.mark.parametrize(("max_tokens", "stops"), [(99, True), (100, True), (101, False)])
def test_after_an_answer_the_tokens_are_looked_at(*, max_tokens: int, stops: bool) -> None:
    stop = Allowance(TurnLimits(max_tokens=max_tokens)).after_answer(spent(), "m")
    assert (stop is not None) is stops
    if stop:
        assert (stop.reason, stop.events) == ("token_limit", (TokenLimitReached(limit=max_tokens, value=100),))


@pytest.mark.parametrize(("max_budget_usd", "stops"), [(0.49, True), (0.5, True), (0.51, False)])
def test_after_an_answer_the_dollars_are_looked_at(*, max_budget_usd: float, stops: bool) -> None:
    stop = Allowance(TurnLimits(max_budget_usd=max_budget_usd)).after_answer(spent(), "m")
    assert (stop is not None) is stops
    if stop:
        assert stop.reason == "budget_limit"
        assert stop.events == (BudgetLimitReached(limit=max_budget_usd, value=0.5),)


def test_a_budget_that_cannot_be_kept_stops_the_turn_and_says_why() -> None:
    stop = Allowance(TurnLimits(max_budget_usd=1)).after_answer(spent(usage=Usage(input_tokens=1)), "some/model")
    assert stop is not None
    assert stop.reason == "budget_limit"
    (notice,) = stop.events
    assert isinstance(notice, Notice)
    assert "The price of some/model is unknown" in notice.content
    assert "max_tokens" in notice.content
    assert stop.question.endswith("Continue without it?")


@pytest.mark.parametrize(
    ("limits", "question"),
    [
        (TurnLimits(max_iterations=50), "Paused after 50 iterations (12.4k tokens, $0.31). Continue?"),
        (TurnLimits(max_seconds=60), "Paused after 75 s (50 iterations, 12.4k tokens, $0.31). Continue?"),
        (TurnLimits(max_tokens=9), "Paused after 12.4k tokens (50 iterations, $0.31). Continue?"),
        (TurnLimits(max_budget_usd=0.1), "Paused after $0.31 (50 iterations, 12.4k tokens). Continue?"),
    ],
)
def test_the_question_says_what_the_turn_took(limits: TurnLimits, question: str) -> None:
    took = spent(iterations=50, usage=Usage(input_tokens=12_000, output_tokens=400, cost_usd=0.309), seconds=75)
    allowance = Allowance(limits)
    stop = allowance.before_call(took) or allowance.after_answer(took, "m")
    assert stop is not None
    assert stop.question == question


@pytest.mark.parametrize(
    ("tokens", "cost_usd", "said"),
    [
        (0, 0.0, "0 tokens, $0.00"),
        (950, 0.00123, "950 tokens, $0.0012"),
        (1_000, 0.0099, "1.0k tokens, $0.0099"),
        (12_449, 0.01, "12.4k tokens, $0.01"),
        (999_949, 9.994, "999.9k tokens, $9.99"),
        (999_950, 12.5, "1.0M tokens, $12.50"),
    ],
)
def test_large_numbers_are_short_and_small_ones_are_not_called_nothing(tokens: int, cost_usd: float, said: str) -> None:
    took = spent(iterations=2, usage=Usage(input_tokens=tokens, cost_usd=cost_usd))
    assert took.after("max_iterations") == f"2 iterations ({said})"


def test_a_cost_that_is_not_known_is_not_called_nothing() -> None:
    took = spent(iterations=1, usage=Usage(input_tokens=1_500_000))
    assert took.after("max_iterations") == "1 iteration (1.5M tokens, cost unknown)"


@pytest.mark.parametrize(
    ("limits", "first", "enough", "too_much"),
    [
        (TurnLimits(max_iterations=3), spent(iterations=3), spent(iterations=5), spent(iterations=6)),
        (TurnLimits(max_seconds=10), spent(seconds=12), spent(seconds=21), spent(seconds=22)),
        (
            TurnLimits(max_tokens=100),
            spent(usage=Usage(input_tokens=1_000)),
            spent(usage=Usage(input_tokens=1_099)),
            spent(usage=Usage(input_tokens=1_100)),
        ),
        (
            TurnLimits(max_budget_usd=1),
            spent(usage=Usage(input_tokens=1, cost_usd=1.5)),
            spent(usage=Usage(input_tokens=1, cost_usd=2.25)),
            spent(usage=Usage(input_tokens=1, cost_usd=2.5)),
        ),
    ],
)
def test_who_lets_it_go_on_grants_as_much_again(
    limits: TurnLimits, first: TurnSpent, enough: TurnSpent, too_much: TurnSpent
) -> None:
    allowance = Allowance(limits)

    def stop_at(now: TurnSpent) -> Stop | None:
        return allowance.before_call(now) or allowance.after_answer(now, "m")

    stop = stop_at(first)
    assert stop is not None
    allowance.grant(stop, first)
    assert stop_at(first) is None
    assert stop_at(enough) is None
    again = stop_at(too_much)
    assert again is not None
    assert again.reason == stop.reason


def test_who_goes_on_without_a_price_is_not_asked_for_it_again() -> None:
    allowance, unknown = Allowance(TurnLimits(max_budget_usd=1)), spent(usage=Usage(input_tokens=1))
    assert allowance.needs_price
    allowance.grant(allowance.price_unknown("m"), unknown)
    assert not allowance.needs_price
    assert allowance.after_answer(unknown, "m") is None
