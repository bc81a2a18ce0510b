"""Replays what the fuzzer found and a few inputs that reach much: a short form of the part `parsers`."""

from __future__ import annotations

import pytest

from tests.endurance.parsers.corpus import FOLDER, kept
from tests.endurance.parsers.targets import all_targets

TARGETS = all_targets()


@pytest.mark.parametrize("name", TARGETS)
def test_every_promise_is_kept_for_inputs_that_were_found(name: str) -> None:
    target = TARGETS[name]

    for data in (b"", *target.seeds, *kept(name)):
        for part in (data, data[: len(data) // 2], data * 3):
            target.check(part)


def test_every_input_that_is_kept_is_one_of_a_parser() -> None:
    files = {file.stem: kept(file.stem) for file in FOLDER.iterdir()}

    assert files.keys() <= TARGETS.keys()
    assert all(files.values())
