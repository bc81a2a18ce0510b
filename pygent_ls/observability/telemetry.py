"""Telemetry of turns: to the log, and to an OpenTelemetry collector if the environment names one.

Turns wait neither for the import of the SDK nor for a collector: ended spans pass through a queue to a thread.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from msgspec import Struct

from pygent_ls.agent.telemetry import ModelCallSpan, PermissionSpan, Span, ToolSpan, TurnSpan
from pygent_ls.errors import ModelError

if TYPE_CHECKING:
    from pygent_ls.observability.otel import SpanWriter

log = logging.getLogger("pygent_ls.turns")

MAX_WAITING = 10_000
"""Maximum number of ended spans that wait for the thread; further ones are dropped."""

FLUSH_S = 1.0
"""Time limit for the last export, since the daemon must exit within 3 s."""


class TelemetryOptions(Struct, frozen=True, kw_only=True):
    """Exports that the environment requests."""

    traces: bool = False
    metrics: bool = False
    with_content: bool = False
    problem: str = ""
    """Why a request is not fulfilled; empty without a problem."""

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is to be exported."""
        return not (self.traces or self.metrics)


def otel_is_installed() -> bool:
    """Whether the extra is installed; loads none of it."""
    with suppress(ModuleNotFoundError):
        return all(find_spec(f"opentelemetry.{each}") for each in ("sdk", "exporter.otlp.proto.http"))
    return False


def options_of(
    environment: Mapping[str, str], is_installed: Callable[[], bool] = otel_is_installed
) -> TelemetryOptions:
    """Return what the standard variables request: nothing, unless they name a collector or an exporter."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return TelemetryOptions()
    wanted, problems = list[str](), list[str]()
    for signal in ("TRACES", "METRICS"):
        exporter = environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
        address, protocol = (
            environment.get(f"OTEL_EXPORTER_OTLP_{signal}_{name}")
            or environment.get(f"OTEL_EXPORTER_OTLP_{name}")
            or ""
            for name in ("ENDPOINT", "PROTOCOL")
        )
        if exporter == "none" or not (exporter or address):
            continue
        if exporter not in ("", "otlp"):
            problems.append(f"OTEL_{signal}_EXPORTER={exporter} is not supported; supported are otlp and none")
        elif protocol.strip() not in ("", "http/protobuf"):
            problems.append(f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol} is not supported; http/protobuf is")
        else:
            wanted.append(signal)
    if wanted and not is_installed():
        problem = (
            "OTEL_… variables request telemetry, but OpenTelemetry is not installed: pip install 'pygent-ls[otel]'"
        )
        return TelemetryOptions(problem=problem)
    return TelemetryOptions(
        traces="TRACES" in wanted,
        metrics="METRICS" in wanted,
        with_content=environment.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
        == "true",
        problem=next(iter(problems), ""),
    )


def addresses_of(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the collectors that the variables name, or the default one."""
    names = (f"OTEL_EXPORTER_OTLP_{each}ENDPOINT" for each in ("", "TRACES_", "METRICS_"))
    return [environment[name] for name in names if environment.get(name)] or ["http://localhost:4318"]


def _otlp_writer(options: TelemetryOptions) -> SpanWriter:
    from pygent_ls.observability.otel import otlp_writer

    return otlp_writer(traces=options.traces, metrics=options.metrics, with_content=options.with_content)


class AppTelemetry:
    """Implementation of `Telemetry`. The thread starts with the first turn, and only if something is to be exported."""

    def __init__(
        self, options: TelemetryOptions, make_writer: Callable[[TelemetryOptions], SpanWriter] = _otlp_writer
    ) -> None:
        """Prepare the export; `make_writer` is called in the thread."""
        if options.problem:
            log.warning("%s", options.problem)
        self._options = options
        self._make_writer = make_writer
        self._queue: queue.SimpleQueue[Span | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="otel", daemon=True)

    def __call__(self, span: Span) -> None:
        """Log a span, and export it if it has ended."""
        log_span(span)
        if self._thread.ident is None and not self._options.is_nothing:
            self._thread.start()
        if span.ended_ns and self._thread.is_alive() and self._queue.qsize() < MAX_WAITING:
            self._queue.put(span)

    async def close(self, timeout_s: float = FLUSH_S) -> None:
        """Export what is queued, for at most that long; nothing is exported afterwards."""
        if self._thread.is_alive():
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join, timeout_s)

    def _work(self) -> None:
        try:
            writer = self._make_writer(self._options)
        except (ValueError, ImportError) as error:  # an invalid variable, or a partly installed extra
            log.warning("telemetry is off, see the OTEL_… variables: %s", error)
            return
        while span := self._queue.get():
            writer.write(span)
        writer.close()


def log_span(span: Span) -> None:
    """Log when turns begin and end, and failed model requests, without any content."""
    match span:
        case TurnSpan():
            turn = f"{'a subagent of ' if span.is_subagent else ''}turn {span.turn_id}"
            how = f"{span.stop_reason} ({span.error.type})" if span.error else span.stop_reason
            if span.ended_ns:
                took = (span.seconds, span.iterations, span.usage.total_tokens)
                log.info("%s ends: %s after %.1f s, %d model calls, %d tokens", turn, how, *took)
            else:
                started = (span.session_id, span.agent, span.mode, span.model)
                log.info("%s of session %s starts: agent %s, mode %s, model %s", turn, *started)
        case ModelCallSpan(error=ModelError(type=error, status=status)):
            log.info("a request to %s failed: %s%s", span.model, error, f", HTTP status {status}" if status else "")
        case ModelCallSpan() | ToolSpan() | PermissionSpan():
            pass
