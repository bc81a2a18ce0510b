"""Telemetry of turns: in the log, and at a collector if one is configured."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from pygent_ls.errors import ModelError
from pygent_ls.observability.telemetry import AppTelemetry, TelemetryOptions, options_of
from tests.agent.abilities import saying
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeModel, make_rig, say


async def test_the_log_tells_of_turns_and_failures_and_of_nothing_that_was_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "pygent_ls")
    rig = make_rig(saying("look", "secret result"))
    rig.use(telemetry=AppTelemetry(TelemetryOptions()))
    overloaded = ModelError("secret words", type="overloaded", status=529)
    look = Call(name="look", arguments={"at": "secret"})

    await run_turn(rig, FakeModel([[overloaded], say("secret thought", look), say("secret answer")]), prompt="secret")

    first, failed, last = caplog.messages
    assert first == "turn turn-1 of session session-1 starts: agent default, mode default, model fake/model"
    assert failed == "a request to fake/model failed: overloaded, HTTP status 529"
    assert last.startswith("turn turn-1 ends: end_turn after ")
    assert last.endswith(" s, 2 model calls, 240 tokens")


async def test_a_wish_that_cannot_be_met_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    AppTelemetry(options_of({"OTEL_TRACES_EXPORTER": "zipkin"}))

    assert caplog.messages == ["OTEL_TRACES_EXPORTER=zipkin is not supported; supported are otlp and none"]


def test_nothing_of_opentelemetry_is_loaded_where_nothing_is_asked_for() -> None:
    code = """
import asyncio, sys, threading
from pygent_ls.agent.telemetry import TurnSpan, observed
from pygent_ls.observability.telemetry import AppTelemetry, options_of
telemetry = AppTelemetry(options_of({}))
turn = TurnSpan(session_id="s", turn_id="t", agent="a", model="m", mode="default", is_subagent=False, prompt="p")
with observed(telemetry, turn):
    pass
asyncio.run(telemetry.close())
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")), threading.active_count())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)

    assert (run.stdout, run.stderr) == ("[] 1\n", "")
