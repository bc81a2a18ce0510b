"""Limits of a turn: when each is checked, and what the user is asked when one is reached."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.events import (
    AgentEvent,
    BudgetLimitReached,
    IterationLimitReached,
    Notice,
    TimeLimitReached,
    TokenLimitReached,
)
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.turn_spec import TurnLimits


class TurnSpent(Struct, frozen=True, kw_only=True):
    """What a turn has used so far."""

    iterations: int
    usage: Usage
    seconds: float = 0.0

    def after(self, reason: StopReason) -> str:
        """Describe the usage, the stop reason's first: `50 iterations (12.4k tokens, $0.31)`."""
        parts: dict[StopReason, str] = {
            "max_iterations": f"{self.iterations} iteration{'s' if self.iterations != 1 else ''}",
            "token_limit": f"{_short(self.usage.total_tokens)} tokens",
            "budget_limit": _dollars(self.usage.cost_usd),
        }
        if reason == "time_limit":
            parts = {"time_limit": f"{self.seconds:.0f} s", **parts}
        first = parts.pop(reason, parts["max_iterations"])
        return f"{first} ({', '.join(each for each in parts.values() if each != first)})"


class Stop(Struct, frozen=True, kw_only=True):
    """Limit that was reached."""

    reason: StopReason
    """Stop reason of the turn if the user does not let it continue."""
    events: tuple[AgentEvent, ...]
    """Events that are emitted before the user is asked."""
    question: str
    """Question for the user."""


class Allowance:
    """What a turn may use: its limits, and what the user granted beyond them."""

    def __init__(self, limits: TurnLimits) -> None:
        self._each = limits
        self._bounds: TurnLimits = limits

    @property
    def needs_price(self) -> bool:
        """Whether a limit in dollars applies."""
        return bool(self._bounds.max_budget_usd)

    def seconds_left(self, spent: TurnSpent) -> float | None:
        """Return the seconds until the limit on the duration is reached; None without a limit."""
        return max(0.0, self._bounds.max_seconds - spent.seconds) if self._bounds.max_seconds else None

    def before_call(self, spent: TurnSpent) -> Stop | None:
        """Check before each model call, so exactly `max_iterations` calls are made."""
        bounds = self._bounds
        if bounds.max_iterations and spent.iterations >= bounds.max_iterations:
            return _stop(
                "max_iterations", spent, IterationLimitReached(limit=bounds.max_iterations, value=spent.iterations)
            )
        if bounds.max_seconds and spent.seconds >= bounds.max_seconds:
            return _stop("time_limit", spent, TimeLimitReached(limit=bounds.max_seconds, value=spent.seconds))
        return None

    def after_answer(self, spent: TurnSpent, model: str) -> Stop | None:
        """Check after each answer, before its tools run: the tokens are spent, but nothing was done with them."""
        bounds, usage = self._bounds, spent.usage
        if bounds.max_tokens and usage.total_tokens >= bounds.max_tokens:
            return _stop("token_limit", spent, TokenLimitReached(limit=bounds.max_tokens, value=usage.total_tokens))
        if not bounds.max_budget_usd:
            return None
        if usage.cost_usd is None:
            return self.price_unknown(model)
        if usage.cost_usd >= bounds.max_budget_usd:
            return _stop("budget_limit", spent, BudgetLimitReached(limit=bounds.max_budget_usd, value=usage.cost_usd))
        return None

    def is_final(self, stop: Stop) -> bool:
        """Whether the limit is the administrator's, so that the user cannot let the turn continue."""
        bounds, most = self._bounds, self._each.ceilings
        if most is None:
            return False
        match stop.reason:
            case "max_iterations":
                return most.max_iterations != 0 and bounds.max_iterations >= most.max_iterations
            case "time_limit":
                return most.max_seconds != 0 and bounds.max_seconds >= most.max_seconds
            case "token_limit":
                return most.max_tokens != 0 and bounds.max_tokens >= most.max_tokens
            case "budget_limit":
                reached = any(isinstance(event, BudgetLimitReached) for event in stop.events)
                return most.max_budget_usd != 0 and (not reached or bounds.max_budget_usd >= most.max_budget_usd)
            case "end_turn" | "max_output_tokens" | "refusal" | "loop_detected" | "cancelled" | "interrupted" | "error":
                return False  # these stop reasons are not limits

    def price_unknown(self, model: str) -> Stop:
        """Return the stop for a limit in dollars that cannot be enforced."""
        problem = (
            f"The price of {model} is unknown, so the limit of ${self._bounds.max_budget_usd:g} a turn cannot be "
            "enforced"
        )
        notice = Notice(content=f"{problem}. Limit tokens instead (max_tokens).", level="warning")
        return Stop(reason="budget_limit", events=(notice,), question=f"{problem}. Continue without it?")

    def grant(self, stop: Stop, spent: TurnSpent) -> None:
        """Let the turn continue: by the same amount again from here, or without a limit that cannot be enforced, but
        not beyond the administrator's limits."""
        bounds, each = self._bounds, self._each
        match stop.reason:
            case "max_iterations":
                self._bounds = replace(bounds, max_iterations=spent.iterations + each.max_iterations)
            case "time_limit":
                self._bounds = replace(bounds, max_seconds=spent.seconds + each.max_seconds)
            case "token_limit":
                self._bounds = replace(bounds, max_tokens=spent.usage.total_tokens + each.max_tokens)
            case "budget_limit":
                reached = any(isinstance(event, BudgetLimitReached) for event in stop.events)
                cost = spent.usage.cost_usd or 0.0
                self._bounds = replace(bounds, max_budget_usd=cost + each.max_budget_usd if reached else 0.0)
            case "end_turn" | "max_output_tokens" | "refusal" | "loop_detected" | "cancelled" | "interrupted" | "error":
                pass  # these stop reasons are not limits
        self._bounds = self._bounds.within(each.ceilings)


def _stop(reason: StopReason, spent: TurnSpent, event: AgentEvent) -> Stop:
    return Stop(reason=reason, events=(event,), question=f"Paused after {spent.after(reason)}. Continue?")


def _short(n: int) -> str:
    """Format a number: `950`, `12.4k`, `1.2M`."""
    for least, size, unit in ((999_950, 1_000_000, "M"), (1_000, 1_000, "k")):
        if n >= least:
            return f"{n / size:.1f}{unit}"
    return str(n)


def _dollars(usd: float | None) -> str:
    """Format an amount: `$0.31`; below a cent, with the first two significant digits."""
    if usd is None:
        return "cost unknown"
    return f"${usd:.2f}" if usd <= 0 or usd >= 0.01 else f"${usd:.{1 - math.floor(math.log10(usd))}f}"
