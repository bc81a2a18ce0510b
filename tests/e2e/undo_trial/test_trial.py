"""Whatever the user, two agents, commands and hooks do, in any order: the text of the user is there, or is named."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.e2e.undo_trial.steps import Step, sequences
from tests.e2e.undo_trial.trial import play


def test_undo_takes_what_the_agent_wrote_and_nothing_else_in_any_random_sequence() -> None:
    checked: Counter[str] = Counter()

    @settings(max_examples=settings().max_examples // 2)  # each takes a second
    @given(sequence=sequences, has_git=st.booleans(), has_hook=st.booleans())
    def attempt(sequence: list[Step], has_git: bool, has_hook: bool) -> None:
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent).resolve() / "project"
            folder.mkdir()
            checked.update(asyncio.run(play(folder, sequence, has_git=has_git, has_hook=has_hook)))

    attempt()
    wanted = {"turns", "undo", "redo", "restore", "files back", "while a command runs", "two sessions at once"}
    assert wanted - checked.keys() == set(), f"the sequences are too simple: {checked}"
