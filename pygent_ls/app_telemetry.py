"""Who is told what turns do: the log, and a collector of OpenTelemetry where one is set up."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

from pygent_ls.agent.telemetry import (
    Began,
    Ended,
    ModelCallBegan,
    ModelCallEnded,
    Observation,
    Telemetry,
    TurnBegan,
    TurnEnded,
)
from pygent_ls.extensions.otel import OtelTelemetry, wish_of

log = logging.getLogger("pygent_ls.turns")


class AppTelemetry:
    """Tells all of them; see `Telemetry`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        wish = wish_of(environment)
        if wish.problem:
            log.warning("%s", wish.problem)
        self._otel = None if wish.is_nothing else OtelTelemetry(wish)
        told: Telemetry | None = self._otel
        self._told: Sequence[Telemetry] = (TurnLog(), told) if told else (TurnLog(),)

    def begin(self, what: Began, within: Observation | None) -> Observation:
        """See `Telemetry`."""
        parents = within.each if isinstance(within, _Several) else (None,) * len(self._told)
        return _Several(tuple(each.begin(what, parent) for each, parent in zip(self._told, parents, strict=True)))

    async def close(self) -> None:
        """Export what is left; soon in any case."""
        if self._otel is not None:
            await self._otel.close()


@dataclass(frozen=True, slots=True)
class _Several:
    each: tuple[Observation, ...]

    def end(self, how: Ended) -> None:
        """See `Observation`."""
        for observation in self.each:
            observation.end(how)


class TurnLog:
    """Writes into the log when turns begin and end, and which requests to models failed; no word of what was said."""

    def begin(self, what: Began, within: Observation | None) -> Observation:
        """See `Telemetry`."""
        if isinstance(what, TurnBegan):
            kind = "a subagent of " if what.is_subagent else ""
            log.info(
                "%sturn %s of session %s starts: agent %s, mode %s, model %s",
                *(kind, what.turn_id, what.session_id, what.agent, what.mode, what.model),
            )
        return _Logged(what)


@dataclass(frozen=True, slots=True)
class _Logged:
    what: Began
    began_s: float = field(default_factory=monotonic)

    def end(self, how: Ended) -> None:
        """See `Observation`."""
        match self.what, how:
            case TurnBegan(), TurnEnded():
                kind = "a subagent of " if self.what.is_subagent else ""
                log.info(
                    "%sturn %s ends: %s%s after %.1f s, %d model calls, %d tokens",
                    *(kind, self.what.turn_id, how.stop_reason, f" ({how.error})" if how.error else ""),
                    *(monotonic() - self.began_s, how.iterations, how.usage.total_tokens),
                )
            case ModelCallBegan(), ModelCallEnded(error=error) if error is not None:
                status = "" if how.status is None else f", HTTP status {how.status}"
                log.info("a request to %s failed: %s%s", self.what.model, error, status)
            case _:
                pass
