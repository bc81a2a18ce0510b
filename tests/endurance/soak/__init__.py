"""A soak: random turns, edits, cancels and restarts on a real daemon, with everything checked after each step.

usage: python -m tests.endurance.soak [--hours H] [--seed N] [--steps N]

It lives through one episode after another, each in a new folder. An episode that fails is printed with its seed and
with the shortest list of steps that still fails. `--replay SEED STEP…` lives through such a list again.
"""

from __future__ import annotations

import argparse
import asyncio
import time
import traceback
from collections import Counter
from collections.abc import Sequence

from tests.endurance.soak.steps import Episode, Outcome, Step, episode, play

N_STEPS = 150
"""Steps of an episode."""

N_CALM = 400
"""Steps of an episode without restarts, in which memory is measured."""

MAX_GROWN_BYTES = 40_000_000
"""Growth of the daemon in the last three quarters of an episode without restarts."""

SHRINK_S = 120.0
"""Longest time that shrinking a failure takes."""


def main(hours: float = 2.0, seed: int | None = None, n_steps: int = N_STEPS) -> bool:
    """Soak for that long; returns whether everything was true."""
    ends_s = time.monotonic() + hours * 3600
    first = int(time.time()) if seed is None else seed
    seen: Counter[str] = Counter()
    n_failed, number = 0, 0
    while number == 0 or time.monotonic() < ends_s:
        is_calm = number % 4 == 3
        wanted = episode(first + number, N_CALM if is_calm else n_steps, restarts=not is_calm)
        began_s = time.monotonic()
        outcome = asyncio.run(play(wanted))
        seen += outcome.seen
        grown = growth(outcome) if is_calm else 0
        if outcome.error is None and grown > MAX_GROWN_BYTES:
            outcome.error = AssertionError(f"the daemon grew by {grown / 1e6:.0f} MB")
        took_s = time.monotonic() - began_s
        print(
            f"episode {wanted.seed}: {'ok' if outcome.error is None else 'FAILED'}, {took_s:.0f} s"
            + (f", grown by {grown / 1e6:.1f} MB" if is_calm else ""),
            flush=True,
        )
        if outcome.error is not None:
            n_failed += 1
            report(wanted, outcome)
        number += 1
    print(f"{number} episodes, {n_failed} failed; " + ", ".join(f"{name} {n}" for name, n in sorted(seen.items())))
    return n_failed == 0


def growth(outcome: Outcome) -> int:
    """Growth in bytes after the first quarter; 0 if it failed before."""
    warm = len(outcome.resident) // 4
    return outcome.resident[-1] - outcome.resident[warm] if warm else 0


def report(wanted: Episode, outcome: Outcome) -> None:
    """Print an episode that failed, and the shortest list of its steps that fails."""
    assert outcome.error is not None
    print("".join(traceback.format_exception(outcome.error))[-6000:], flush=True)
    at = outcome.failed_at if outcome.failed_at is not None else len(wanted.steps)
    steps = shrunk(wanted, wanted.steps[: at + 1])
    print(f"shortest: python -m tests.endurance.soak --replay {wanted.seed} " + " ".join(f"'{each}'" for each in steps))


def shrunk(wanted: Episode, steps: Sequence[Step]) -> Sequence[Step]:
    """Drop pieces, ever smaller ones, as long as it fails without them."""
    ends_s = time.monotonic() + SHRINK_S
    size = max(1, len(steps) // 2)
    while True:
        place = 0
        while place < len(steps):
            if time.monotonic() > ends_s:
                return steps
            fewer = [*steps[:place], *steps[place + size :]]
            if fewer and asyncio.run(play(wanted, fewer)).error is not None:
                steps = fewer
            else:
                place += size
        if size == 1:
            return steps
        size //= 2


def run() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.endurance.soak")
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--steps", type=int, default=N_STEPS)
    parser.add_argument("--replay", nargs="+", metavar="SEED STEP")
    given = parser.parse_args()
    if not given.replay:
        return 0 if main(given.hours, given.seed, given.steps) else 1
    pairs = [each.rpartition(":") for each in given.replay[1:]]
    wanted = Episode(int(given.replay[0]), tuple(Step(kind, int(seed)) for kind, _, seed in pairs))
    outcome = asyncio.run(play(wanted))
    if outcome.error is not None:
        print("".join(traceback.format_exception(outcome.error)))
    return 0 if outcome.error is None else 1
