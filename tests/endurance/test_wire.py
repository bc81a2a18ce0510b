"""A short form of the part `wire` of `make endurance`."""

from __future__ import annotations

from hypothesis import settings

from tests.endurance.wire.machine import WireMachine

N_CLIENTS, N_STEPS = max(4, settings().max_examples // 3), 30

TestWire = WireMachine.TestCase
TestWire.settings = settings(max_examples=N_CLIENTS, stateful_step_count=N_STEPS)
