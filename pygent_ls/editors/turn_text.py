"""In a line, for a person: what keeps a turn from going on, and what happens next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pygent_ls.agent import events as ev
from pygent_ls.agent.messages import rejections_in_words

Limit = ev.IterationLimitReached | ev.TokenLimitReached | ev.BudgetLimitReached | ev.TimeLimitReached | ev.LoopDetected


def limit_line(event: Limit) -> str:
    """Which limit is reached, and how far the turn has come."""
    match event:
        case ev.IterationLimitReached(limit=limit):
            return f"The limit of {limit} model calls a turn is reached."
        case ev.TokenLimitReached(limit=limit, value=value):
            return f"The limit of {limit} tokens a turn is reached: {value} were used."
        case ev.BudgetLimitReached(limit=limit, value=value):
            return f"The limit of ${limit:g} a turn is reached: ${value:.4f} were spent."
        case ev.TimeLimitReached(limit=limit, value=value):
            return f"The limit of {limit:g} s a turn is reached: {value:.0f} s have passed."
        case ev.LoopDetected(value=value):
            return f"The model goes round in circles: {value} equal calls."


def failure_line(error: ev.LlmError) -> str:
    """What went wrong with a model call, and what happens next."""
    if error.fallback_model is not None:
        return f"{error.error_message} Goes on with {error.fallback_model}."
    if error.will_retry and error.retry_in_s:
        return f"{error.error_message} Asks again in {error.retry_in_s:.1f} s (attempt {error.attempt + 1})."
    return error.error_message


def rejection_lines(attachments: Sequence[ev.PromptAttachment]) -> Iterator[str]:
    """A sentence for each review report that a prompt carries."""
    return (f"{rejections_in_words(each.rejected)}." for each in attachments if each.kind == "review")
