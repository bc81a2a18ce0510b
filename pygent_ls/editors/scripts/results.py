"""The last line of a turn, which is also the only output of `--output-format json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.scripts.output_lines import Denial, ResultLine, usage_out

SUBTYPES: Mapping[StopReason, str] = {
    "end_turn": "success",
    "refusal": "success",
    "max_iterations": "error_max_turns",
    "budget_limit": "error_max_budget_usd",
    "token_limit": "error_limit",
    "time_limit": "error_limit",
    "max_output_tokens": "error_limit",
    "loop_detected": "error_limit",
    "cancelled": "interrupted",
    "interrupted": "interrupted",
    "error": "error_during_execution",
}

SAID: Mapping[StopReason, str] = {
    "max_output_tokens": "The answer was cut off at max_output_tokens.",
    "cancelled": "The turn was cancelled.",
    "interrupted": "The turn was cut off.",
}
"""How a turn ended, unless an error or a limit already says it."""


class Ended(Struct, frozen=True, kw_only=True):
    """A turn that has ended."""

    result: TurnResult
    limit_text: str
    """The limit that was reached, as text; empty if none."""
    denials: Sequence[Denial]
    duration_s: float
    """Time from the start of the turn to its end."""


def result_line(ended: Ended) -> ResultLine:
    """Return the line that reports how the turn ended, its usage and its cost."""
    result = ended.result
    subtype = SUBTYPES[result.stop_reason]
    line: ResultLine = {
        "type": "result",
        "subtype": subtype,
        "is_error": subtype != "success",
        "result": result.text,
        "stop_reason": result.stop_reason,
        "num_turns": result.iterations,
        "duration_ms": round(ended.duration_s * 1000),
        "duration_api_ms": round(result.model_s * 1000),
        "total_cost_usd": result.usage.cost_usd,
        "usage": usage_out(result.usage),
        "permission_denials": ended.denials,
    }
    if result.structured is not None:
        line["structured_output"] = result.structured.value
    if line["is_error"]:
        line["result"] = problem_of(ended)
        line["errors"] = [line["result"]]
    return line


def problem_of(ended: Ended) -> str:
    """Return why the turn did not complete, as text for the user."""
    result = ended.result
    if result.error is not None:
        return result.error.message
    return SAID.get(result.stop_reason) or ended.limit_text or f"The turn ended: {result.stop_reason}."


def failed_line(problem: str) -> ResultLine:
    """Return the line for a turn that could not begin."""
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "result": problem,
        "stop_reason": "error",
        "num_turns": 0,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "total_cost_usd": None,
        "usage": usage_out(Usage()),
        "permission_denials": [],
        "errors": [problem],
    }
