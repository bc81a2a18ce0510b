"""`pygent-ls run --output-format stream-json`, line for line as it was recorded: scripts parse it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.transcripts import FOLDER, SCENES, play, recorded

EXIT_CODES = {"limit_of_model_calls": 1, "model_fails": 1}


@pytest.mark.parametrize("name", SCENES)
def test_a_run_is_as_it_was_recorded(name: str, tmp_path: Path) -> None:
    lines, code = play(SCENES[name], tmp_path.resolve())

    assert lines == recorded(name)
    assert code == EXIT_CODES.get(name, 0)


def test_every_record_has_its_scene() -> None:
    assert {file.stem for file in FOLDER.glob("*.jsonl")} == set(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_every_turn_has_its_first_and_its_last_line(name: str) -> None:
    """What programs rely on, whatever else a line holds."""
    lines = recorded(name)
    turns = [line for line in lines if line.get("subtype") == "init" or line["type"] == "result"]

    assert [line["type"] for line in turns] == ["system", "result"] * (len(turns) // 2)
    assert lines[-1]["type"] == "result"
    calls = [
        block["id"]
        for line in lines
        if line["type"] == "assistant"
        for block in line["message"]["content"]
        if block["type"] == "tool_use"
    ]
    results = [block["tool_use_id"] for line in lines if line["type"] == "user" for block in line["message"]["content"]]
    assert sorted(calls) == sorted(results)
