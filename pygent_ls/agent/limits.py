"""What bounds a turn, and when each bound is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from pygent_ls.agent.events import (
    AgentEvent,
    BudgetLimitReached,
    IterationLimitReached,
    Notice,
    StopReason,
    TokenLimitReached,
)
from pygent_ls.agent.messages import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """The most that a turn may take; 0 is no limit."""

    max_iterations: int = 0
    """Model calls."""
    max_tokens: int = 0
    """Input and output of all calls together."""
    max_budget_usd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A limit is reached: the events that say so, and how the turn ends."""

    reason: StopReason
    events: tuple[AgentEvent, ...]


def before_call(limits: TurnLimits, iterations: int) -> Stop | None:
    """Looked at before each model call, so exactly `max_iterations` calls are made."""
    if not limits.max_iterations or iterations < limits.max_iterations:
        return None
    return Stop(reason="max_iterations", events=(IterationLimitReached(limit=limits.max_iterations, value=iterations),))


def after_answer(limits: TurnLimits, usage: Usage) -> Stop | None:
    """Looked at after each answer, before its tools run: the tokens are spent, but nothing was done with them."""
    if limits.max_tokens and usage.total_tokens >= limits.max_tokens:
        reached = TokenLimitReached(limit=limits.max_tokens, value=usage.total_tokens)
        return Stop(reason="token_limit", events=(reached,))
    if not limits.max_budget_usd:
        return None
    if usage.cost_usd is None:
        unknown = Notice(
            content="The price of this model is not known, so a limit in dollars cannot be kept. Limit tokens.",
            level="warning",
        )
        return Stop(reason="budget_limit", events=(unknown,))
    if usage.cost_usd >= limits.max_budget_usd:
        return Stop(
            reason="budget_limit", events=(BudgetLimitReached(limit=limits.max_budget_usd, value=usage.cost_usd),)
        )
    return None
