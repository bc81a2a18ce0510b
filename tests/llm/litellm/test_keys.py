"""Keys of providers that are called through litellm, which would fall back to OpenAI's."""

from __future__ import annotations

import os

import pytest

from pygent_ls.errors import ModelError
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.endpoints import Endpoints, ProviderSettings
from pygent_ls.llm.providers.litellm_providers import NAMES, has_requirements, key_names
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_configured_model
from tests.llm.model_contract import chunks_of
from tests.llm.saved import SavedInMemory
from tests.model_server import ModelServer, Step

READ_LATE = {"cometapi"}
"""Compatible providers whose key litellm looks for only when it calls them."""


@pytest.fixture(autouse=True)
def only_openais_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_TOKEN", "_API_BASE", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai-0123456789")


async def test_the_names_of_providers_are_those_of_the_library(loader: LitellmLoader) -> None:
    await loader.wait()

    assert {getattr(each, "value", each) for each in loader.litellm.provider_list} == NAMES


async def test_the_variable_that_is_named_is_one_that_litellm_reads(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    await loader.wait()
    litellm = loader.litellm
    wrong: list[str] = []
    for provider in filter(has_requirements, sorted(NAMES)):
        variable = key_names(provider)[0]
        said = litellm.validate_environment(f"{provider}/x")["missing_keys"]
        with monkeypatch.context() as patch:
            patch.setenv(variable, "key-of-the-test")
            found = litellm.get_llm_provider(model=f"{provider}/x")[2]
        is_read_at_once = provider in litellm.openai_compatible_providers and provider not in READ_LATE
        if variable not in said and (said or is_read_at_once) and found != "key-of-the-test":
            wrong.append(f"{provider}: {variable}")

    assert wrong == []


async def test_a_provider_without_its_key_is_not_sent_openais(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer([Step(text="ok")]) as server:
        monkeypatch.setenv("PERPLEXITY_API_BASE", server.url)
        with pytest.raises(ModelError, match="Set the environment variable PERPLEXITYAI_API_KEY"):
            await chunks_of(LitellmModel("perplexity/sonar", Endpoint(), loader))

        assert server.requests == []


async def test_a_provider_of_which_nobody_knows_whether_it_wants_a_key_is_sent_none(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer([Step(text="ok")]) as server:
        monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
        endpoints = Endpoints(model="openai/x", providers={"xinference": ProviderSettings(api_base=server.url)})
        resources = ModelResources(loader=loader)
        await chunks_of(make_configured_model("xinference/mock", endpoints, resources))

        assert [each.headers["authorization"] for each in server.requests] == ["Bearer none"]


async def test_a_provider_of_litellm_is_sent_its_own_key_and_headers(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "key-of-perplexity")
    top_level = ProviderSettings(api_base="http://127.0.0.1:9/v1", extra_headers={"X-Top": "header-of-openai"})
    async with ModelServer([Step(text="ok")]) as server:
        own = ProviderSettings(api_base=server.url, api_key_env="MINE", extra_headers={"X-Own": "own"})
        endpoints = Endpoints(model="openai/x", top_level=top_level, providers={"perplexity": own})
        await chunks_of(make_configured_model("perplexity/sonar", endpoints, ModelResources(loader=loader)))

        (request,) = server.requests
        assert (request.headers["authorization"], request.headers["x-own"]) == ("Bearer key-of-perplexity", "own")
        assert not any("openai-0123" in value or "header-of" in value for value in request.headers.values())


async def test_a_saved_key_is_used_by_a_provider_of_litellm(loader: LitellmLoader) -> None:
    async with ModelServer([Step(text="ok")]) as server:
        endpoints = Endpoints(model="openai/x", providers={"perplexity": ProviderSettings(api_base=server.url)})
        resources = ModelResources(loader=loader, saved_keys=SavedInMemory({"perplexity": "saved-key"}))
        await chunks_of(make_configured_model("perplexity/sonar", endpoints, resources))

        assert [each.headers["authorization"] for each in server.requests] == ["Bearer saved-key"]


async def test_a_forced_litellm_model_of_a_server_of_ones_own_is_not_sent_openais_key(loader: LitellmLoader) -> None:
    async with ModelServer([Step(text="ok")]) as server:
        await chunks_of(LitellmModel("litellm/nobody-knows/it", Endpoint(api_base=server.url), loader))

        assert [each.headers["authorization"] for each in server.requests] == ["Bearer none"]
