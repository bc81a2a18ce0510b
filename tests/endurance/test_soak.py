"""A short soak; `python -m tests.endurance soak` is the long one."""

from __future__ import annotations

import pytest

from tests.endurance.soak.steps import episode, play


@pytest.mark.parametrize("seed", [1, 2])
async def test_everything_is_true_after_each_random_step(seed: int) -> None:
    outcome = await play(episode(seed, 25, restarts=True))

    assert outcome.error is None, outcome.error
    assert outcome.failed_at is None
