"""How the time that a function takes grows with its text; measured as a ratio, never against a clock."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Generator
from types import FrameType

MAX_CPU_S = 4
"""A run that takes longer is ended: what is linear takes a hundredth of it, and what is not would take hours."""


class EndlessError(Exception):
    """A run was ended because it took too long."""


def seconds(run: Callable[[str], object], text: str, *, n_runs: int = 3) -> float:
    """CPU time of the fastest of some runs. Raises `EndlessError`."""
    best = float("inf")
    for _ in range(n_runs):
        with limited():
            began = time.thread_time()
            run(text)
            best = min(best, time.thread_time() - began)
    return best


@contextlib.contextmanager
def limited() -> Generator[None]:
    """End what takes far more CPU time than it may. Raises `EndlessError`."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise EndlessError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def grows_too_fast(
    run: Callable[[str], object], make: Callable[[int], str], *, length: int, times: int, floor_s: float
) -> bool:
    """Whether a text `times` as long takes much longer than that: linear is `times`, quadratic its square.

    Times below `floor_s` say nothing, and count as that.
    """
    try:
        if seconds(run, make(length), n_runs=1) < floor_s / times:
            return False
        short = seconds(run, make(length))
        long = seconds(run, make(length * times), n_runs=1)
        if long < floor_s:
            return False
        if long <= short * times * 3:
            return False
        return seconds(run, make(length * times), n_runs=10) > seconds(run, make(length), n_runs=10) * times * 3
    except EndlessError:
        return True
