"""The header `traceparent`: only for addresses of the user, and only while spans are exported."""

from __future__ import annotations

import pytest

from pygent_ls.agent.ports.model import ModelRequest
from pygent_ls.agent.telemetry import ModelCallSpan, no_telemetry, observed
from pygent_ls.llm.http.call import Native
from pygent_ls.llm.openai.chat_stream import is_last
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import provider_named
from pygent_ls.llm.resources import ModelResources

GATEWAY = {"OPENAI_BASE_URL": "https://llm-gateway.example.com/v1"}

REQUEST = ModelRequest(system="", messages=(), tools=(), max_output_tokens=1, temperature=0.0)


def header(environment: dict[str, str], *, sends: bool) -> str | None:
    """Return the header of a request to OpenAI's models."""
    provider = provider_named("openai")
    assert provider is not None
    resources = ModelResources(sends_trace_context=sends)
    native = Native(name="openai/m", provider=provider, model="m", endpoint=Endpoint(), resources=resources)
    target = native.target({"OPENAI_API_KEY": "sk-test", **environment})
    return native.call(target, target.base, {}, {}, is_last).headers.get("traceparent")


def span() -> ModelCallSpan:
    return ModelCallSpan(session_id="s", model="openai/m", request=REQUEST)


def test_a_request_to_the_users_gateway_names_its_span() -> None:
    with observed(no_telemetry, made := span()):
        assert header(GATEWAY, sends=True) == f"00-{made.trace_id:032x}-{made.span_id:016x}-01"


@pytest.mark.parametrize(("environment", "sends"), [({}, True), (GATEWAY, False)])
def test_no_other_request_does(environment: dict[str, str], *, sends: bool) -> None:
    with observed(no_telemetry, span()):
        assert header(environment, sends=sends) is None


def test_a_request_outside_every_span_names_none() -> None:
    assert header(GATEWAY, sends=True) is None
