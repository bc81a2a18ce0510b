"""The end of a core: in bounded time, and without its programs."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from pygent_ls.editors.shutdown import close
from tests.fakes import Gate, bounded


class FakeCore:
    """Closes once its gate is open; records what was done to it."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.done: list[str] = []

    async def close(self) -> None:
        """Wait."""
        try:
            await self.gate.pass_through()
            self.done.append("closed")
        except asyncio.CancelledError:
            self.done.append("cut short")
            raise

    def kill_processes(self) -> None:
        """Remember it."""
        if "killed" not in self.done:
            self.done.append("killed")


class DeafCore(FakeCore):
    """Waits for a program to end, and hears no cancel meanwhile."""

    async def close(self) -> None:
        """Wait."""
        waiting = asyncio.ensure_future(self.gate.pass_through())
        while not waiting.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(waiting)
        self.done.append("closed")

    def kill_processes(self) -> None:
        """The program ends."""
        super().kill_processes()
        self.gate.open()


async def test_what_ends_by_itself_is_waited_for() -> None:
    core = FakeCore()
    core.gate.open()
    await bounded(close(core))
    assert core.done == ["closed", "killed"]


async def test_what_does_not_end_is_cut_short_and_its_programs_with_it() -> None:
    core = FakeCore()
    await bounded(close(core, limit_s=0.01))
    assert sorted(core.done) == ["cut short", "killed"]


async def test_what_hears_no_cancel_ends_once_its_programs_are_killed() -> None:
    core = DeafCore()
    await bounded(close(core, limit_s=0.01))
    assert core.done == ["killed", "closed"]


async def test_a_second_interrupt_ends_the_programs_too() -> None:
    core = FakeCore()
    closing = asyncio.ensure_future(close(core))
    await core.gate.reached()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(closing)
    assert core.done == ["cut short", "killed"]
