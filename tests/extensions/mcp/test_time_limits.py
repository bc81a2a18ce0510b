"""Time limits that stop while the user is asked."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from pygent_ls.extensions.mcp.time_limits import TimeLimits

LIMIT_S = 0.05


async def longer_than_the_limit() -> None:
    """Wait three times as long as the limit."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 3 * LIMIT_S)


async def test_a_request_ends_at_its_limit() -> None:
    limits = TimeLimits()

    async def request() -> None:
        async with asyncio.timeout(LIMIT_S) as limit:
            with limits.counting(limit):
                await longer_than_the_limit()

    with pytest.raises(TimeoutError):
        await request()


async def test_the_limit_stops_until_all_questions_are_answered_and_then_goes_on() -> None:
    limits = TimeLimits()
    passed: list[str] = []

    async def request() -> None:
        async with asyncio.timeout(LIMIT_S) as limit:
            with limits.counting(limit):
                with limits.stopped():
                    await longer_than_the_limit()
                    with limits.stopped():
                        passed.append("a second question")
                    await longer_than_the_limit()
                    passed.append("all answered")
                await longer_than_the_limit()

    with pytest.raises(TimeoutError):
        await request()
    assert passed == ["a second question", "all answered"]
