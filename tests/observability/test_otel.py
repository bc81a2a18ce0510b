"""Telemetry for OpenTelemetry: what the environment asks for, what is exported, and what it may cost a turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import ImageBlock, Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, Usage
from pygent_ls.agent.ports.model import ModelRequest, ToolDefinition
from pygent_ls.agent.telemetry import ModelCallSpan, TurnSpan, observed
from pygent_ls.errors import ModelError
from pygent_ls.observability.otel import (
    MAX_WAITING_WITH_CONTENT,
    SpanWriter,
    content_of,
    max_waiting,
    named,
    otlp_writer,
)
from pygent_ls.observability.telemetry import MAX_WAITING, AppTelemetry, TelemetryOptions, options_of
from tests.agent.abilities import saying
from tests.agent.turns import run_turn
from tests.fakes import WAIT_S, Call, FakeApprover, FakeModel, Rig, bounded, make_rig, say

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}

PAID = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=60, cost_usd=0.5)


def tell_of_turn(telemetry: AppTelemetry) -> None:
    turn = TurnSpan(session_id="s", turn_id="t", agent="a", model="m", mode="default", is_subagent=False, prompt="p")
    with observed(telemetry, turn):
        pass


# What the environment asks for


@pytest.mark.parametrize(
    ("environment", "wish"),
    [
        ({}, TelemetryOptions()),
        (ENDPOINT, TelemetryOptions(traces=True, metrics=True)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x/v1/traces"}, TelemetryOptions(traces=True)),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, TelemetryOptions(metrics=True)),
        ({**ENDPOINT, "OTEL_METRICS_EXPORTER": "none"}, TelemetryOptions(traces=True)),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, TelemetryOptions()),
        (
            {**ENDPOINT, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"},
            TelemetryOptions(traces=True, metrics=True, with_content=True),
        ),
        (
            {**ENDPOINT, "OTEL_TRACES_EXPORTER": "console"},
            TelemetryOptions(
                metrics=True, problem="OTEL_TRACES_EXPORTER=console is not supported; supported are otlp and none"
            ),
        ),
        (
            {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            TelemetryOptions(problem="OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not supported; http/protobuf is"),
        ),
    ],
)
def test_nothing_is_exported_unless_the_environment_asks_for_it(
    environment: Mapping[str, str], wish: TelemetryOptions
) -> None:
    assert options_of(environment) == wish


def test_a_wish_without_the_extra_says_what_to_install() -> None:
    wish = options_of(ENDPOINT, is_installed=lambda: False)

    assert wish.is_nothing
    assert "pip install 'pygent-ls[otel]'" in wish.problem
    assert options_of({}, is_installed=lambda: False) == TelemetryOptions()


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("openai/gpt-5.6", ("openai", "gpt-5.6")),
        ("bedrock/anthropic.claude", ("aws.bedrock", "anthropic.claude")),
        ("litellm/gemini/gemini-pro", ("gcp.gemini", "gemini-pro")),
        ("openrouter/openrouter/auto", ("openrouter", "openrouter/auto")),
        ("claude-sonnet", ("anthropic", "claude-sonnet")),
        ("my-own", ("_OTHER", "my-own")),
        ("scripted:/home/me/private.jsonl", ("scripted", "scripted")),
        ("cli:claude/opus", ("cli", "claude/opus")),
        ("offline/rules", ("offline", "rules")),
    ],
)
def test_models_are_named_as_the_conventions_want(model: str, told: tuple[str, str]) -> None:
    assert named(model) == told


# What is exported


@dataclass(frozen=True)
class Collected:
    """What a turn's rig exports."""

    rig: Rig
    telemetry: AppTelemetry
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    async def spans(self) -> dict[str, ReadableSpan]:
        """Return all of them by name; a repeated name is numbered."""
        await self.telemetry.close(WAIT_S)
        found: dict[str, ReadableSpan] = {}
        for span in sorted(self.exporter.get_finished_spans(), key=lambda each: each.start_time or 0):
            name = span.name
            while name in found:
                name += "'"
            found[name] = span
        return found


class _KeptReader(InMemoryMetricReader):
    """Its last words stay readable when its provider is shut down."""

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        self.last = self.get_metrics_data()
        super().shutdown(timeout_millis, **kwargs)  # pyright: ignore[reportUnknownMemberType] - its own arguments are


def collected(*tools: Any, with_content: bool = False, approver: FakeApprover | None = None) -> Collected:
    exporter, reader = InMemorySpanExporter(), _KeptReader()
    spans = SimpleSpanProcessor(exporter)
    telemetry = AppTelemetry(
        TelemetryOptions(traces=True), lambda _: SpanWriter(spans, reader, with_content=with_content)
    )
    rig = make_rig(*tools, approver=approver)
    rig.use(telemetry=telemetry)
    return Collected(rig, telemetry, exporter, reader)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def call(name: str, **given: object) -> Call:
    return Call(name=name, arguments=given, id=f"call-{name}")


async def test_a_turn_is_spans_that_lie_in_each_other_with_the_conventions_attributes() -> None:
    build = saying("build", "built", risk=ToolRisk.MEDIUM)
    all_ = collected(build, approver=FakeApprover("allow_once"))
    model = FakeModel([say("", call("build"), usage=PAID), say("Done.", usage=PAID)], name="openai/gpt")

    await run_turn(all_.rig, model)
    spans = await all_.spans()

    parents = {name: span.parent.span_id if span.parent else None for name, span in spans.items()}
    ids = {name: span.context.span_id for name, span in spans.items() if span.context}
    assert parents == {
        "invoke_agent default": None,
        "chat gpt": ids["invoke_agent default"],
        "execute_tool build": ids["invoke_agent default"],
        "wait_for_permission build": ids["execute_tool build"],
        "chat gpt'": ids["invoke_agent default"],
    }
    assert {span.status.status_code for span in spans.values()} == {StatusCode.UNSET}
    assert [spans[name].kind for name in ("invoke_agent default", "chat gpt", "execute_tool build")] == [
        SpanKind.INTERNAL,
        SpanKind.CLIENT,
        SpanKind.INTERNAL,
    ]
    turn, chat, tool, wait = (
        attributes(spans[name])
        for name in ("invoke_agent default", "chat gpt", "execute_tool build", "wait_for_permission build")
    )
    assert turn == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt",
        "gen_ai.agent.name": "default",
        "gen_ai.conversation.id": "session-1",
        "gen_ai.usage.input_tokens": 200,
        "gen_ai.usage.output_tokens": 40,
        "gen_ai.usage.cache_read.input_tokens": 120,
        "pygent.usage.cost_usd": 1.0,
        "pygent.turn.id": "turn-1",
        "pygent.turn.iterations": 2,
        "pygent.turn.stop_reason": "end_turn",
        "pygent.mode": "default",
        "pygent.subagent": False,
    }
    assert chat.pop("gen_ai.response.time_to_first_chunk") >= 0
    assert chat == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt",
        "gen_ai.request.max_tokens": 1_000,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.stream": True,
        "gen_ai.agent.name": "default",
        "gen_ai.conversation.id": "session-1",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.response.finish_reasons": ("tool_call",),
        "pygent.usage.cost_usd": 0.5,
    }
    assert tool == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "build",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-build",
        "gen_ai.agent.name": "default",
        "gen_ai.conversation.id": "session-1",
        "pygent.tool.cached": False,
    }
    assert (wait["pygent.permission.outcome"], wait["pygent.permission.by"]) == ("allow_once", "user")


async def test_what_fails_has_the_status_of_an_error_and_says_of_what_kind() -> None:
    build = saying("build", "built", risk=ToolRisk.MEDIUM)
    all_ = collected(build, approver=FakeApprover("reject_once"))
    model = FakeModel([say("", call("build"), call("nothing")), [ModelError("secret words", type="auth", status=401)]])

    await run_turn(all_.rig, model)
    spans = await all_.spans()

    failed = {
        name: attributes(span)["error.type"]
        for name, span in spans.items()
        if span.status.status_code is StatusCode.ERROR
    }
    assert failed == {
        "invoke_agent default": "auth",
        "execute_tool build": "permission_denied",
        "execute_tool nothing": "tool_error",
        "chat model'": "auth",
    }
    assert attributes(spans["chat model'"])["http.response.status_code"] == 401
    assert "secret" not in "".join(span.to_json() for span in spans.values())


async def test_nothing_that_was_said_is_exported_unless_it_is_asked_for() -> None:
    for with_content in (False, True):
        all_ = collected(saying("look", "a secret result"), with_content=with_content)
        model = FakeModel([say("a secret thought", call("look")), say("a secret answer")])
        await run_turn(all_.rig, model, prompt="a secret prompt", system="a secret rule")

        exported = "".join(span.to_json() for span in (await all_.spans()).values())
        for what in ("prompt", "result", "answer", "rule", "thought"):
            assert (f"secret {what}" in exported) == with_content


def test_messages_have_the_form_of_the_conventions() -> None:
    request = ModelRequest(
        system="Be brief.",
        messages=[
            Message(role="user", content=(TextBlock(text="Look."), ImageBlock(mime_type="image/png", data="AAAA"))),
            Message(
                role="assistant",
                content=(ThinkingBlock(thinking="Hm."), ToolUseBlock(id="1", name="look", input={"at": "a"})),
            ),
            Message(role="user", content=(ToolResultBlock(tool_use_id="1", content="seen"),)),
        ],
        tools=[ToolDefinition(name="look", description="Looks.", schema={"type": "object"})],
        max_output_tokens=1,
        temperature=0,
    )

    said = content_of(ModelCallSpan(session_id="s", agent="default", model="openai/gpt", request=request))

    assert said["gen_ai.system_instructions"] == [{"type": "text", "content": "Be brief."}]
    assert said["gen_ai.input.messages"] == [
        {"role": "user", "parts": [{"type": "text", "content": "Look."}, {"type": "text", "content": "[a picture]"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "Hm."},
                {"type": "tool_call", "id": "1", "name": "look", "arguments": {"at": "a"}},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "result": "seen"}]},
    ]
    assert said["gen_ai.tool.definitions"] == [
        {"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    ]


async def test_tokens_and_durations_are_measured() -> None:
    all_ = collected(saying("look", "seen"))
    model = FakeModel([say("", call("look"), usage=PAID), [ModelError("No.", type="auth")]], name="openai/gpt")

    await run_turn(all_.rig, model)
    await all_.spans()

    data = getattr(all_.reader, "last")  # noqa: B009 - of the reader above
    metrics = {each.name: each for scope in data.resource_metrics[0].scope_metrics for each in scope.metrics}
    counted = {
        (name, point.attributes.get("gen_ai.token.type"), point.attributes.get("error.type")): (point.count, point.sum)
        for name, metric in metrics.items()
        for point in metric.data.data_points
        if name in ("gen_ai.client.token.usage", "gen_ai.client.operation.duration")
    }
    assert counted["gen_ai.client.token.usage", "input", None] == (1, 100)
    assert counted["gen_ai.client.token.usage", "output", None] == (1, 20)
    assert counted["gen_ai.client.operation.duration", None, None][0] == 1
    assert counted["gen_ai.client.operation.duration", None, "auth"][0] == 1
    assert {name for name in metrics if name.startswith("gen_ai.")} == {
        "gen_ai.client.token.usage",
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.execute_tool.duration",
        "gen_ai.invoke_agent.duration",
    }
    assert metrics["gen_ai.client.token.usage"].data.data_points[0].explicit_bounds[:4] == (1, 4, 16, 64)
    assert data.resource_metrics[0].resource.attributes["service.name"] == "pygent-ls"


@pytest.mark.parametrize(
    ("name", "value"), [("OTEL_SERVICE_NAME", "mine"), ("OTEL_RESOURCE_ATTRIBUTES", "team=a,service.name=mine")]
)
async def test_the_environment_may_name_the_service(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    all_ = collected()

    tell_of_turn(all_.telemetry)

    (span,) = (await all_.spans()).values()
    assert span.resource.attributes["service.name"] == "mine"


# What it may cost


class Stuck:
    """An SDK whose import, or whose collector, does not come back until the test lets it."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.exporter = InMemorySpanExporter()

    def make(self, _: TelemetryOptions) -> SpanWriter:
        """Takes for ever."""
        assert self.let_go.wait(WAIT_S)
        return SpanWriter(SimpleSpanProcessor(self.exporter), None, with_content=False)


@pytest_asyncio.fixture
async def stuck() -> AsyncGenerator[Stuck]:
    made = Stuck()
    yield made
    made.let_go.set()


async def test_a_turn_and_the_end_wait_for_no_collector(stuck: Stuck) -> None:
    telemetry = AppTelemetry(TelemetryOptions(traces=True), stuck.make)
    rig = make_rig()
    rig.use(telemetry=telemetry)

    await run_turn(rig, FakeModel([say("Hello.")]))
    await bounded(telemetry.close(timeout_s=0.01))


async def test_what_nobody_takes_is_dropped_and_not_kept(stuck: Stuck) -> None:
    telemetry = AppTelemetry(TelemetryOptions(traces=True), stuck.make)

    for _ in range(MAX_WAITING + 5):
        tell_of_turn(telemetry)
    stuck.let_go.set()
    await bounded(telemetry.close(WAIT_S))

    assert len(stuck.exporter.get_finished_spans()) == MAX_WAITING


def test_fewer_spans_wait_that_hold_what_was_said_unless_the_environment_says_how_many() -> None:
    assert max_waiting({"OTEL_BSP_SCHEDULE_DELAY": "100"}) == MAX_WAITING_WITH_CONTENT
    assert max_waiting({"OTEL_BSP_MAX_QUEUE_SIZE": "2048"}) is None
    otlp_writer(traces=True, metrics=False, with_content=True).close()  # the SDK takes these limits


async def test_an_sdk_that_refuses_a_variable_breaks_no_turn_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    threads: list[threading.Thread] = []
    begun = threading.Event()

    def broken(_: TelemetryOptions) -> SpanWriter:
        threads.append(threading.current_thread())
        begun.set()
        raise ValueError("max_queue_size must be a positive integer.")

    telemetry = AppTelemetry(TelemetryOptions(traces=True), broken)
    rig = make_rig()
    rig.use(telemetry=telemetry)

    result = await run_turn(rig, FakeModel([say("Hello.")]))
    await asyncio.to_thread(begun.wait, WAIT_S)
    threads[0].join(WAIT_S)
    await bounded(telemetry.close(timeout_s=10 * WAIT_S))

    assert caplog.messages == ["telemetry is off, see the OTEL_… variables: max_queue_size must be a positive integer."]
    assert result.stop_reason == "end_turn"
    tell_of_turn(telemetry)  # the reader is gone
