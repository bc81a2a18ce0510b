"""Whether a parser's time grows faster than its input, measured as a ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from tests.endurance.parsers.target import Target
from tests.house.growth import EndlessError, grows_too_fast, seconds

SHORT_BYTES = 5_000
"""Length to which an input is repeated first; ten times that must take about ten times as long."""

N_SLOWEST = 5
"""Number of inputs of a parser that are measured: those that take longest once they are repeated."""


def inputs_that_grow_too_fast(target: Target, inputs: Iterable[bytes]) -> list[bytes]:
    """The inputs that, repeated, take much more than ten times as long at ten times the length."""
    if not target.is_linear:
        return []

    def run(text: str) -> None:
        with suppress(AssertionError):  # of another kind: the repeated input may be wrong for the check
            target.check(text.encode("latin-1"))

    def cost(data: bytes) -> float:
        try:
            return seconds(run, _repeating(data)(SHORT_BYTES), n_runs=1)
        except EndlessError:
            return float("inf")

    slowest = sorted(filter(None, inputs), key=cost, reverse=True)[:N_SLOWEST]
    return [
        data for data in slowest if grows_too_fast(run, _repeating(data), length=SHORT_BYTES, times=10, floor_s=0.02)
    ]


def _repeating(data: bytes) -> Callable[[int], str]:
    """The input, repeated up to a length; each byte is a character, as `grows_too_fast` measures texts."""
    return lambda length: (data * (length // len(data) + 1))[:length].decode("latin-1")
