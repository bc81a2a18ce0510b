from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

import pytest

from pygent_ls.agent.edits.checkpointer import ProgramEnd, TurnCheckpoints
from pygent_ls.agent.edits.named_paths import NamedPaths
from pygent_ls.agent.ports.workspace import EditPlan
from tests.fakes import Gate, bounded


class FakeCheckpointer:
    """Says what it was asked, and complains where the test wants it."""

    def __init__(self, problem: str | None = None, gate_after: Gate | None = None) -> None:
        self.asked: list[str] = []
        self._problem = problem
        self._gate_after = gate_after

    async def before_change(self, turn_id: str, label: str) -> str | None:
        self.asked.append(f"before change {label} in {turn_id}")
        return self._problem

    async def before_program(self, turn_id: str, label: str, named: NamedPaths) -> str | None:
        self.asked.append(f"before {label} in {turn_id}")
        return self._problem

    async def after_program(
        self, turn_id: str, label: str, also_named: NamedPaths | None = None, *, apart_from: Collection[Path] = ()
    ) -> ProgramEnd:
        if self._gate_after:
            await self._gate_after.pass_through()
        self.asked.append(f"after {label} in {turn_id}")
        return ProgramEnd()

    async def about_to_apply(self, plan: EditPlan) -> None:
        self.asked.append(f"about to apply {plan.label}")

    async def applied(self, plan: EditPlan) -> None:
        self.asked.append(f"applied {plan.label}")


def keeper(checkpointer: FakeCheckpointer) -> tuple[TurnCheckpoints, list[str]]:
    said: list[str] = []

    async def warn(problem: str) -> None:
        said.append(problem)

    return TurnCheckpoints(checkpointer=checkpointer, turn_id="t1", warn=warn), said


async def test_a_failure_is_told_and_the_program_runs_all_the_same() -> None:
    checkpointer = FakeCheckpointer(problem="no git")
    kept, said = keeper(checkpointer)

    async with kept.around_program("make", NamedPaths(folder=Path())):
        checkpointer.asked.append("it runs")

    assert checkpointer.asked == ["before make in t1", "it runs", "after make in t1"]
    assert said == ["no git"]


async def test_what_a_program_that_failed_has_changed_is_kept_too() -> None:
    checkpointer = FakeCheckpointer()
    kept, _ = keeper(checkpointer)

    with pytest.raises(ValueError, match="broken"):
        async with kept.around_program("make", NamedPaths(folder=Path())):
            raise ValueError("broken")

    assert checkpointer.asked == ["before make in t1", "after make in t1"]


async def test_what_a_program_that_was_cancelled_has_changed_is_kept_too() -> None:
    checkpointer = FakeCheckpointer()
    await cancel_in_a_program(checkpointer)

    assert checkpointer.asked == ["before make in t1", "after make in t1"]


async def test_a_cancel_does_not_wait_for_long() -> None:
    checkpointer = FakeCheckpointer(gate_after=Gate())
    await cancel_in_a_program(checkpointer)

    assert checkpointer.asked == ["before make in t1"]


async def cancel_in_a_program(checkpointer: FakeCheckpointer) -> None:
    kept, _ = keeper(checkpointer)
    running = Gate()

    async def program() -> None:
        async with kept.around_program("make", NamedPaths(folder=Path())):
            await running.pass_through()

    task = asyncio.create_task(program())
    await running.reached()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await bounded(task)
