"""Connections to providers: kept, closed, proxied, sent on, and what headers say."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from pygent_ls.errors import ModelError
from pygent_ls.llm.errors.answer_errors import request_id, retry_after_s
from pygent_ls.llm.http.environment import proxy_of, trusted_certificates
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.loopback import KEY
from tests.llm.model_contract import chunks_of, joined
from tests.model_server import ModelServer, Step


@asynccontextmanager
async def resources() -> AsyncGenerator[ModelResources, None]:
    made = ModelResources()
    yield made
    await made.close()


def endpoint(server: ModelServer) -> Endpoint:
    return Endpoint(api_base=server.url, api_key=KEY)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("name", ["openai/mock", "anthropic/claude-mock"])
async def test_the_next_request_finds_the_connection_warm(name: str) -> None:
    async with ModelServer([Step(text="hi")] * 3) as server, resources() as shared:
        for _ in range(2):  # of another session, which has a model of its own
            await chunks_of(make_model(name, endpoint(server), shared))
        await chunks_of(make_model(name, endpoint(server), shared))

    assert (len(server.requests), server.n_connections) == (3, 1)


async def test_after_an_answer_that_was_left_the_next_call_has_a_connection_of_its_own() -> None:
    async with ModelServer([Step(text="x" * 80, drop_after=3), Step(text="hi")]) as server, resources() as shared:
        model = make_model("openai/mock", endpoint(server), shared)
        with pytest.raises(ModelError):
            await chunks_of(model)
        assert joined(await chunks_of(model)).text == "hi"


async def test_a_redirect_within_the_host_is_followed_and_no_other() -> None:
    async with ModelServer([Step(text="elsewhere")]) as other:
        away = Step(status=308, headers={"location": other.url})
        steps = [Step(status=307, headers={"location": "/v1/moved"}), Step(text="hi"), away]
        async with ModelServer(steps) as server, resources() as shared:
            model = make_model("openai/mock", endpoint(server), shared)
            assert joined(await chunks_of(model)).text == "hi"
            with pytest.raises(ModelError, match="api_base") as caught:
                await chunks_of(model)

    assert [each.path for each in server.requests][1:] == ["/v1/moved", "/v1/chat/completions"]
    assert (caught.value.type, caught.value.status) == ("invalid_request", 308)
    assert f":{other.port}" in caught.value.message
    assert other.requests == [], "no key goes to another address"


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_would_drop_the_request_is_told(status: int) -> None:
    step = Step(status=status, headers={"location": "/login?token=hidden"})
    async with ModelServer([step]) as server, resources() as shared:
        with pytest.raises(ModelError, match="/login") as caught:
            await chunks_of(make_model("openai/mock", endpoint(server), shared))

    assert "hidden" not in caught.value.message


async def test_a_redirect_in_a_circle_ends() -> None:
    async with ModelServer([Step(status=307, headers={"location": "/v1/x"})] * 9) as server, resources() as shared:
        with pytest.raises(ModelError, match="api_base"):
            await chunks_of(make_model("openai/mock", endpoint(server), shared))
    assert len(server.requests) == 3


async def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer([Step(text="through the proxy")]) as proxy, resources() as shared:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        reached = Endpoint(api_base="http://models.invalid/v1", api_key=KEY)
        answer = joined(await chunks_of(make_model("openai/mock", reached, shared)))

    assert answer.text == "through the proxy"
    assert proxy.requests[0].path == "http://models.invalid/v1/chat/completions"


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({}, "https://a.b/v1", None),
        ({"https_proxy": "http://p:1"}, "https://a.b/v1", "http://p:1"),
        ({"https_proxy": "p:1"}, "https://a.b/v1", "http://p:1"),
        ({"http_proxy": "http://p:1"}, "https://a.b/v1", None),
        ({"all_proxy": "http://p:1"}, "https://a.b/v1", "http://p:1"),
        ({"all_proxy": "http://p:1", "no_proxy": "b,x"}, "https://a.b/v1", None),
        ({"http_proxy": "http://p:1", "no_proxy": "localhost,127.0.0.1"}, "http://localhost:11434/v1", None),
    ],
)
def test_which_proxy_counts(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert proxy_of(url) == proxy


def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://user:secret@p:1")

    with pytest.raises(ModelError, match="socks5") as caught:
        proxy_of("https://a.b/")
    assert "secret" not in caught.value.message


def test_there_are_certificates_to_trust() -> None:
    assert trusted_certificates().cert_store_stats()["x509_ca"] > 0


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:20 GMT"}, 20.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "30"}, 1.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Sun, 01 Mar 99999999999999999999 12:00:00 GMT"}, None),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:20 +9999999999"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_when_to_come_back_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "name"),
    [({"request-id": "req_1"}, "req_1"), ({"x-request-id": "a b"}, ""), ({"x-request-id": "x" * 200}, ""), ({}, "")],
)
def test_a_requests_name_is_one_word(headers: dict[str, str], name: str) -> None:
    assert request_id(headers) == name
