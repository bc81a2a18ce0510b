"""What litellm would do on its own with keys: follow redirects, call a default proxy, fall back to OpenAI's key."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from urllib.parse import urlsplit

import pytest

from pygent_ls.errors import ModelError
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.providers.endpoints import Endpoints, ProviderSettings
from pygent_ls.llm.providers.known_providers import provider_named
from pygent_ls.llm.providers.litellm_providers import NAMES, has_requirements
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_configured_model
from tests.llm.model_contract import chunks_of
from tests.model_server import ModelServer, Step

KEY = "key-of-its-own-provider"
FOREIGN = "key-of-somebody-else-0123"


pytestmark = pytest.mark.filterwarnings(  # litellm leaves connections open; it keeps clients beyond an event loop
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_TOKEN", "_API_BASE", "_BASE_URL")):
            monkeypatch.delenv(name)
    yield
    gc.collect()  # what it left open is found while it is ignored


async def failure_at(name: str, own: ProviderSettings, loader: LitellmLoader) -> ModelError | None:
    provider = name.removeprefix("litellm/").partition("/")[0]
    endpoints = Endpoints(model="openai/x", providers={provider: own})
    try:
        await chunks_of(make_configured_model(name, endpoints, ModelResources(loader=loader)))
    except ModelError as error:
        return error
    finally:
        await loader.litellm.close_litellm_async_clients()  # they belong to the event loop of this test
        loader.litellm.in_memory_llm_clients_cache.flush_cache()
    return None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", ["gemini/m", "azure/m", "perplexity/m", "litellm/anthropic/m", "litellm/groq/m"])
async def test_a_redirect_to_another_server_is_not_followed_and_told(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch, name: str, status: int
) -> None:
    monkeypatch.setenv("MINE", KEY)
    async with ModelServer([Step(text="stolen")]) as other:
        away = Step(status=status, headers={"location": f"{other.url}/x?token=hidden"})
        async with ModelServer([away]) as server:
            own = ProviderSettings(api_base=server.url, api_key_env="MINE", extra_headers={"X-Own": "secret-header"})
            error = await failure_at(name, own, loader)

            assert len(server.requests) == 1
        assert other.requests == []
        assert error is not None
        assert f"redirects requests to http://{urlsplit(other.url).netloc}" in error.message
        assert (error.type, "hidden" in error.message) == ("invalid_request", False)


async def test_a_redirect_within_the_host_is_followed(loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", KEY)
    steps = [Step(status=307, headers={"location": "/v1/chat/completions"}), Step(text="ok")]
    async with ModelServer(steps) as server:
        error = await failure_at("perplexity/m", ProviderSettings(api_base=server.url, api_key_env="MINE"), loader)

        assert error is None
        assert [each.headers["authorization"] for each in server.requests] == [f"Bearer {KEY}"] * 2


async def test_a_default_proxy_of_litellm_takes_no_requests_and_its_key_goes_to_nobody_else(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", KEY)
    monkeypatch.setenv("USE_LITELLM_PROXY", "True")
    monkeypatch.setenv("LITELLM_PROXY_API_KEY", FOREIGN)
    async with ModelServer([Step(text="ok")]) as proxy, ModelServer([Step(text="ok")]) as server:
        monkeypatch.setenv("LITELLM_PROXY_API_BASE", proxy.url)
        await failure_at("perplexity/m", ProviderSettings(api_base=server.url, api_key_env="MINE"), loader)

        assert proxy.requests == []
        assert [each.headers["authorization"] for each in server.requests] == [f"Bearer {KEY}"]


async def test_no_provider_is_sent_the_key_of_another_where_it_has_none(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic", "GEMINI_API_KEY": "gemini"}
    sent: list[str] = []
    for name in sorted(each for each in NAMES if has_requirements(each) or provider_named(each)):
        with monkeypatch.context() as patch:
            for variable, owner in variables.items():
                if owner not in name and (owner, name) != ("anthropic", "anthropic_text"):
                    patch.setenv(variable, FOREIGN)
            async with ModelServer([Step(status=401)] * 3) as server:
                await failure_at(f"litellm/{name}/m", ProviderSettings(api_base=server.url), loader)
                sent += [name for each in server.requests if FOREIGN in str(each.headers)]

    assert sent == []


async def test_a_provider_that_litellm_would_send_openais_key_is_sent_its_own(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", FOREIGN)
    monkeypatch.setenv("INCEPTION_API_KEY", KEY)
    async with ModelServer([Step(status=401)]) as server:
        await failure_at("text-completion-inception/m", ProviderSettings(api_base=server.url), loader)

        assert [each.headers["authorization"] for each in server.requests] == [f"Bearer {KEY}"]


async def test_of_two_variables_of_gemini_the_one_that_doctor_names_is_used(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "key-for-other-services")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    async with ModelServer([Step(status=401)]) as server:
        error = await failure_at("gemini/m", ProviderSettings(api_base=server.url), loader)

        assert [each.headers["x-goog-api-key"] for each in server.requests] == [KEY]
        assert error is not None
        assert "Check GEMINI_API_KEY" in error.message


async def test_what_litellm_cannot_do_with_a_provider_is_an_error_of_the_model(loader: LitellmLoader) -> None:
    async with ModelServer([Step(text="ok")]) as server:
        error = await failure_at("text-completion-openai/m", ProviderSettings(api_base=server.url), loader)

    assert error is not None
    assert error.type == "invalid_request"
