"""The end of a core: in bounded time, and without its programs."""

from __future__ import annotations

import asyncio

import pytest

from pygent_ls.editors.closing import close
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
        self.done.append("killed")


async def test_what_ends_by_itself_is_waited_for() -> None:
    core = FakeCore()
    core.gate.open()
    await bounded(close(core))
    assert core.done == ["closed", "killed"]


async def test_what_does_not_end_is_cut_short_and_its_programs_with_it() -> None:
    core = FakeCore()
    await bounded(close(core, limit_s=0.01))
    assert core.done == ["cut short", "killed"]


async def test_a_second_interrupt_ends_the_programs_too() -> None:
    core = FakeCore()
    closing = asyncio.ensure_future(close(core))
    await core.gate.reached()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(closing)
    assert core.done == ["cut short", "killed"]
