"""Last-resort shortening of a compacted conversation that still exceeds the available room. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from pygent_ls.agent.compaction.summary import KEPT_RESULT_CHARS, Parts, SummaryStanding, fitted, shortened_results
from pygent_ls.agent.context.window import chars_of, is_prompt
from pygent_ls.agent.messages import Message, ToolResultBlock

MARGIN = 0.95
"""Share of the room that a provider states: its count and our estimate differ from text to text."""

LEAST_SHARE = 0.05
"""Minimum share that a refused request is scaled to: no request counts as longer than twenty windows, as numbers in
messages may be something else."""

_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]{3,15}(?![\w-])")


def least_chars(messages: Sequence[Message]) -> int:
    """Return the number of characters that remain if the messages' results are cut as far as possible."""
    results = (
        len(each.content) for message in messages for each in message.blocks if isinstance(each, ToolResultBlock)
    )
    return sum(map(chars_of, messages)) - sum(max(length - KEPT_RESULT_CHARS, 0) for length in results)


def shortened(messages: Sequence[Message], target: int, most: int) -> tuple[Message, ...]:
    """Return the messages with their results cut to about `target` characters; if they still exceed `most`, what the
    user said and attached is cut as well."""
    shorter = shortened_results(messages, target)
    sizes = [chars_of(message) for message in shorter if is_prompt(message)]
    n_chars = sum(map(chars_of, shorter))
    if n_chars <= most or not sizes:
        return shorter
    share = max((most - n_chars + sum(sizes)) // len(sizes), KEPT_RESULT_CHARS)
    return tuple(
        replace(message, content=fitted(message.blocks, share))
        if is_prompt(message) and chars_of(message) > share
        else message
        for message in shorter
    )


def cuts_words(parts: Parts, standing: SummaryStanding) -> bool:
    """Whether part of the user's task that was complete until now is left out."""
    stands = standing.messages[0].blocks if standing.messages else ()
    whole = all(block in parts.first.blocks for block in parts.task)
    return whole and not all(block in stands for block in parts.task)


def share_that_fits(refusal: str) -> float:
    """Return the share of a refused request that would have fitted, if the provider's message states both sizes
    ("maximum context length is 8192 tokens, your messages resulted in 9000"); 1.0 if it does not."""
    sizes = sorted({int(each.replace(",", "")) for each in _NUMBER.findall(refusal)})
    if len(sizes) < 2:
        return 1.0
    return max(sizes[-2] / sizes[-1] * MARGIN, LEAST_SHARE)
