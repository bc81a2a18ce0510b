"""Retries of a model call after a transient failure: number, delays, and the user's control over them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.errors import ModelError

if TYPE_CHECKING:  # imported on first use: it takes 13 ms, too long for the start
    from tenacity import RetryCallState

MAX_DELAY_S = 60.0
"""Maximum delay between two attempts, unless the provider asks for more: most of its limits are per minute."""

RetryAction = Literal["now", "give_up"]


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often the same model is called for one answer."""

    max_attempts: int = 5
    """Maximum number of attempts, the first included."""
    max_seconds: float = 120.0
    """Maximum time from the first failure to the beginning of the last attempt."""
    initial_delay_s: float = 1.0
    """Delay before the first retry, doubled with each attempt. Up to half of this value is added at random: many
    clients must not retry at the same moment."""


class Failed(Struct, frozen=True, kw_only=True):
    """Failed attempt."""

    error: ModelError
    withdrawn: tuple[str, ...] = ()
    """Ids of the items whose text no longer counts."""
    attempt: int = 1
    """Number of the attempt with the model that failed, from 1."""


class RetryController(Protocol):
    """Decides when a model that has just failed is called again."""

    async def wait(self, delay_s: float) -> RetryAction:
        """Return `now` once the delay is over, or earlier with what the user decided."""
        ...

    def decide(self, action: RetryAction) -> bool:
        """Pass on the user's decision. Return False if nothing waits."""
        ...


class WaitingRetries:
    """`RetryController` that waits for the given delay, unless the user decides earlier."""

    def __init__(self) -> None:
        self._decisions: list[asyncio.Future[RetryAction]] = []
        """Pending decisions: several if subagents wait concurrently; the user decides for all of them."""

    def decide(self, action: RetryAction) -> bool:
        """Resolve all pending waits with the action."""
        waiting = [each for each in self._decisions if not each.done()]
        for each in waiting:
            each.set_result(action)
        return bool(waiting)

    async def wait(self, delay_s: float) -> RetryAction:
        """Wait for the user's decision, at most for the delay."""
        decision: asyncio.Future[RetryAction] = asyncio.get_running_loop().create_future()
        self._decisions.append(decision)
        limit = asyncio.timeout(delay_s)
        try:
            async with limit:
                return await decision
        except TimeoutError:
            return "now"
        finally:
            self._decisions.remove(decision)


class _GivenUpError(Exception):
    """Raised when the user does not want to wait."""


class RetryLoop(Struct, frozen=True, kw_only=True):
    """Repeats attempts until one returns an answer, or another has no chance."""

    policy: RetryPolicy
    controller: RetryController
    clock: Callable[[], float]
    tell: Callable[[Failed, float], Awaitable[None]]
    """Reports a failure and the seconds until the next attempt; not called for the last failure."""

    async def run(self, attempt: Callable[[], Awaitable[ModelAnswer | Failed]]) -> ModelAnswer | Failed:
        """Return the answer, or the last failure."""
        first = await attempt()
        return await self._again(first, attempt) if isinstance(first, Failed) and first.error.retryable else first

    async def _again(
        self, first: Failed, attempt: Callable[[], Awaitable[ModelAnswer | Failed]]
    ) -> ModelAnswer | Failed:
        from tenacity import AsyncRetrying, retry_if_result, wait_exponential, wait_random

        policy, began = self.policy, self.clock()
        failures: list[Failed] = []

        async def attempted() -> ModelAnswer | Failed:
            came = await attempt() if failures else first
            if isinstance(came, Failed):
                failures.append(came := replace(came, attempt=len(failures) + 1))
            return came

        growing = wait_exponential(multiplier=policy.initial_delay_s, max=MAX_DELAY_S)
        varied = growing + wait_random(0, policy.initial_delay_s / 2)

        def delay(state: RetryCallState) -> float:
            return max(varied(state), failures[-1].error.retry_after_s or 0.0)

        def is_enough(state: RetryCallState) -> bool:
            left_s = policy.max_seconds - (self.clock() - began)
            if len(failures) < policy.max_attempts and state.upcoming_sleep > left_s:
                failures[-1] = self._explained(failures[-1], left_s)
            return len(failures) >= policy.max_attempts or state.upcoming_sleep > left_s

        async def tell(state: RetryCallState) -> None:
            await self.tell(failures[-1], state.upcoming_sleep)

        async def sleep(delay_s: float) -> None:
            if await self.controller.wait(delay_s) == "give_up":
                raise _GivenUpError

        again = AsyncRetrying(
            retry=retry_if_result(_may_pass),
            wait=delay,
            stop=is_enough,
            before_sleep=tell,
            sleep=sleep,
            retry_error_callback=lambda _: failures[-1],
        )
        try:
            return cast("ModelAnswer | Failed", await again(attempted))
        except _GivenUpError:
            return failures[-1]

    def _explained(self, failed: Failed, left_s: float) -> Failed:
        """Add to the error that the provider asks for more time than is left, if it does."""
        error = failed.error
        if (error.retry_after_s or 0.0) <= left_s:
            return failed
        message = (
            f"{error.message} The provider asks to wait {error.retry_after_s:g} s, but only {max(left_s, 0):.0f} "
            f"s are left of the {self.policy.max_seconds:g} s allowed for retries (retry.max_seconds)."
        )
        explained = ModelError(
            message,
            type=error.type,
            provider=error.provider,
            status=error.status,
            retry_after_s=error.retry_after_s,
            request_id=error.request_id,
        )
        return replace(failed, error=explained)


def _may_pass(came: ModelAnswer | Failed) -> bool:
    return isinstance(came, Failed) and came.error.retryable
