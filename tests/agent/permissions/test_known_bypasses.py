"""What got round other agents' checks, by its public origin (known_bypasses.toml), under the rules of the corpus."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.agent.permissions.test_hostile_commands import EXPECTED, judge, outcome

BYPASSES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("known_bypasses.toml").read_text("utf-8"))[
    "bypass"
]


@pytest.mark.parametrize("bypass", BYPASSES, ids=lambda each: f"{each['origin']}: {each['attack']}")
def test_what_got_round_other_agents_does_not_get_round_this_one(bypass: dict[str, Any]) -> None:
    wanted = {command: expected for expected in EXPECTED for command in bypass.get(expected, [])}
    assert {command: outcome(judge(command)) for command in wanted} == wanted


def test_every_bypass_names_its_origin_and_kind_and_there_are_as_many_as_promised() -> None:
    hostile = [command for bypass in BYPASSES for expected in EXPECTED[:3] for command in bypass.get(expected, [])]
    assert len(set(hostile)) == len(hostile) >= 150
    assert all(bypass["origin"] and bypass["attack"] for bypass in BYPASSES)
