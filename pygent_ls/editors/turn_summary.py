"""Text for the user: how a turn ended, which limit it reached, and what happens next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import rejections_in_words

STOP_WORDS: Mapping[StopReason, str] = {
    "end_turn": "Done",
    "max_iterations": "Stopped at the limit of model calls",
    "token_limit": "Stopped at the token limit",
    "budget_limit": "Stopped at the cost limit",
    "time_limit": "Stopped at the time limit",
    "max_output_tokens": "Answer cut off at the output limit",
    "refusal": "The model refused",
    "loop_detected": "Stopped: the model repeated itself",
    "cancelled": "Cancelled",
    "interrupted": "Interrupted",
    "error": "Failed",
}
"""How a turn ended, as text for the user."""


def summary(finished: ev.Finished, separator: str) -> str:
    """Return how the turn ended, the number of changed files, the tokens and the cost."""
    n_files = len(finished.files_changed)
    files = [f"{n_files} file{'s' if n_files != 1 else ''} changed"] if n_files else []
    usage = finished.usage
    parts = [STOP_WORDS[finished.stop_reason], *files, f"{usage.total_tokens} tokens", usage.cost_in_words]
    return separator.join(parts)


Limit = ev.IterationLimitReached | ev.TokenLimitReached | ev.BudgetLimitReached | ev.TimeLimitReached | ev.LoopDetected


def limit_line(event: Limit) -> str:
    """Return which limit was reached, and the value that the turn has reached."""
    match event:
        case ev.IterationLimitReached(limit=limit):
            return f"The limit of {limit} model calls per turn was reached."
        case ev.TokenLimitReached(limit=limit, value=value):
            return f"The limit of {limit} tokens per turn was reached: {value} used."
        case ev.BudgetLimitReached(limit=limit, value=value):
            return f"The limit of ${limit:g} per turn was reached: ${value:.4f} spent."
        case ev.TimeLimitReached(limit=limit, value=value):
            return f"The limit of {limit:g} s per turn was reached after {value:.0f} s."
        case ev.LoopDetected(value=value):
            return f"The model repeated the same call {value} times."


def failure_line(error: ev.LlmError) -> str:
    """Return why a model call failed, and what happens next."""
    if error.fallback_model is not None:
        return f"{error.error_message} Continuing with {error.fallback_model}."
    if error.will_retry and error.retry_in_s:
        return f"{error.error_message} Retrying in {error.retry_in_s:.1f} s (attempt {error.attempt + 1})."
    return error.error_message


def rejection_lines(attachments: Sequence[ev.PromptAttachment]) -> Iterator[str]:
    """Yield one sentence for each review report attached to a prompt."""
    return (f"{rejections_in_words(each.rejected)}." for each in attachments if each.kind == "review")
