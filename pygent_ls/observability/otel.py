"""OpenTelemetry spans by its semantic conventions for generative AI. Importing this module loads the SDK.

The conventions are those of github.com/open-telemetry/semantic-conventions-genai as of 2026-10 (status: development);
names that they lack begin with `pygent.`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import SpanKind, Status, StatusCode

from pygent_ls import __version__
from pygent_ls.agent.messages import Block, ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, Usage
from pygent_ls.agent.telemetry import ModelCallSpan, PermissionSpan, Span, ToolSpan, TurnSpan

NAME = "pygent-ls"

MAX_WAITING_WITH_CONTENT = 128
"""Maximum number of spans with content that wait for a collector: the span of a model request holds the whole
conversation. With the SDK's default of 2,048, 1,500 spans of 300 kB took 790 MB; with this, 59 MB."""

PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Providers with different names in the conventions and in litellm."""

BARE: Mapping[str, str] = {"claude": "anthropic", "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai"}
"""Providers of models without a provider in their name, by the first word of the name."""

FINISH: Mapping[str, str] = {"end_turn": "stop", "tools": "tool_call", "refusal": "content_filter"}
"""Finish reasons with different names in the conventions."""

OTHER = "_OTHER"
"""Value of the conventions for anything unlisted."""

MODEL = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TURN_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
CHUNK_SECONDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
TOKENS = tuple(float(4**power) for power in range(14))

HISTOGRAMS: Mapping[str, tuple[str, str, Sequence[float]]] = {
    "gen_ai.client.token.usage": ("{token}", "Number of input and output tokens used.", TOKENS),
    "gen_ai.client.operation.duration": ("s", "GenAI operation duration.", SECONDS),
    "gen_ai.client.operation.time_to_first_chunk": ("s", "Time to receive the first chunk.", CHUNK_SECONDS),
    "gen_ai.execute_tool.duration": ("s", "The duration of a single tool execution.", SECONDS),
    "gen_ai.invoke_agent.duration": ("s", "The end-to-end duration of a single agent invocation.", TURN_SECONDS),
}
"""Unit, description and buckets of each histogram, as the conventions define them."""


def named(model: str) -> tuple[str, str]:
    """Return the provider and its name of the model for a model string.

    For a script or a program only the kind or the program's name is returned: paths and options may be private.
    """
    kind, colon, rest = model.partition(":")
    if colon and kind in ("scripted", "cli"):
        return kind, kind if kind == "scripted" else rest.split()[0]
    provider, slash, rest = model.removeprefix("litellm/").partition("/")
    if not slash:
        return BARE.get(provider.partition("-")[0], OTHER), provider
    return PROVIDERS.get(provider, provider), rest


def name_of(span: Span) -> str:
    """Return the span's name."""
    match span:
        case TurnSpan(agent=agent):
            return f"invoke_agent {agent}"
        case ModelCallSpan(model=model):
            return f"chat {named(model)[1]}"
        case ToolSpan(call=call):
            return f"execute_tool {call.name}"
        case PermissionSpan(call=call):
            return f"wait_for_permission {call.name}"


def error_of(span: Span) -> str | None:
    """Return the type of the failure, or None."""
    match span:
        case TurnSpan(stop_reason="error", error=error):
            return error.type if error else OTHER
        case ModelCallSpan(error=error):
            return error.type if error else None
        case ToolSpan(result=result) if result and result.is_error:
            return "permission_denied" if span.is_denied else "tool_error"
        case TurnSpan() | ToolSpan() | PermissionSpan():
            return None


def attributes_of(span: Span) -> dict[str, Any]:
    """Return the attributes of an ended span, without its content; None stands for a missing one."""
    told: dict[str, Any] = {"gen_ai.conversation.id": span.session_id, "error.type": error_of(span)}
    match span:
        case TurnSpan():
            return told | {
                **dict(zip(MODEL, ("invoke_agent", *named(span.model)), strict=True)),
                **_usage(span.usage),
                "gen_ai.agent.name": span.agent,
                "pygent.turn.id": span.turn_id,
                "pygent.turn.stop_reason": span.stop_reason,
                "pygent.turn.iterations": span.iterations,
                "pygent.mode": span.mode,
                "pygent.subagent": span.is_subagent,
            }
        case ModelCallSpan(request=request, answer=answer):
            has_finished = answer.finish is not None
            reason = answer.finish_reason
            return told | {
                **dict(zip(MODEL, ("chat", *named(span.model)), strict=True)),
                **_usage(answer.usage),
                "gen_ai.agent.name": span.agent,
                "gen_ai.request.max_tokens": request.max_output_tokens,
                "gen_ai.request.temperature": request.temperature,
                "gen_ai.request.stream": True,
                "gen_ai.response.finish_reasons": [FINISH.get(reason, reason)] if has_finished else None,
                FIRST_CHUNK: (span.first_chunk_ns - span.began_ns) / 1e9 if span.first_chunk_ns else None,
                "http.response.status_code": span.error.status if span.error else None,
                "pygent.cancelled": None if has_finished or span.error else True,
            }
        case ToolSpan(call=call, result=result):
            return told | {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.id": call.id,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.description": span.description.partition("\n")[0] or None,
                "gen_ai.agent.name": span.agent,
                "pygent.tool.cached": result.cached if result else None,
                "pygent.cancelled": None if result else True,
            }
        case PermissionSpan(call=call, answer=answer):
            return told | {
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.id": call.id,
                "pygent.permission.outcome": answer.outcome,
                "pygent.permission.by": answer.by,
            }


def _usage(usage: Usage) -> Mapping[str, Any]:
    if usage.is_nothing:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens or None,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens or None,
        "pygent.usage.cost_usd": usage.cost_usd,
    }


def content_of(span: Span) -> dict[str, Any]:
    """Return the span's content, in the form of the conventions' JSON schemas."""
    match span:
        case TurnSpan():
            return {
                "gen_ai.input.messages": [_said("user", TextBlock(text=span.prompt))],
                "gen_ai.output.messages": [_said("assistant", TextBlock(text=span.text))] if span.text else None,
            }
        case ModelCallSpan(request=request, answer=answer):
            tools = [
                {
                    "type": "function",
                    "name": each.name,
                    "description": each.description,
                    "parameters": dict(each.schema),
                }
                for each in request.tools
            ]
            finish = {"finish_reason": FINISH.get(answer.finish_reason, answer.finish_reason)}
            output = [_said("assistant", *answer.message("", ()).blocks) | finish]
            return {
                "gen_ai.system_instructions": [_part(TextBlock(text=request.system))],
                "gen_ai.input.messages": [_said(each.role, *each.blocks) for each in request.messages],
                "gen_ai.tool.definitions": tools,
                "gen_ai.output.messages": output if answer.finish is not None else None,
            }
        case ToolSpan(call=call, result=result):
            return {
                "gen_ai.tool.call.arguments": dict(call.input),
                "gen_ai.tool.call.result": result.content if result else None,
            }
        case PermissionSpan():
            return {}


def _said(role: str, *blocks: Block) -> dict[str, Any]:
    is_results = any(isinstance(each, ToolResultBlock) for each in blocks)
    return {"role": "tool" if is_results else role, "parts": [_part(each) for each in blocks]}


def _part(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text=text):
            return {"type": "text", "content": text}
        case ThinkingBlock(thinking=thinking):
            return {"type": "reasoning", "content": thinking}
        case ImageBlock():
            return {"type": "text", "content": "[a picture]"}
        case ToolUseBlock(id=id_, name=name, input=given):
            return {"type": "tool_call", "id": id_, "name": name, "arguments": dict(given)}
        case ToolResultBlock(tool_use_id=id_, content=content):
            return {"type": "tool_call_response", "id": id_, "result": content}


def measured(span: Span, told: Mapping[str, Any]) -> Iterator[tuple[str, float, Mapping[str, Any]]]:
    """Yield the measurements for the histograms, each with its attributes; `told` holds the span's attributes."""
    model = {name: told[name] for name in MODEL if name in told}
    agent = {name: told[name] for name in ("gen_ai.tool.name", "gen_ai.agent.name", "error.type") if name in told}
    failed = {"error.type": told["error.type"]} if "error.type" in told else {}
    match span:
        case TurnSpan():
            yield "gen_ai.invoke_agent.duration", span.seconds, agent
        case ModelCallSpan(answer=answer):
            yield "gen_ai.client.operation.duration", span.seconds, model | failed
            if FIRST_CHUNK in told:
                yield "gen_ai.client.operation.time_to_first_chunk", told[FIRST_CHUNK], model
            if answer.usage.total_tokens:
                yield "gen_ai.client.token.usage", answer.usage.input_tokens, model | {"gen_ai.token.type": "input"}
                yield "gen_ai.client.token.usage", answer.usage.output_tokens, model | {"gen_ai.token.type": "output"}
        case ToolSpan():
            yield "gen_ai.execute_tool.duration", span.seconds, agent
        case PermissionSpan():
            pass


class SpanIds(IdGenerator):
    """Gives the SDK the ids that a span already has: requests have named them."""

    def __init__(self) -> None:
        self.trace_id = 0
        self.span_id = 0

    def generate_trace_id(self) -> int:
        """Return the id of the trace of the span that is being started."""
        return self.trace_id

    def generate_span_id(self) -> int:
        """Return the id of the span that is being started."""
        return self.span_id

    def is_trace_id_random(self) -> bool:
        """Return True, as samplers want to know."""
        return True


class SpanWriter:
    """Converts ended spans to OpenTelemetry spans and histograms; for one thread.

    The providers are not registered globally, so instrumented libraries export nothing.
    """

    def __init__(self, spans: SpanProcessor | None, metrics: MetricReader | None, *, with_content: bool) -> None:
        """Create the writer; `spans` and `metrics` receive the exports, and None disables either."""
        own = {"service.name": NAME, **OTELResourceDetector().detect().attributes, "service.version": __version__}
        resource = Resource.create(own)
        self._ids = SpanIds()
        self._traces = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        if spans is not None:
            self._traces.add_span_processor(spans)
        readers = [metrics] if metrics is not None else []
        self._metrics = MeterProvider(metric_readers=readers, resource=resource, shutdown_on_exit=False)
        self._tracer = self._traces.get_tracer(NAME, __version__)
        meter = self._metrics.get_meter(NAME, __version__)
        self._histograms = {
            name: meter.create_histogram(name, unit, text, explicit_bucket_boundaries_advisory=buckets)
            for name, (unit, text, buckets) in HISTOGRAMS.items()
        }
        self._with_content = with_content
        self._begun: WeakKeyDictionary[Span, trace.Span] = WeakKeyDictionary()

    def write(self, span: Span) -> None:
        """Report an ended span."""
        told = {name: value for name, value in attributes_of(span).items() if value is not None}
        begun = self._begin(span)
        begun.set_attributes(told)
        for name, said in content_of(span).items() if self._with_content else ():
            if said is not None:
                begun.set_attribute(name, said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))
        if "error.type" in told:
            begun.set_status(Status(StatusCode.ERROR))
        begun.end(span.ended_ns)
        for name, value, attributes in measured(span, told):
            self._histograms[name].record(value, attributes)

    def _begin(self, span: Span) -> trace.Span:
        """Return the span, started if necessary; a child span may have started it before."""
        if span not in self._begun:
            context = trace.set_span_in_context(self._begin(span.parent)) if span.parent else None
            kind = SpanKind.CLIENT if isinstance(span, ModelCallSpan) else SpanKind.INTERNAL
            self._ids.trace_id, self._ids.span_id = span.trace_id, span.span_id
            self._begun[span] = self._tracer.start_span(name_of(span), context, kind=kind, start_time=span.began_ns)
        return self._begun[span]

    def close(self) -> None:
        """Export the remaining spans, within the exporters' own time limits."""
        self._traces.force_flush()
        self._traces.shutdown()
        self._metrics.shutdown()


def otlp_writer(*, traces: bool, metrics: bool, with_content: bool) -> SpanWriter:
    """Return a writer for OTLP/HTTP. The environment configures addresses, headers, time limits and batches."""
    most = max_waiting(os.environ) if with_content else None
    batch = most and most // 4
    return SpanWriter(
        BatchSpanProcessor(OTLPSpanExporter(), most, max_export_batch_size=batch) if traces else None,
        PeriodicExportingMetricReader(OTLPMetricExporter()) if metrics else None,
        with_content=with_content,
    )


def max_waiting(environment: Mapping[str, str]) -> int | None:
    """Return the maximum number of spans with content that may wait; None if the environment sets it."""
    names = ("OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE")
    return None if any(map(environment.get, names)) else MAX_WAITING_WITH_CONTENT
