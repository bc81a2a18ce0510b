"""The telemetry port on OpenTelemetry: what a turn tells goes to a thread, which loads the SDK and makes spans of it.

A turn hands over values and a time, and waits for nothing: neither for the import of the SDK, nor for a collector that
is slow or gone. What there is no room for is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from pygent_ls.agent.telemetry import UNOBSERVED, Began, Ended, Observation

if TYPE_CHECKING:
    from pygent_ls.extensions.otel_sdk import Sdk, Span

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Beginnings and ends that wait for the thread; of what begins then nothing is told."""

FLUSH_S = 1.0
"""For the last export, at the end of a daemon that has to be gone within 3 s."""

EXTRA = "pip install 'pygent-ls[otel]'"

CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

Signal = Literal["traces", "metrics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the environment asks for."""

    traces: bool = False
    metrics: bool = False
    with_content: bool = False
    names_service: bool = False
    problem: str = ""
    """Why something that it asks for is not done; empty where all is."""

    @property
    def is_nothing(self) -> bool:
        """Nothing is to be exported."""
        return not (self.traces or self.metrics)


def wish_of(environment: Mapping[str, str], is_installed: Callable[[], bool] | None = None) -> Wish:
    """What the standard variables ask for: nothing, unless they name a collector or an exporter."""
    traces, no_traces = _wanted("traces", environment)
    metrics, no_metrics = _wanted("metrics", environment)
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Wish()
    problem = no_traces or no_metrics
    if (traces or metrics) and not (is_installed or otel_is_installed)():
        return Wish(problem=f"OTEL_… variables request telemetry, but OpenTelemetry is not installed: {EXTRA}")
    return Wish(
        traces=traces,
        metrics=metrics,
        with_content=environment.get(CONTENT_VARIABLE, "").strip().lower() == "true",
        names_service=bool(environment.get("OTEL_SERVICE_NAME"))
        or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", ""),
        problem=problem,
    )


def addresses_of(environment: Mapping[str, str]) -> Sequence[str]:
    """The collectors that the variables name, or the one that is asked where they name none."""
    names = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
    return [environment[name] for name in names if environment.get(name)] or ["http://localhost:4318"]


def otel_is_installed() -> bool:
    """Whether the extra is there; nothing of it is loaded."""
    try:
        return all(find_spec(f"opentelemetry.{each}") for each in ("sdk", "exporter.otlp.proto.http"))
    except ModuleNotFoundError:
        return False


def _wanted(signal: Signal, environment: Mapping[str, str]) -> tuple[bool, str]:
    """Whether it is to be exported, and why not, where the environment asks for what is not there."""
    upper = signal.upper()
    exporter = environment.get(f"OTEL_{upper}_EXPORTER", "").strip().lower()
    own, shared = (f"OTEL_EXPORTER_OTLP_{each}" for each in (f"{upper}_ENDPOINT", "ENDPOINT"))
    if exporter == "none" or not (exporter or environment.get(own) or environment.get(shared)):
        return False, ""
    if exporter not in ("", "otlp"):
        return False, f"OTEL_{upper}_EXPORTER={exporter} is not supported; supported are otlp and none"
    protocol = (
        environment.get(f"OTEL_EXPORTER_OTLP_{upper}_PROTOCOL") or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL") or ""
    ).strip()
    if protocol not in ("", "http/protobuf"):
        return False, f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol} is not supported; http/protobuf is"
    return True, ""


@dataclass(slots=True, eq=False)
class _Observed:
    """Something that has begun. Its owner ends it; all else belongs to the thread."""

    what: Began
    within: _Observed | None
    began_ns: int
    put: Callable[[_Observed], None]
    how: Ended | None = None
    ended_ns: int = 0
    span: Span | None = None

    def end(self, how: Ended) -> None:
        """See `Observation`."""
        self.how, self.ended_ns = how, time.time_ns()
        self.put(self)


class OtelTelemetry:
    """See `Telemetry`. The thread begins with the first turn."""

    def __init__(self, wish: Wish, make_sdk: Callable[[Wish], Sdk] | None = None) -> None:
        self._wish = wish
        self._make_sdk = make_sdk or _sdk_for
        self._queue: queue.SimpleQueue[_Observed | Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def begin(self, what: Began, within: Observation | None) -> Observation:
        """See `Telemetry`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="otel", daemon=True)
            self._thread.start()
        if self._queue.qsize() >= MAX_WAITING or not self._thread.is_alive():
            return UNOBSERVED
        parent = within if isinstance(within, _Observed) else None
        observed = _Observed(what, parent, time.time_ns(), self._queue.put)
        self._queue.put(observed)
        return observed

    async def close(self, timeout_s: float = FLUSH_S) -> None:
        """Export what is there, for at most that long; afterwards nothing is told any more."""
        if self._thread is None or not self._thread.is_alive():
            return
        loop, flushed = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(flushed.set)

        self._queue.put(tell)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await flushed.wait()

    def _work(self) -> None:
        from pygent_ls.extensions.otel_attributes import end_of, measured, start_of

        try:
            sdk = self._make_sdk(self._wish)
        except (ValueError, ImportError) as error:  # of a variable, or of half an extra
            log.warning("telemetry is off, see the OTEL_… variables: %s", error)
            return
        while isinstance(each := self._queue.get(), _Observed):
            if each.span is None:  # it comes once when it begins, and once when it ends
                start = start_of(each.what, with_content=self._wish.with_content)
                each.span = sdk.begin(start, each.within.span if each.within else None, each.began_ns)
            elif each.how is not None:
                end = end_of(each.how, with_content=self._wish.with_content)
                seconds = (each.ended_ns - each.began_ns) / 1e9
                sdk.end(each.span, end, measured(each.what, each.how, seconds), each.ended_ns)
        sdk.flush()
        each()


def _sdk_for(wish: Wish) -> Sdk:
    from pygent_ls.extensions.otel_sdk import Sdk, otlp_outlets

    outlets = otlp_outlets(
        traces=wish.traces, metrics=wish.metrics, with_content=wish.with_content, environment=os.environ
    )
    return Sdk(outlets, names_service=wish.names_service)
