"""Faults at the boundaries of a real daemon; `python -m tests.endurance faults` has the long ones, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.endurance.faults import Fault, faults, name_of


@pytest.mark.parametrize("fault", faults(has_long=False), ids=name_of)
async def test_a_fault_costs_nothing_that_was_confirmed_and_is_told(fault: Fault, tmp_path: Path) -> None:
    await fault(tmp_path.resolve())
