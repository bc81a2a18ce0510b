"""OpenTelemetry's SDK: spans and histograms, exported over OTLP/HTTP as the standard `OTEL_…` variables say.

The providers are our own and not the process's: what libraries would report of themselves stays unsaid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from pygent_ls import __version__
from pygent_ls.extensions.otel_attributes import Measured, SpanEnd, SpanStart

NAME = "pygent-ls"

MAX_WAITING_WITH_CONTENT = 128
"""Spans: that of a request to a model holds the whole conversation, half a megabyte and more. The SDK's own 2,048 would
be a gigabyte where the collector is gone (1,500 spans of 300 kB: 790 MB, with this 59)."""

_DURATIONS_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TURNS_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
_CHUNKS_S = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKENS = tuple(float(4**power) for power in range(14))

_HISTOGRAMS: Mapping[str, tuple[str, str, Sequence[float]]] = {
    "gen_ai.client.token.usage": ("{token}", "Number of input and output tokens used.", _TOKENS),
    "gen_ai.client.operation.duration": ("s", "GenAI operation duration.", _DURATIONS_S),
    "gen_ai.client.operation.time_to_first_chunk": ("s", "Time to receive the first chunk.", _CHUNKS_S),
    "gen_ai.execute_tool.duration": ("s", "The duration of a single tool execution.", _DURATIONS_S),
    "gen_ai.invoke_agent.duration": ("s", "The end-to-end duration of a single agent invocation.", _TURNS_S),
}
"""Unit, description and buckets, as the conventions say."""

_KINDS: Mapping[str, SpanKind] = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlets:
    """Where it goes; None for what is not wanted."""

    spans: SpanProcessor | None
    metrics: MetricReader | None


def otlp_outlets(*, traces: bool, metrics: bool, with_content: bool, environment: Mapping[str, str]) -> Outlets:
    """Over OTLP/HTTP. Addresses, headers, time limits and batches are as the environment says."""
    most = max_waiting(environment) if with_content else None
    batch = None if most is None else most // 4
    return Outlets(
        spans=BatchSpanProcessor(OTLPSpanExporter(), most, max_export_batch_size=batch) if traces else None,
        metrics=PeriodicExportingMetricReader(OTLPMetricExporter()) if metrics else None,
    )


def max_waiting(environment: Mapping[str, str]) -> int | None:
    """How many spans may wait that hold what was said; None where the environment says it."""
    is_said = any(environment.get(f"OTEL_BSP_MAX_{name}") for name in ("QUEUE_SIZE", "EXPORT_BATCH_SIZE"))
    return None if is_said else MAX_WAITING_WITH_CONTENT


class Sdk:
    """Spans and histograms. One thread at a time."""

    def __init__(self, outlets: Outlets, *, names_service: bool) -> None:
        """`names_service`: the environment says what the service is called."""
        own = {"service.version": __version__} | ({} if names_service else {"service.name": NAME})
        resource = Resource.create(own)
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        if outlets.spans is not None:
            self._traces.add_span_processor(outlets.spans)
        readers = [outlets.metrics] if outlets.metrics is not None else []
        self._metrics = MeterProvider(metric_readers=readers, resource=resource, shutdown_on_exit=False)
        self._tracer = self._traces.get_tracer(NAME, __version__)
        meter = self._metrics.get_meter(NAME, __version__)
        self._histograms: dict[str, Histogram] = {
            name: meter.create_histogram(name, unit, text, explicit_bucket_boundaries_advisory=buckets)
            for name, (unit, text, buckets) in _HISTOGRAMS.items()
        }

    def begin(self, start: SpanStart, within: Span | None, at_ns: int) -> Span:
        """A span that began at that time since the epoch."""
        context = trace.set_span_in_context(within) if within is not None else None
        return self._tracer.start_span(
            start.name, context, kind=_KINDS[start.kind], attributes=start.attributes, start_time=at_ns
        )

    def end(self, span: Span, end: SpanEnd, measured: Measured, at_ns: int) -> None:
        """It ended at that time; what was measured belongs to it."""
        span.set_attributes(end.attributes)
        if end.error is not None:
            span.set_attribute("error.type", end.error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(at_ns)
        for name, value, attributes in measured.values:
            self._histograms[name].record(value, attributes)

    def flush(self) -> None:
        """Export what is there, and end; the exporters' own time limits count."""
        self._traces.force_flush()
        self._traces.shutdown()
        self._metrics.shutdown()
