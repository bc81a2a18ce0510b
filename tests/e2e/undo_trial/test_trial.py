"""Whatever the user, two agents, their commands and hooks do in whatever order: the user's text is there, or is named.

`PYGENT_FUZZ=500` in the environment tries that many random sequences, and makes one that fails as short as it can.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.e2e.undo_trial.steps import Step, sequences
from tests.e2e.undo_trial.trial import play

N_EXAMPLES = int(os.environ.get("PYGENT_FUZZ", "6"))


def test_undo_takes_what_the_agent_wrote_and_nothing_else_in_any_random_sequence() -> None:
    checked: Counter[str] = Counter()

    @settings(
        max_examples=N_EXAMPLES,
        phases=[Phase.explicit, Phase.generate] + ([Phase.shrink] if "PYGENT_FUZZ" in os.environ else []),
        report_multiple_bugs=False,
        deadline=None,
        derandomize="PYGENT_FUZZ" not in os.environ,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(sequence=sequences, has_git=st.booleans(), has_hook=st.booleans())
    def attempt(sequence: list[Step], has_git: bool, has_hook: bool) -> None:
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent).resolve() / "project"
            folder.mkdir()
            checked.update(asyncio.run(play(folder, sequence, has_git=has_git, has_hook=has_hook)))

    attempt()
    wanted = {"turns", "undo", "redo", "restore", "files back", "while a command runs", "two sessions at once"}
    assert wanted - checked.keys() == set(), f"the sequences are too simple: {checked}"
