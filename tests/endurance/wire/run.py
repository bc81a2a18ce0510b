"""The part `wire` of `make endurance`: every field with every extreme, then random clients until the time is over."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from time import monotonic

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.endurance.wire.every_field import problems
from tests.endurance.wire.machine import WireMachine

N_CLIENTS, N_STEPS = 20, 60
"""Clients of one round, and steps of each."""

MAX_FAILURES = 5
"""Failures after which it ends early: later ones are mostly the same."""


def main(hours: float) -> bool:
    """Run clients for that time. Prints each failure with its steps; returns whether all promises were kept."""
    ends_s = monotonic() + hours * 3600
    seen: Counter[str] = Counter()
    n_failures = 0
    for each in problems():
        n_failures += 1
        print(each, flush=True)

    class Counting(WireMachine):
        def teardown(self) -> None:
            seen.update(self.client.seen)
            seen.update(
                {"daemons": 1, "requests": self.client.n_requests, "requests of the daemon": len(self.client.asked)}
            )
            super().teardown()

    round_settings = settings(
        max_examples=N_CLIENTS,
        stateful_step_count=N_STEPS,
        deadline=None,
        derandomize=False,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        phases=[Phase.generate, *([Phase.shrink] if os.environ.get("SHRINK") else [])],
    )
    while True:
        try:
            run_state_machine_as_test(Counting, settings=round_settings)
        except Exception:
            n_failures += 1
            traceback.print_exc()
        if monotonic() > ends_s or n_failures >= MAX_FAILURES:
            break
    print(f"wire: {dict(sorted(seen.items()))}; {n_failures} failures", flush=True)
    return n_failures == 0
