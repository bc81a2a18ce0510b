"""Turns as clients get them, event for event as they were recorded: the tests of clients play them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.editors.lsp import method_names as names
from tests.e2e.event_transcripts import FOLDER, NAMES, recorded


@pytest.mark.parametrize("name", NAMES)
def test_a_turn_is_as_it_was_recorded(folder: Path, name: str) -> None:
    anew = "`python -m tests.e2e.event_transcripts` records anew"

    assert recorded(name, folder) == (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8"), anew


def test_there_is_a_transcript_of_every_scene_and_no_other() -> None:
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(NAMES)


def test_every_event_that_a_turn_can_have_is_in_one_but_for_those_that_end_alike() -> None:
    seen = {event["type"] for name in NAMES for event in events(name)}

    assert set(names.EVENTS) - seen == {
        "token_limit_reached",
        "budget_limit_reached",
        "time_limit_reached",
        "loop_detected",  # and the three before: their fields are those of `iteration_limit_reached`
        "tool_call_delta",  # `test_call_drafts` plays long calls with every adapter
    }


def events(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for line in lines for event in json.loads(line).get("events", ())]
