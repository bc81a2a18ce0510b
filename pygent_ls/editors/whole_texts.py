"""Delivery of whole texts, for answers that would be mixed with those of a running turn."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from pygent_ls.agent.events import TextDelta, ThinkingDelta, UsageReported
from pygent_ls.sessions.event_stream import SessionEvent, Subscriber


class WholeTexts(Struct, frozen=True):
    """Subscriber that passes on all events of a side question except for deltas and its usage, which is not the
    session's."""

    inner: Subscriber

    @property
    def congested(self) -> bool:
        """Whether the inner subscriber is congested."""
        return self.inner.congested

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        """Pass on the events with whole texts."""
        self.inner.deliver(
            [each for each in events if not isinstance(each.event, TextDelta | ThinkingDelta | UsageReported)]
        )

    async def drained(self) -> None:
        """Wait for the inner subscriber."""
        await self.inner.drained()
