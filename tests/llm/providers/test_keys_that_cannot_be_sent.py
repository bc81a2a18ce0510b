"""Keys with characters that no header can hold."""

from __future__ import annotations

import pytest

from pygent_ls.errors import ModelError
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.model_list import listed_models
from pygent_ls.llm.providers.endpoints import Endpoints, ProviderSettings
from pygent_ls.llm.providers.known_providers import default_model
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_configured_model
from tests.llm.model_contract import chunks_of
from tests.llm.saved import SavedInMemory
from tests.model_server import ModelServer, Step

BROKEN = ["sk-first\nX-Evil: second", "sk-\x01hidden", "schlüssel-0123456", "привет-0123456"]


@pytest.mark.parametrize("key", BROKEN)
@pytest.mark.parametrize("name", ["openai/gpt-5.6", "anthropic/claude-x", "mistral/m", "perplexity/sonar", "gemini/m"])
async def test_a_key_that_cannot_be_sent_is_told_by_its_variable_and_never_shown(
    loader: LitellmLoader, monkeypatch: pytest.MonkeyPatch, name: str, key: str
) -> None:
    monkeypatch.setenv("MINE", key)
    async with ModelServer([Step(text="ok")]) as server:
        own = ProviderSettings(api_base=server.url, api_key_env="MINE")
        resources = ModelResources(loader=loader)
        with pytest.raises(ModelError) as caught:
            await chunks_of(make_configured_model(name, Endpoints(model=name, top_level=own), resources))
        await resources.close()

        assert server.requests == []
    assert (caught.value.type, caught.value.message.partition(" is not a valid key")[0]) == (
        "auth",
        "The value of MINE",
    )
    assert key not in caught.value.message


async def test_a_saved_key_that_cannot_be_sent_is_told_in_the_list_of_models() -> None:
    resources = ModelResources(saved_keys=SavedInMemory({"mistral": "first\nsecond"}))
    listed = await listed_models(["mistral/m"], lambda _: None, Endpoints(model="mistral/m"), resources, {})

    (found,) = [each for each in listed if each.name == "mistral/m"]
    assert (found.available, found.reason.partition(" is not a valid key")[0]) == (
        False,
        "The key saved by pygent-ls setup",
    )


def test_a_blank_variable_chooses_no_model() -> None:
    assert default_model({"OPENAI_API_KEY": " \n", "MISTRAL_API_KEY": "key"}).name == "mistral/mistral-medium-latest"
