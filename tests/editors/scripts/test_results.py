"""The last line of a turn."""

from __future__ import annotations

from typing import get_args

import pytest

from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.tools.structured_output import Structured
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.scripts.output_lines import Denial
from pygent_ls.editors.scripts.results import SUBTYPES, Ended, failed_line, result_line
from pygent_ls.errors import ModelError

DENIAL: Denial = {"tool_name": "shell", "tool_use_id": "c1", "tool_input": {"command": "make"}}


def ended(
    stop_reason: StopReason = "end_turn",
    *,
    text: str = "Done.",
    error: ModelError | None = None,
    limit_text: str = "",
    structured: Structured | None = None,
) -> Ended:
    result = TurnResult(
        stop_reason=stop_reason,
        text=text,
        usage=Usage(input_tokens=100, output_tokens=20, cache_read_tokens=60, cost_usd=0.25),
        iterations=3,
        files_changed=(),
        error=error,
        model_s=1.2345,
        structured=structured,
    )
    return Ended(result=result, limit_text=limit_text, denials=(DENIAL,), duration_s=2.5)


def test_a_turn_that_came_to_its_end() -> None:
    assert result_line(ended()) == {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "stop_reason": "end_turn",
        "num_turns": 3,
        "duration_ms": 2500,
        "duration_api_ms": 1234,
        "total_cost_usd": 0.25,
        "usage": {
            "input_tokens": 40,
            "output_tokens": 20,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 60,
        },
        "permission_denials": (DENIAL,),
    }


@pytest.mark.parametrize(
    ("end", "subtype", "said"),
    [
        (ended("refusal", text="I will not."), "success", "I will not."),
        (ended("max_iterations", limit_text="The limit of 3 …"), "error_max_turns", "The limit of 3 …"),
        (ended("budget_limit", limit_text="The limit of $1 …"), "error_max_budget_usd", "The limit of $1 …"),
        (ended("budget_limit"), "error_max_budget_usd", "The turn ended: budget_limit."),
        (ended("token_limit", limit_text="The limit of 9 …"), "error_limit", "The limit of 9 …"),
        (ended("max_output_tokens"), "error_limit", "The answer was cut off at max_output_tokens."),
        (ended("cancelled"), "interrupted", "The turn was cancelled."),
        (ended("error", error=ModelError("The key is wrong.")), "error_during_execution", "The key is wrong."),
    ],
)
def test_what_went_wrong_is_the_result(end: Ended, subtype: str, said: str) -> None:
    line = result_line(end)

    assert (line["subtype"], line["result"]) == (subtype, said)
    assert line["is_error"] is (subtype != "success")
    assert line.get("errors") == ([said] if line["is_error"] else None)


def test_every_way_to_stop_has_its_subtype() -> None:
    assert set(SUBTYPES) == set(get_args(StopReason))


def test_a_structured_result_stands_beside_the_words_null_too() -> None:
    assert result_line(ended(structured=Structured(value=None))).get("structured_output", "missing") is None
    assert "structured_output" not in result_line(ended())


def test_a_turn_that_could_not_begin_has_all_that_a_result_has() -> None:
    assert result_line(ended("error")).keys() == failed_line("no such model").keys()
    assert failed_line("no such model")["total_cost_usd"] is None
