"""An OpenTelemetry collector on the loopback, which decodes what arrives with the official types of its protocol."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """What came, by its path."""

    def __init__(self, url: str, holds: threading.Event | None) -> None:
        self.url = url
        self.holds = holds
        self.bodies: dict[str, list[bytes]] = {}
        self.keys: set[str | None] = set()

    def all_spans(self) -> Sequence[tuple[str, Span]]:
        """Every span, with the name of the service that sent it."""
        requests = map(ExportTraceServiceRequest.FromString, list(self.bodies.get("/v1/traces", ())))
        return [
            (name, span)
            for request in requests
            for resource in request.resource_spans
            for name in (each.value.string_value for each in resource.resource.attributes if each.key == "service.name")
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def spans(self) -> dict[str, bytes]:
        """The id of each span's parent, by its name."""
        return {span.name: span.parent_span_id for _, span in self.all_spans()}

    def metrics(self) -> set[str]:
        """Their names."""
        requests = map(ExportMetricsServiceRequest.FromString, self.bodies["/v1/metrics"])
        return {
            metric.name
            for request in requests
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@contextmanager
def collector(*, holds: threading.Event | None = None) -> Generator[Collector]:
    """A collector on the loopback; one that `holds` answers nothing until that is set."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if holds:
                holds.wait()
            made.bodies.setdefault(self.path, []).append(body)
            made.keys.add(self.headers.get("api-key"))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made = Collector(f"http://127.0.0.1:{server.server_port}", holds)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
